"""A small sample of changed files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.files import KINDS, run


@pytest.mark.parametrize("name", sorted(KINDS))
def test_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    problems = {}
    for seed in range(1, 7):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if problem := run(KINDS[name], seed, folder):
            problems[seed] = problem
    assert problems == {}
