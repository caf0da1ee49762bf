"""A small sample of changed files of every kind."""

import re
import sys
from pathlib import Path

import pytest

from tests.fuzz import files
from tests.fuzz.files import KINDS, Trial


@pytest.mark.parametrize("name", sorted(KINDS))
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    (good := tmp_path / "good").mkdir()
    trial = Trial(KINDS[name], good)
    seeds = (*range(1, 6), 1015)  # the last one's laws have an error of 1e308, which cannot be squared
    outcomes = {seed: trial.run(seed, tmp_path / str(seed)) for seed in seeds}
    assert {seed: problem for seed, (_, problem) in outcomes.items() if problem} == {}


def test_an_interrupt_keeps_the_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, seeds = Trial.run, list[int]()

    def interrupted(trial: Trial, seed: int, folder: Path) -> tuple[str, str]:
        seeds.append(seed)
        if len(seeds) > 3:
            raise KeyboardInterrupt
        return run(trial, seed, folder)

    monkeypatch.setattr(Trial, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["files", "--files", "9", "--kind", "points", "--kind", "table"])
    assert files.main() == 130
    (said,) = capsys.readouterr().out.splitlines()  # no second kind
    assert said.startswith("points: of 3 files") and sum(map(int, re.findall(r"\d+", said)[1:])) == 3
