"""``why`` and ``diff``: questions about saved results, and their exit codes."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer import analyze, causes_of, differences, load, save
from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import NO_LOOP
from commanalyzer.report.result.exports import export_result
from commanalyzer.result.comparison.difference import Change
from commanalyzer.result.results import AnalysisResult
from tests.e2e.command import HEAT
from tests.native import ROOT
from tests.samples import sample_decomposition, sample_result
from tests.simgrid.platforms import needs_simgrid

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


SUMMED = """
double größe[64];
int main(void) {
  double sum = 0;
  for (int i = 0; i < 64; i++) größe[i] = i * 0.5 + größe[63 - i];
  for (int i = 0; i < 64; i++) sum += größe[i] * größe[i] * größe[i];
  return sum < 0;
}
"""


def test_exported_work_is_that_of_the_imbalance_and_names_are_of_any_alphabet(tmp_path: Path) -> None:
    """Every node adds its share of the sum: no single one does all of it."""
    (tmp_path / "a.c").write_text(SUMMED, encoding="utf-8")
    result = analyze([tmp_path / "a.c"], nodes=(4,))
    export_result(result, "dot", tmp_path / "a.dot", nodes=4)
    work = [float(w) for w in re.findall(r"work_flops=([0-9.e+]+)", (tmp_path / "a.dot").read_text())]
    item = result.decomposition(4)
    assert len(work) == 4 and max(work) / np.mean(work) == pytest.approx(item.imbalance, rel=1e-6)
    assert item.imbalance < 1.1 and sum(work) == pytest.approx(result.work.flops)
    assert "größe" in {home.name for home in result.graph.objects}


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


def test_slabs_instead_of_squares(heat: dict[str, Path]) -> None:
    """15 cuts of n rows against 3 + 3 cuts: 15 / 6 = 2.5 times the bytes, less what the edges change."""
    squares, slabs = (load(heat[grid]) for grid in RULES)
    (found,) = differences(squares, slabs, methods=(RULES["block2d"], RULES["block1d"]))
    assert found.comm_bytes.ratio == pytest.approx(2.5, rel=0.15)
    moved = sum(v.comm_bytes.after - v.comm_bytes.before for v in found.variables)
    assert moved == found.comm_bytes.after - found.comm_bytes.before


def test_loops_say_what_helps(heat: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    """The update in squares needs 2/5 of what it needs in rows (6 cuts of 15); the sum is made by all."""
    result = load(heat["block2d"])
    found = result.why(16)
    assert sum(t.needed_bytes for t in found.loops) == pytest.approx(found.comm_bytes)
    (step, total, begin, *_), text = found.loops, HEAT.read_text().splitlines()
    assert [(t.functions, text[t.line - 1].split()[:3]) for t in (step, total, begin)] == [
        (("heat_step",), ["for", "(int", "j"]),
        (("main",), ["for", "(int", "i"]),
        (("initialise",), ["for", "(int", "j"]),
    ]
    assert step.advice[0] == "reads neighbours of a, b: halo"
    share = re.search(r"blocks 4x4 instead of slabs 16 move ([\d.]+) % of it", "; ".join(step.advice))
    assert share and float(share[1]) == pytest.approx(40, abs=3)
    assert total.advice[0] == "sum over all nodes (sum): combine on each node, then once per sum"
    assert begin.advice[0] == "all nodes read n: one broadcast each time it changes"
    assert main(["why", str(heat["block2d"]), "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["loops"]
    assert [(row["function"], row["line"], tuple(row["advice"])) for row in rows[:2]] == [
        (t.functions[0], t.line, t.advice) for t in (step, total)
    ]
    assert found.frame(loops=True)["needed_bytes"].sum() == pytest.approx(found.comm_bytes)
    sites = tuple(replace(site, loop=NO_LOOP) for site in result.store.sites)  # as files of before
    old = replace(result, store=replace(result.store, sites=sites))
    assert old.why(16).loops == () and old.why(16).lines == found.lines
    save(old, tmp_path / "old.cmz")
    assert main(["why", str(tmp_path / "old.cmz")]) == 0
    assert "Which loop" not in capsys.readouterr().out


def test_lines_beside_each_other(heat: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    """A line that moved is the same line, one that only one program has is named; also in the report."""
    source = tmp_path / "heat2d.c"
    source.write_text("\n\n" + HEAT.read_text().replace("sum += u", "sum += 2.0 * u"))
    save(analyze([source], args=(str(N), str(STEPS)), nodes=(16,)), tmp_path / "b.cmz")
    words = [str(heat["block1d"]), str(tmp_path / "b.cmz")]
    assert main(["diff", *words, "--method", "slabs 16", "blocks 4x4", "--json", "-"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["differences"]
    moved = {(line["before"][-4:], line["after"][-4:]): line["comm_bytes"] for line in item["lines"]}
    before, after = moved["c:29", "c:31"]
    assert next(iter(moved)) == ("c:29", "c:31") and after / before == pytest.approx(0.4, abs=0.03)
    assert moved[":109", ""][1] == moved["", ":111"][0] == 0
    changed = sum(b - a for a, b in moved.values())
    assert changed == pytest.approx(item["comm_bytes"][1] - item["comm_bytes"][0], abs=8)
    assert main(["report", *words, "-o", str(tmp_path / "page.html")]) == 0
    page = re.sub(r"<script.*?</script>", "", (tmp_path / "page.html").read_text(), flags=re.S)
    section = page[page.index('id="comparison-changes"') :]
    section = html.unescape(re.sub(r"\s*<[^>]+>\s*", "|", section[: section.index("</section>")]))
    for cell in ("What changed from block1d to b", "Bytes by node count", "heat2d.c:111 only after"):
        assert cell in section
    assert "Which loop to change" in page and "reads neighbours of a, b: halo" in page
    capsys.readouterr()


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


def test_different_programs_are_named_before_numbers(tmp_path: Path, capsys: Capture) -> None:
    saved, result = [str(tmp_path / "a.cmz"), str(tmp_path / "b.cmz")], sample_result()
    save(result, saved[0])
    said = "These are different programs: 'größe.c' 12 'a b', region sweep before, 'größe.c' 12"
    for name, regions, is_other in (
        *(("größe.c", ("sweep",), False), ("größe", ("sweep",), False)),  # an executable of the same source
        *(("spmv.c", ("sweep",), True), ("größe.c", (), True)),
    ):
        save(replace(result, program=name, regions=regions), saved[1], force=True)
        assert main(["diff", *saved, "-q"]) == 0
        shown = " ".join(capsys.readouterr().out.partition("bytes before")[0].split())
        assert main(["diff", *saved, "--json", "-"]) == 0
        (item,) = json.loads(capsys.readouterr().out)["differences"]
        assert main(["report", *saved, "-o", str(tmp_path / "page.html"), "--force"]) == 0
        page = html.unescape((tmp_path / "page.html").read_text())
        assert [said in text for text in (shown, item["other_program"], page)] == [is_other] * 3
        assert "What a programmer would write, per node count" in page  # not the least that was found
        capsys.readouterr()


def test_files_of_one_name_may_be_different_programs() -> None:
    def made(path: str, digest: str) -> AnalysisResult:
        result = sample_result()
        return replace(result, provenance=replace(result.provenance, input_hashes=((path, digest),)))

    first = made("a/main.c", "1")
    for other, is_told in (
        *((made("b/main.c", "2"), True), (made("b/main.c", "1"), False)),  # another file, a copy
        *((made("a/main.c", "2"), False), (made("a/other.c", "2"), False)),  # changed, renamed
    ):
        (item,) = first.diff(other)
        said = "These may be different programs: a/main.c before, b/main.c after;"
        assert item.other_program.startswith(said) if is_told else not item.other_program


def test_differences_name_what_they_leave_out() -> None:
    blocks = sample_decomposition(4, method="blocks", best=False)
    result = sample_result(sample_decomposition(2), sample_decomposition(4), blocks)
    (item,) = result.diff(result, method="blocks")
    assert item.left_out == "not compared on 2 nodes, which have no blocks"
    assert repr(item).endswith(f", {item.left_out})")
    with pytest.raises(ConfigError, match="in common, found 2, 4 and 8"):
        differences(result, sample_result(sample_decomposition(8)))
    assert (Change(0, 0).ratio, Change(0, 8).ratio) == (1.0, np.inf)


@needs_simgrid
def test_a_result_is_simulated(heat: dict[str, Path]) -> None:
    machine = {"bandwidth": "1GB/s", "latency": "2us", "throughput": "1GFlop/s"}
    result = load(heat["block2d"])
    (run,) = result.simulate(nodes=16, platform="torus", **machine).runs
    assert run.decomposition is result.decomposition(16)
    assert run.serial_s == pytest.approx(result.work.flops / 1e9)
    assert 0.0 < run.efficiency <= 1.02 * run.bound.efficiency


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


def test_why_adds_up_to_what_was_counted_event_by_event(tmp_path: Path) -> None:
    """All-pairs paths in 2 x 2 blocks: rows and columns cross once each, and three partial sums."""
    source = ROOT / "bench" / "foreign" / "floyd.c"
    save(analyze(source, [str(N)], nodes=[4], program_output="discard"), tmp_path / "paths.cmz")
    found = load(tmp_path / "paths.cmz").why(4, method="blocks 2x2")
    moved, sums = WORD * N * N, WORD * 3
    assert found.decomposition.is_replayed
    assert found.comm_bytes == found.decomposition.comm_bytes == moved + sums
    text = source.read_text().splitlines()
    needed = {text[t.line - 1].split()[0]: t.needed_bytes for t in found.lines}
    assert list(needed.items()) == [("if", moved), ("sum", sums)]
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    result, matrix = load(tmp_path / "paths.cmz"), found.decomposition.communication.comm_bytes
    assert [causes_of(result, 4, pair).comm_bytes for pair in pairs] == [matrix[pair] for pair in pairs]
