"""``why`` and ``diff``: questions about saved results, and their exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from commanalyzer import analyze, causes_of, differences, load, save
from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.result.comparison.difference import Change
from tests.samples import sample_decomposition, sample_result
from tests.simgrid.tools import needs_simgrid

ROOT = Path(__file__).resolve().parents[2]
HEAT = ROOT / "workloads" / "heat2d" / "heat2d.c"
RULES = {grid: f"b={grid}, a={grid}" for grid in ("block2d", "block1d")}
N, STEPS, WORD = 32, 4, 8

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of heat2d with arrays in squares, and in rows."""
    folder, found = tmp_path_factory.mktemp("heat"), {}
    for grid in RULES:
        result = analyze([HEAT], args=(str(N), str(STEPS)), nodes=(16,), decompose=(f"b={grid}", f"a={grid}"))
        found[grid] = folder / f"{grid}.cmz"
        save(result, found[grid])
    return found


def test_pairs_add_up_to_the_matrix(heat: dict[str, Path]) -> None:
    result = load(heat["block2d"])
    method = RULES["block2d"]
    whole = causes_of(result, 16, method=method)
    item = whole.decomposition
    assert whole.comm_bytes == item.comm_bytes == sum(v.comm_bytes for v in whole.variables)
    assert sum(t.needed_bytes for t in whole.lines) == pytest.approx(item.comm_bytes)
    matrix = item.communication.comm_bytes
    for pair in ((0, 1), (5, 6), (5, 9), (0, 15)):
        found = causes_of(result, 16, pair, method=method)
        assert found.comm_bytes == matrix[pair]
        assert sum(t.needed_bytes for t in found.lines) == pytest.approx(matrix[pair])


def test_a_side_of_a_block_is_what_a_neighbour_needs(heat: dict[str, Path]) -> None:
    """Between inner nodes: one side of a block, once per step; the values are those of the side."""
    found = causes_of(load(heat["block2d"]), 16, (5, 9), method=RULES["block2d"])
    side = N // 4
    (variable,) = [v for v in found.variables if v.variable.name == "b"]
    assert variable.values in (side, side + 1)  # the array has a boundary: 34 rows on 4 nodes
    assert variable.last - variable.first == variable.values - 1  # a row is contiguous


