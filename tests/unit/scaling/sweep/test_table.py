import math
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, ConfigError
from commanalyzer.scaling.sweep.table import NAMES, PER_POINT, Cell, SweepTable, load_table, table_from_lines
from tests.unit.scaling.sweep import records


def line(n: int, nodes: int, **changes: Cell) -> dict[str, Cell]:
    return records.line(n, nodes, kind="banded", **changes)


def two_lines() -> SweepTable:
    lines = [line(64, 4, work_flops=2**53 + 1, efficiency_bound=math.nan), line(128, 16, intensity=math.inf)]
    return table_from_lines(("n", "kind"), lines)


def test_columns_have_their_types_and_exact_values(tmp_path: Path) -> None:
    two_lines().save(tmp_path / "table.csv")
    for place in (tmp_path, tmp_path / "table.csv", tmp_path / "sweep.json"):
        table = load_table(place)
        assert repr(table) == "SweepTable(2 rows, parameters n, kind)"
        assert table.column("n").dtype == np.float64 and table.column("n").tolist() == [64.0, 128.0]
        assert table.column("kind").tolist() == ["banded", "banded"]
        assert table.column("nodes").dtype == np.int64 and table.column("nodes").tolist() == [4, 16]
        assert table.column("work_flops").tolist() == [2**53 + 1, 7]
        assert table.column("intensity").tolist() == [0.5, math.inf]
        assert np.isnan(table.numbers("efficiency_bound")).tolist() == [True, False]


def test_csv_is_plain_and_short() -> None:
    head, first, *_ = two_lines().to_csv().splitlines()
    assert head.split(",") == ["n", "kind", *NAMES]
    assert first.startswith("64,banded,4,volume,x,7,7,0.5,9007199254740993,")
    cells = dict(zip(head.split(","), first.split(","), strict=True))
    assert cells["efficiency_bound"] == ""


def test_lines_are_selected() -> None:
    table = table_from_lines(("n", "kind"), [line(1, 4), line(1, 4, model="hpdc18"), line(2, 8)])
    assert table.models == ("volume", "hpdc18")
    assert table.of_model("volume").column("nodes").tolist() == [4, 8]
    assert table.where(table.numbers("n") > 1).column("n").tolist() == [2.0]


def test_an_empty_table_stays_a_table(tmp_path: Path) -> None:
    table_from_lines(("n",), []).save(tmp_path / "t.csv")
    loaded = load_table(tmp_path / "t.csv")
    assert len(loaded) == 0 and loaded.parameters == ("n",)


@pytest.mark.parametrize(
    ("text", "found"),
    [("a,b\n1,2\n", "another file"), ("", "another file"), ("n,nodes\n1\n", "another file")],
)
def test_another_file_is_refused(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ArtifactError, match=found):
        load_table(tmp_path / "t.csv")


def test_what_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="No such file"):
        load_table(tmp_path)
    with pytest.raises(ConfigError, match="'n0des'"):
        table_from_lines(("n", "kind"), [line(1, 4, n0des=1)])
    with pytest.raises(ConfigError, match="names of their own"):
        table_from_lines(("p",), [])
    with pytest.raises(ConfigError, match="expected numbers"):
        table_from_lines(("n", "kind"), [line(1, 4, messages="many")])
    with pytest.raises(ConfigError, match="text column 'method'"):
        two_lines().numbers("method")
    with pytest.raises(ConfigError, match="'bytes'"):
        two_lines().column("bytes")


def test_every_cost_of_a_recording_is_a_column() -> None:
    assert set(NAMES) > PER_POINT
