"""A small sample of changed files of every kind."""

from pathlib import Path

import pytest

from tests.fuzz.files import KINDS, Trial


@pytest.mark.parametrize("name", sorted(KINDS))
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    (good := tmp_path / "good").mkdir()
    trial = Trial(KINDS[name], good)
    outcomes = {seed: trial.run(seed, tmp_path / str(seed)) for seed in range(1, 7)}
    assert {seed: problem for seed, (_, problem) in outcomes.items() if problem} == {}
