import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError, ConfigError
from commanalyzer.kernels.composition.answer import answer, best_counts, gain_of_faster_block, load_design
from commanalyzer.kernels.composition.systems import parse_system
from commanalyzer.scaling.laws.formula_reader import read_formula

BLOCKS = """
[blocks.sort]
formula = "0.03899 * n * log2(n)"
unit = "us"
[blocks.inc]
formula = "0.02599 * n"
unit = "us"
"""
DESIGN = 'system = "pipe(tpool(T, sort), inc)"\nat = { n = 262144 }\ncores = 12\nelements = 1000\n' + BLOCKS


def written(folder: Path, text: str) -> Path:
    path = folder / "design.toml"
    path.write_text(text)
    return path


def test_answer(tmp_path: Path) -> None:
    found = answer(load_design(written(tmp_path, DESIGN)))
    sort_s, inc_s = 0.03899e-6 * 262144 * 18, 0.02599e-6 * 262144
    assert found.counts is not None and found.counts.counts == {"T": 11}
    assert found.element_time_s == pytest.approx(sort_s / 11)
    assert found.latency_s == pytest.approx(sort_s + inc_s)
    assert found.speedup == pytest.approx((sort_s + inc_s) / (sort_s / 11))
    assert found.total_s == pytest.approx(sort_s + inc_s + 999 * sort_s / 11)
    assert [str(piece.total) for piece in found.pieces] == ["sort/11"]
    assert found.gains["sort"] == pytest.approx(2) and found.gains["inc"] == 1


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, DESIGN)
    picture = tmp_path / "system.svg"
    assert main(["compose", str(path), "--set", "T=4", "--figure", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "5 of 12 cores" in text and "0.009747 n log2(n)" in text
    drawn = picture.read_text()
    assert "tpool 4" in drawn and "sort" in drawn
    assert main(["compose", str(path), "--json", "-", "--at", "n=1024", "--system", "pipe(inc, inc)"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["bottleneck"] == "inc"
    assert content["element_time_s"] == pytest.approx(0.02599e-6 * 1024)
    assert content["counts"] is None


def test_systems_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Any block and count of the design may be in it, and counts of the command line come first."""
    other = '[blocks.other]\nformula = "0.05 * n"\nunit = "us"\n[counts]\nT = 4\n'
    words = ["compose", str(written(tmp_path, DESIGN + other)), "--json", "-", "--system"]
    for more, threads in ([], 4), (["--set", "T=8"], 8):
        assert main([*words, "pipe(tpool(T, other), inc)", *more]) == 0
        found = json.loads(capsys.readouterr().out)["element_time_s"]
        assert found == pytest.approx(max(0.05e-6 * 262144 / threads, 0.02599e-6 * 262144))
    assert main([*words, "pipe(other, absent)"]) == 1
    assert "expected a model of every block, found none of absent" in capsys.readouterr().err


def test_transfer_to_another_node(tmp_path: Path) -> None:
    blocks = '[blocks.send]\nbytes = "8 * n"\nlatency = "2us"\nbandwidth = "10GB/s"\n'
    text = 'system = "pipe(inc, send)"\nat = { n = 1000 }\ncores = 2\n' + BLOCKS + blocks
    found = answer(load_design(written(tmp_path, text)))
    assert found.element_time_s == pytest.approx(0.02599e-6 * 1000)
    assert found.latency_s == pytest.approx(0.02599e-6 * 1000 + 2e-6 + 8000 / 10e9)
    (tmp_path / "machine.toml").write_text('[bandwidth]\nvalue = "10GB/s"\n[latency]\nvalue = "2us"\n')
    other = text.replace('latency = "2us"\nbandwidth = "10GB/s"', 'machine = "machine.toml"')
    assert answer(load_design(written(tmp_path, other))).latency_s == pytest.approx(found.latency_s)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 12", "cores = 0", r"expected int >= 1, found 0 at \$.cores"),
        ("cores = 12", "core = 12", "unknown field core"),
        ("n = 262144", "n = -1", r"expected float > 0.0 at \$.at\[...\]"),
        ("n = 262144", "m = 1", "expected a value of n"),
        ("[blocks.inc]", "[blocks.dec]", "found none of inc"),
        ('formula = "0.02599 * n"', 'formula = "exp(n)"', "expected a formula"),
        ('formula = "0.02599 * n"', 'bytes = "n"', "latency and bandwidth"),
        ('formula = "0.02599 * n"', 'formula = "n"\nlaws = "x"', "found formula, laws"),
        ('formula = "0.02599 * n"', 'laws = "missing.json"', "expected a file of laws"),
        ('unit = "us"', 'unit = "parsec"', "found unit"),
        ("tpool(T, sort)", "tpool(12, sort)", "at most 12 threads, found 13"),
        ("at = {", "at = 3 # {", r"expected object, found 3 at \$.at"),
        ("at = {", "at = {{", "expected a design, found: no TOML"),
        ("at = {", 'kind = "x"\nat = {', r"expected commanalyzer.design, found 'x' at \$.kind"),
    ],
)
def test_wrong_designs(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DESIGN
    with pytest.raises(CommAnalyzerError, match=message):
        answer(load_design(written(tmp_path, DESIGN.replace(old, new))))


@pytest.mark.parametrize(("pattern", "known"), [("tpool(T, sort)", "T"), ("sort", "it has none")])
def test_unknown_counts_are_refused(
    tmp_path: Path, pattern: str, known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    design = written(tmp_path, DESIGN.replace("tpool(T, sort)", pattern))
    assert main(["compose", str(design), "--set", "X=4"]) == 1
    assert f"expected a count of the system ({known}), found X" in " ".join(capsys.readouterr().err.split())


def test_missing_design(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected a design"):
        load_design(tmp_path / "none.toml")


def test_names_of_files_stand_in_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_design(written(tmp_path, DESIGN.replace("0.02599 * n", "n +")))
    assert str(tmp_path) in str(caught.value)


PIPELINE = parse_system("pipe(tpool(T, a), tpool(U, b), c)")


@given(a=st.integers(1, 50), b=st.integers(1, 50), c=st.integers(1, 9), cores=st.integers(3, 12))
def test_the_slower_stages_are_replicated(a: int, b: int, c: int, cores: int) -> None:
    models = {"a": read_formula(str(a)), "b": read_formula(str(b)), "c": read_formula(str(c))}
    found = best_counts(PIPELINE, models, {}, cores)
    counts = range(1, cores)
    fastest = min(max(a / t, b / u, c) for t, u in itertools.product(counts, counts) if t + u + 1 <= cores)
    assert found.element_time_s == pytest.approx(fastest)
    assert found.is_exhaustive and found.threads == sum(found.counts.values()) + 1 <= cores
    # no thread for nothing
    for name, count in found.counts.items():
        if count > 1:
            fewer = {**found.counts, name: count - 1}
            assert max(a / fewer["T"], b / fewer["U"], c) > fastest * (1 + 1e-12)


def test_growing_one_by_one_finds_pipelines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    models = {"a": read_formula("31"), "b": read_formula("17"), "c": read_formula("2")}
    exact = best_counts(PIPELINE, models, {}, 20)
    monkeypatch.setattr("commanalyzer.kernels.composition.answer.MOST_CONFIGURATIONS", 1)
    grown = best_counts(PIPELINE, models, {}, 20)
    assert not grown.is_exhaustive
    assert grown.element_time_s == exact.element_time_s == pytest.approx(31 / 12)
    monkeypatch.setattr("commanalyzer.kernels.composition.answer.MOST_CONFIGURATIONS", 1)
    models = {"a": read_formula("8"), "b": read_formula("8"), "c": read_formula("4")}
    found = best_counts(PIPELINE, models, {}, 9)
    assert (found.counts, found.element_time_s, found.threads) == ({"T": 2, "U": 2}, 4.0, 5)


def test_too_few_cores() -> None:
    models = {"a": read_formula("3"), "b": read_formula("5"), "c": read_formula("1")}
    with pytest.raises(ConfigError, match="at most 2 threads, found 3"):
        best_counts(PIPELINE, models, {}, 2)


def test_gains_and_shares() -> None:
    models = {"a": read_formula("3 * n"), "b": read_formula("2 * n"), "c": read_formula("4 * n")}
    system = parse_system("pipe(sequence(a, b), c)")
    # 5 n: without half of a 3.5 n, then c decides with 4 n; without half of b 4 n
    gains = gain_of_faster_block(system, models, {"n": 7.0})
    assert gains == pytest.approx({"a": 5 / 4, "b": 5 / 4, "c": 1.0})