def test_why_on_the_command_line(heat: dict[str, Path], capsys: Capture) -> None:
    assert main(["why", str(heat["block2d"]), "5", "9", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["sender"], document["receiver"]) == ("commanalyzer.causes/1", 5, 9)
    assert main(["why", str(heat["block2d"])]) == 0
    text = capsys.readouterr().out
    assert "heat2d.c" in text and "b in main" in text
    assert main(["why", str(heat["block2d"]), "5"]) == 2
    assert main(["why", str(heat["block2d"]), "5", "5"]) == 1
    assert "two different nodes of 0 to 15" in capsys.readouterr().err


def test_slabs_instead_of_squares_fail_a_check(heat: dict[str, Path], capsys: Capture) -> None:
    """15 cuts of n rows against 3 + 3 cuts: 15 / 6 = 2.5 times the bytes, less what the edges change."""
    squares, slabs = str(heat["block2d"]), str(heat["block1d"])
    words = ["diff", squares, slabs, "--method", RULES["block2d"], RULES["block1d"]]
    assert main([*words, "--fail-above", "5%"]) == 5
    out, err = capsys.readouterr()
    assert "worse than allowed" in err and "on 16 nodes" in err
    assert "b in main" in out
    assert main([*words[:1], slabs, squares, "--method", words[5], words[4], "--fail-above", "5%"]) == 0
    (found,) = differences(load(squares), load(slabs), methods=(RULES["block2d"], RULES["block1d"]))
    assert found.comm_bytes.ratio == pytest.approx(2.5, rel=0.15)
    moved = sum(v.comm_bytes.after - v.comm_bytes.before for v in found.variables)
    assert moved == found.comm_bytes.after - found.comm_bytes.before


def test_the_same_result_does_not_differ(heat: dict[str, Path], capsys: Capture) -> None:
    assert (
        main(["diff", str(heat["block2d"]), str(heat["block2d"]), "--fail-above", "0%", "--json", "-"]) == 0
    )
    (item,) = json.loads(capsys.readouterr().out)["differences"]
    assert item["variables"] == [] and item["comm_bytes"][0] == item["comm_bytes"][1]


def test_node_counts_of_a_question(heat: dict[str, Path], capsys: Capture) -> None:
    saved = str(heat["block2d"])
    for words in (["diff", saved, saved], ["show", saved]):
        assert main([*words, "--nodes", "16"]) == 0
        assert main([*words, "--nodes", "8"]) == 1
        assert "expected 16 nodes" in capsys.readouterr().err
    result = load(saved)
    assert repr(result.why(16, (5, 9))).startswith("Causes(p=16, blocks 4x4, 5 to 9, 256 B: b 192 B, ")
    with pytest.raises(ConfigError, match="expected a counted MPI run"):
        result.compare(result)


def test_lines_as_a_table_and_as_a_tree_add_up(heat: dict[str, Path], tmp_path: Path) -> None:
    result = load(heat["block2d"])
    sent = result.decomposition(16).comm_bytes
    pandas = pytest.importorskip("pandas")
    result.why(16).frame().to_csv(tmp_path / "lines.csv")
    table = pandas.read_csv(tmp_path / "lines.csv")
    assert table["needed_bytes"].sum() == pytest.approx(sent)
    table = table.dropna(subset=["file"])  # inputs have no line
    assert (table["path"] == table["function"] + "->" + table["file"] + ":" + table["line"].astype(str)).all()
    for form in ("dot", "hatchet"):
        words = ["export", heat["block2d"], "--format", form, "--nodes", 16, "-o", tmp_path / form]
        assert main([str(word) for word in words]) == 0
    (root,) = json.loads((tmp_path / "hatchet").read_text())
    assert root["metrics"]["needed_bytes (inc)"] == pytest.approx(sent)
    assert sum(line["metrics"]["needed_bytes"] for f in root["children"] for line in f["children"]) == (
        pytest.approx(sent)
    )
    edges = re.findall(r'^  \d+ -> \d+ \[label="[^"]+", bytes=(\d+),', (tmp_path / "dot").read_text(), re.M)
    assert sum(map(int, edges)) == sent


def test_differences_name_what_they_leave_out() -> None:
    blocks = sample_decomposition(4, method="blocks", best=False)
    result = sample_result(sample_decomposition(2), sample_decomposition(4), blocks)
    (item,) = result.diff(result, method="blocks")
    assert item.left_out == "not compared on 2 nodes, which have no blocks"
    assert repr(item).endswith(f", {item.left_out})")


@needs_simgrid
def test_a_result_is_simulated(heat: dict[str, Path]) -> None:
    machine = {"bandwidth": "1GB/s", "latency": "2us", "throughput": "1GFlop/s"}
    result = load(heat["block2d"])
    (run,) = result.simulate(nodes=16, platform="torus", **machine).runs
    assert run.decomposition is result.decomposition(16)
    assert run.serial_s == pytest.approx(result.work.flops / 1e9)
    assert 0.0 < run.efficiency <= 1.02 * run.bound.efficiency


def test_ratios_of_nothing() -> None:
    assert Change(0, 0).ratio == 1.0
    assert np.isinf(Change(0, 8).ratio)


def test_results_without_a_common_node_count(heat: dict[str, Path]) -> None:
    other = analyze([HEAT], args=("16", "1"), nodes=(2,))
    with pytest.raises(ConfigError, match="in common, found 16 and 2"):
        differences(load(heat["block2d"]), other)


@pytest.mark.parametrize("command", ["tasks", "patterns", "features", "profile"])
def test_a_result_stands_for_its_program(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same as of its source and arguments; refused once the source has changed."""
    monkeypatch.chdir(tmp_path)
    Path("scale.c").write_text(
        "#include <stdlib.h>\ndouble a[64], b[64];\nint main(int c, char **v) {\n"
        "  int n = atoi(v[1]);\n  for (int i = 0; i < n; i++) a[i] = i;\n"
        "  for (int i = 0; i < n; i++) b[i] = 2 * a[i] + 1;\n  return b[3] != 7;\n}\n"
    )
    save(analyze("scale.c", args=("32",), nodes=(2,)), "scale.cmz")
    capfd.readouterr()
    assert main([command, "scale.cmz", "--json", "-"]) == 0
    of_result = json.loads(capfd.readouterr().out)
    assert main([command, "scale.c", "--json", "-", "--", "32"]) == 0
    assert json.loads(capfd.readouterr().out) == of_result
    with Path("scale.c").open("a") as stream:
        stream.write("// changed\n")
    assert main([command, "scale.cmz"]) == 1
    assert "expected the file as it was analysed, found another" in capfd.readouterr().err
