"""Stores under conditions on other elements, against theory: who decides needs what it decides by."""

import pytest

from tests.e2e.analysed import analyse_text

N, STEPS, NODES = 16, 3, 4
BORDERS = 2 * 2 * (N - 2)  # two cuts, from both sides, what inner points read
PROGRAM = """
int a[N][N], b[N][N];
int main(void) {
  int sum = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = (7 * i + 3 * j) % 5 < 2;
  for (int step = 0; step < STEPS; step++) {
    for (int colour = 0; colour < COLOURS; colour++)
      for (int i = 1; i < N - 1; i++)
        for (int j = 1 + (COLOURS - 1) * ((i + colour) % 2); j < N - 1; j += COLOURS) {
          int n = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];
          BODY
        }
    if (COLOURS == 1)
      for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++) a[i][j] = b[i][j];
  }
  for (int k = 0; k < N * N; k++) sum += a[0][k];
  printf("%d\\n", sum);
}
"""
BODIES = {
    "grows": (1, "b[i][j] = a[i][j]; if (n >= 2 && pow(n, 1.5) > 3) b[i][j] = 1;"),
    "one of two": (1, "b[i][j] = a[i][j]; if (n == 1) b[i][j] = 1; else if (n > 3) b[i][j] = 0;"),
    "flips": (2, "if (n == 2 || exp(-n) < 0.1) a[i][j] = 1 - a[i][j];"),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_decides_about_a_store_is_needed_where_it_is_stored(body: str) -> None:
    colours, code = BODIES[body]
    text = PROGRAM.replace("BODY", code).replace("COLOURS", str(colours)).replace("STEPS", str(STEPS))
    rules = [f"{name}[{N}x{N}]=block:2x2" for name in "ab"[: 3 - colours]]
    found = analyse_text(f"#define N {N}\n{text}", nodes=NODES, decompose=rules)
    item = next(d for d in found.decompositions if "=" in d.method)
    assert item.comm_bytes == item.communication.high_bytes == 4 * (STEPS * BORDERS + NODES - 1)


ABSENT = """
static const double t[64] = {1, 2, 3};
__attribute__((noinline)) double sum(double *a, int n, double *out) {
  double s = 0;
  for (int round = 0; round < 20; round++)
    for (int i = 1; i < n - 1; i++) {
      if (a[i - 1] + a[i + 1] < -1e9) a[i] = 0.5;
      if (a[i] > 1e9 && out) out[i] = 2;
      if (a[i] > 1e9 && i + 8 < n) a[i + 8] = 3;
      s += a[i];
    }
  return s;
}
int main(int argc, char **argv) {
  double *b = calloc(64, 8);
  for (int i = 0; i < 64; i++) b[i] = i;
  printf("%g\\n", sum((double *)t, 64, argc > 5 ? b : NULL) + sum(b, 64, b));
}
"""


def test_no_place_is_made_up_where_nothing_is_stored() -> None:
    """Constants that are never written, an array that is not there, places behind the end."""
    graph = analyse_text(ABSENT, nodes=NODES).graph
    names = {graph.objects[number].name for number in graph.home_object}
    assert names == {"t", "b", "s", "commanalyzer.output"}
