"""A small sample of the random programs: of each kind of input, and those that once behaved differently."""

import pytest

from commanalyzer.program.frontend.inputs.fortran import installed_compilers
from tests.fuzz.run import LEVELS, compare, cpp, csmith, floating, fortran, has_csmith

SUMMED_DIFFERENTLY = 20147  # sums of -ffast-math, reassociated by the code generator
FOLDED_DIFFERENTLY = (18, 76)  # with -mfma; with roots of constants under another rounding mode
FOLDED_IN_FORTRAN = (13, 102)  # under another rounding mode; exponential functions of constants


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


@pytest.mark.skipif(not installed_compilers(), reason="no flang is installed")
@pytest.mark.parametrize("seed", [*FOLDED_IN_FORTRAN, 3, 4])
def test_floating_point_of_fortran_is_that_of_the_original(seed: int) -> None:
    outcome = fortran(seed)
    assert (outcome.problem, outcome.is_skipped) == ("", False), outcome.source


def test_library_calls_of_constants_round_as_those_of_variables() -> None:
    """What the functions of constants are shows when the loop is unrolled."""
    text = """#include <math.h>
#include <stdio.h>
static const float k[] = {0.1f, 0.7f, 0.33f, 0.123f, 1.7f, 2.3f, 4.7f, 8.13f, 0.77f};
static double a[9], b[9];
int main(void) {
  for (int i = 0; i < 9; i++) a[i] = exp(-0.1 * (i + 1));
  for (int i = 0; i < 9; i++) b[i] = pow(k[i], 1.1);
  for (int i = 0; i < 9; i++) printf("%a\\n", a[i] + b[i]);
  return 0;
}
"""
    assert compare(0, text, lambda source: source).problem == ""
