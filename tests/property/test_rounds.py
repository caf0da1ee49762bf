"""Rounds that change at times, as few of them do: their chains are those of the interpreter."""

import pytest

from tests.property.test_flows import check
from tests.recorded import record_source

_DIAGONAL = """
#include <stdio.h>
#define N 40
static double x[N], y[N], a[8 * N], b[8 * N], w[N];
int main(void) {
  for (int i = 0; i < N; i++) { x[i] = i + 0.5; y[i] = 100.5 + i; w[i] = 0.25 * i; }
  for (int t = 0; t < 12; t++) {
    for (int i = 0; i < N; i++) { a[(int)x[i]] += w[i]; b[(int)y[i]] += w[i]; }
    for (int i = 0; i < N; i += 7) if (t > 4) { x[i] += AHEAD; y[i] -= BACK; }
  }
  printf("%g %g\\n", a[7], b[101]);
  return 0;
}
"""


@pytest.mark.parametrize(("ahead", "back"), [(1, 1), (3, 1), (5, 3), (7, 5), (2, 2)])
def test_values_that_change_against_each_other_are_seen_to_change(ahead: int, back: int) -> None:
    """No sum of both stays what it was."""
    text = _DIAGONAL.replace("AHEAD", str(ahead)).replace("BACK", str(back))
    check(text, record_source(text))
