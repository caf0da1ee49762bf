from pathlib import Path

import pytest

from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.machine import machine_file
from commanalyzer.machine.machine_file import load_machine, published_machines


def test_names_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "fast.toml").write_text('name = "fast one"')
    (folder / "slow.toml").write_text('name = "slow one"')
    monkeypatch.setattr(machine_file, "_PUBLISHED", folder)
    monkeypatch.chdir(tmp_path)
    assert list(published_machines()) == ["fast", "slow"]
    assert load_machine("fast").name == load_machine(Path("fast")).name == "fast one"
    assert load_machine("published/slow.toml").name == "slow one"
    Path("fast").write_text('name = "mine"')
    assert load_machine("fast").name == "mine"
    with pytest.raises(MachineModelError, match="fast, slow"):
        load_machine("fats")
    with pytest.raises(MachineModelError, match="No such file"):
        load_machine("fast.tml")
