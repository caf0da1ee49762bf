"""A small sample of changed files of every kind."""

from pathlib import Path

import pytest

from tests.fuzz.files import KINDS, Trial


@pytest.mark.parametrize("name", sorted(KINDS))
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    (good := tmp_path / "good").mkdir()
    trial = Trial(KINDS[name], good)
    seeds = (*range(1, 6), 1015)  # the last one's laws have an error of 1e308, which cannot be squared
    outcomes = {seed: trial.run(seed, tmp_path / str(seed)) for seed in seeds}
    assert {seed: problem for seed, (_, problem) in outcomes.items() if problem} == {}
