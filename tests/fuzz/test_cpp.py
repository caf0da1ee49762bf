"""A small sample of the random C++ programs: one per kind of input, and one that once behaved differently."""

from __future__ import annotations

import pytest

from tests.fuzz.run_cpp import LEVELS, compare

ROUNDED_DIFFERENTLY = 20147  # sums of -ffast-math, reassociated by the code generator


@pytest.mark.parametrize("seed", [*range(4, 4 + len(LEVELS)), ROUNDED_DIFFERENTLY])
def test_random_program_behaves_like_the_original(seed: int) -> None:
    outcome = compare(seed)
    assert not outcome.is_skipped
    assert outcome.problem == "", outcome.source
