import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, ConfigError, FitError
from commanalyzer.report.scaling.laws_text import law_fields
from commanalyzer.scaling.laws.data import of_table, read_observations
from commanalyzer.scaling.laws.fit import fit_law, fit_observations
from commanalyzer.scaling.laws.formula import doubt_text, law_text
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import most_cubic_grid
from commanalyzer.scaling.sweep.table import SweepTable, table_from_lines
from tests.unit.scaling.sweep.records import line


def _table() -> SweepTable:
    lines = [
        line(str(n), p, comm_bytes=10 * n * p, work_flops=7 * n, native_s="" if n == 8 else 0.25)
        for n, p in product((8, 16), (2, 4))
    ]
    return table_from_lines(["n"], [*lines, line("8", 2, model="hpdc18", comm_bytes=1)])


def test_a_sweep_table_gives_points_and_metrics() -> None:
    seen = of_table(_table())
    x, names, y = seen.of("comm_bytes")
    assert names == ("n", "p")
    assert x.tolist() == [[8, 2], [8, 4], [16, 2], [16, 4]]
    assert y.tolist() == [160, 320, 320, 640]


def test_metrics_of_a_recording_do_not_depend_on_the_node_count() -> None:
    x, names, y = of_table(_table()).of("work")
    assert (names, x.tolist(), y.tolist()) == (("n",), [[8], [8], [16], [16]], [56, 56, 112, 112])


def test_unknown_values_are_left_out() -> None:
    x, _, y = of_table(_table()).of("native_s")
    assert (x.ravel().tolist(), y.tolist()) == ([16, 16], [0.25, 0.25])


def test_models_and_metrics_that_are_not_there() -> None:
    assert of_table(_table(), "hpdc18").metrics["comm_bytes"].tolist() == [1.0]
    with pytest.raises(ConfigError, match="model of volume, hpdc18"):
        of_table(_table(), "other")
    with pytest.raises(FitError, match="found 'speed'"):
        of_table(_table()).of("speed")


def test_text_parameters() -> None:
    same = table_from_lines(["n", "kind"], [line("8", 2, kind="copy"), line("16", 2, kind="copy")])
    assert of_table(same).parameters == ("n", "p")
    mixed = table_from_lines(["n", "kind"], [line("8", 2, kind="copy"), line("16", 2, kind="swap")])
    with pytest.raises(ConfigError, match="texts such as 'copy'"):
        of_table(mixed)
    assert of_table(mixed, parameters=["n"]).parameters == ("n", "p")


def test_a_sweep_is_read_from_its_directory(tmp_path: Path) -> None:
    _table().save(tmp_path / "table.csv")
    (tmp_path / "sweep.json").write_text("{}")
    for path in (tmp_path, tmp_path / "sweep.json", tmp_path / "table.csv"):
        assert read_observations([path]).points.shape == (4, 2)


def test_any_csv_table_with_named_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("ranks,edge,halo,comment\n4,10,40,a\n9,10,80,b\n16,10,,c\n")
    seen = read_observations([path], parameters=["ranks", "edge"])
    x, names, y = seen.of("halo")
    assert (names, x.tolist(), y.tolist()) == (("ranks", "edge"), [[4, 10], [9, 10]], [40, 80])
    with pytest.raises(ConfigError, match="ranks, edge, halo, comment"):
        read_observations([path])
    with pytest.raises(ConfigError, match="named nodes"):
        read_observations([path], parameters=["nodes"])


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("p,y\n4,1\n8\n")
    with pytest.raises(ArtifactError, match="one length"):
        read_observations([ragged])
    (tmp_path / "empty.csv").touch()
    with pytest.raises(ArtifactError, match="found an empty file"):
        read_observations([tmp_path / "empty.csv"], parameters=["n"])
    with pytest.raises(ArtifactError, match="No such file"):
        read_observations([tmp_path / "none.csv"])
    with pytest.raises(ConfigError, match="several of them"):
        read_observations([ragged, tmp_path])


def _law_of_blocks(cost: int, shapes: Mapping[tuple[int, int], tuple[int, ...]]) -> Law:
    """Law of ``cost`` n bytes per cut, of blocks in so many rows and columns by (n, p)."""
    lines = [
        line(str(n), p, regular_method=f"blocks {r}x{c} of {n}x{n}", regular_bytes=cost * n * (r + c - 2))
        for (n, p), (r, c) in shapes.items()
    ]
    return fit_observations(of_table(table_from_lines(("n",), lines)), metrics=("regular_bytes",)).laws[0]


def test_plain_blocks_on_another_grid_are_named_and_in_no_law() -> None:
    shapes = {(n, p): most_cubic_grid(p, 2) for n, p in product((32, 64, 128), (4, 8, 16, 36))}
    law = _law_of_blocks(320, shapes | {(32, 36): (4, 9)})
    assert law_text(law) == "320 n (q1 + q2 - 2)"
    assert law.notes[-1] == "n = 32, p = 36 is left out: plain blocks on another grid, blocks 4x9 of 32x32"


def test_divisions_that_are_named_grids_have_the_law_of_their_extents() -> None:
    """On 2, 4 and 8 nodes q1 + q2 - 2 is p / 2: bytes cannot tell, the names of the blocks can."""
    grids = {2: (1, 2), 4: (2, 2), 8: (2, 4)}
    law = _law_of_blocks(64, {(n, p): grids[p] for n, p in product((16, 24, 32, 48), grids)})
    assert law_text(law) == "64 n (q1 + q2 - 2)"
    at = {"n": 48.0, "p": 64.0}  # 8 x 8 blocks are cut 14 times
    assert law.predict(at)[0] == pytest.approx(64 * 48 * 14)
    assert re.search(r"cannot tell 64 n \(q1 .* 43,008 to .* at n = 48, p = 64", doubt_text(law, at))
    assert doubt_text(law, {"n": 1e6, "p": 8.0}) == ""
    cells = {field.name: field.cell(law) for field in law_fields(at)}
    assert cells["prediction error"] == "undecided"


def test_a_point_that_a_form_as_good_goes_through_is_not_left_out() -> None:
    """Two independent colours: nothing on 2 nodes, 64 n bytes on 4, what a partitioner found on 8."""
    x = np.array(list(product((16.0, 24.0, 32.0, 48.0), (2.0, 4.0, 8.0))))
    found = [0, 1024, 1888, 0, 1536, 2864, 0, 2048, 3696, 0, 3072, 5504]
    law = fit_law(x, ("n", "p"), np.array(found, np.float64))
    assert not any("left out" in note for note in law.notes)
    assert {f.exponent for term in law.formula.terms for f in term if f.parameter == 0} == {1}  # linear in n
