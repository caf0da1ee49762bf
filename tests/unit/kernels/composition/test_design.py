import json
from pathlib import Path

import pytest

from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ArtifactError, CommAnalyzerError, ConfigError
from commanalyzer.kernels.composition.answer import answer
from commanalyzer.kernels.composition.design import load_design

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


def test_missing_design(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected a design"):
        load_design(tmp_path / "none.toml")


def test_names_of_files_stand_in_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_design(written(tmp_path, DESIGN.replace("0.02599 * n", "n +")))
    assert str(tmp_path) in str(caught.value)
