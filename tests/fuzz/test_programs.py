"""A small sample of the random programs: of each kind of input, and those that once behaved differently."""

import pytest

from tests.fuzz.run import LEVELS, cpp, csmith, floating, has_csmith

SUMMED_DIFFERENTLY = 20147  # sums of -ffast-math, reassociated by the code generator
FOLDED_DIFFERENTLY = (18, 76)  # with -mfma; with roots of constants under another rounding mode


@pytest.mark.skipif(not has_csmith(), reason="csmith is not installed")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_csmiths_program_behaves_like_the_original(seed: int) -> None:
    outcome = csmith(seed)
    assert outcome.problem == "", outcome.source


@pytest.mark.parametrize("seed", [*range(4, 4 + len(LEVELS)), SUMMED_DIFFERENTLY])
def test_cpp_program_behaves_like_the_original(seed: int) -> None:
    outcome = cpp(seed)
    assert (outcome.problem, outcome.is_skipped) == ("", False), outcome.source


@pytest.mark.parametrize("seed", [*FOLDED_DIFFERENTLY, 2, 7])
def test_floating_point_is_that_of_the_original(seed: int) -> None:
    outcome = floating(seed)
    assert (outcome.problem, outcome.is_skipped) == ("", False), outcome.source
