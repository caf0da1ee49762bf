"""The commands of the guide to extrapolation, on profiles with known laws."""

import json
import re
from pathlib import Path

import pytest

from commanalyzer.cli.main import main
from commanalyzer.profiles.document import read_profile, write_profile
from tests.made_profiles import grid_profile

Capture = pytest.CaptureFixture[str]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "extrapolate.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, grids, sizes in (("runs", (3, 4, 8), (64, 128, 256)), ("larger", (16,), (512,))):
        (tmp_path / name).mkdir()
        for p in grids:
            for n in sizes:
                write_profile(grid_profile((p,), n), tmp_path / name / f"{n}-{p}.pisa")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_does_what_it_says(folder: Path, capsys: Capture) -> None:
    commands = re.findall(r"^commanalyzer (.+)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        words = command.replace("--classes 3", "--classes 2").split()
        assert main(words) == 0, command
    assert {"classes.html", "models.html"} <= {p.name for p in folder.iterdir()}
    assert {p.name for p in (folder / "study").iterdir()} == {"setup.toml", "classes.json", "models.json"}
    for page in ("classes.html", "models.html"):
        assert "<svg" in (folder / page).read_text(encoding="utf-8")
    names = sorted(p.name for p in (folder / "predicted").iterdir())
    assert names == [f"made-n{n}-p{p}.pisa" for n, p in ((1024, 64), (2048, 128), (2048, 256))]
    true = grid_profile((64,), 1024)
    found = read_profile(folder / "predicted" / names[0])
    assert [r.mix.instructions for r in found.ranks] == pytest.approx(
        [true.ranks[i].mix.instructions for i in (0, 1)], rel=0.01
    )
    capsys.readouterr()


def test_only_what_is_asked_for_is_trained_again(folder: Path, capsys: Capture) -> None:
    words = ["extrapolate", "runs", "--project", "study", "-q", "--method", "pattern"]
    assert main(words) == 0
    setup = folder / "study" / "setup.toml"
    before = json.loads((folder / "study" / "models.json").read_text())
    text = setup.read_text().replace('model = "weighted"', 'model = "linear"')
    setup.write_text(text)
    assert main([*words, "--only", "MPIsentBytes"]) == 0
    after = json.loads((folder / "study" / "models.json").read_text())
    changed = {
        name
        for old, new in zip(before["classes"], after["classes"], strict=True)
        for name in old["metrics"]
        if old["metrics"][name] != new["metrics"][name]
    }
    assert changed == {"MPIsentBytes"}
    capsys.readouterr()


@pytest.mark.parametrize(
    "words, message",
    [
        (["extrapolate", "runs", "--only", "LSys"], "--project"),
        (["extrapolate", "runs", "-o", "out"], "--to"),
        (["extrapolate", "runs", "--at", "p=-1"], "p=64,n=512"),
        (["classify", "nowhere.pisa"], "No such file"),
        (["classify", "runs", "--method", "pattern", "--classes", "2"], "no number of classes"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str, folder: Path, capsys: Capture) -> None:
    assert main(words) == 1
    assert message in capsys.readouterr().err


def test_documents_go_to_standard_output(folder: Path, capsys: Capture) -> None:
    assert main(["classify", "runs", "--method", "pattern", "--directed", "--json", "-"]) == 0
    classes = json.loads(capsys.readouterr().out)
    assert classes["classes"] == ["first", "inner", "last"]
    group = next(g for g in classes["runs"][-1]["groups"] if g["startRank"] == 1)
    assert group["dimension1"] == {"stride": 1, "iterations": len(classes["runs"][-1]["threads"]) - 2}
