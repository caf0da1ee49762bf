"""Who contributes to what decides that all go on is told: a reduction and a broadcast per test."""

import pytest

import commanalyzer as ca
from commanalyzer.graph.structure.hubs import find_hubs
from tests.counts import count_volume
from tests.e2e.analysed import HEAD, analyse_text
from tests.e2e.test_fused_reductions import WAYS, N, owners_in_blocks
from tests.e2e.theory import heat2d_words_per_step
from tests.native import ROOT
from tests.recorded import record_source

STENCIL = """
enum { n = 12, m = n + 2 };
REAL hist[9];
CALL REAL sweep(const REAL *u, REAL *w) {
  REAL d = 0;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      int k = i * m + j;
      w[k] = (REAL)0.2 * (u[k] + u[k - 1] + u[k + 1] + u[k - m] + u[k + m]);
      d += (w[k] - u[k]) * (w[k] - u[k]);
    }
  return d;
}
int main(void) {
  REAL *u = (REAL *)calloc(m * m, sizeof *u), *w = (REAL *)calloc(m * m, sizeof *w), d = 1;
  for (int j = 0; j < m; j++) u[j] = w[j] = 1;
  int it = 0;
  LOOP
  printf("%d %g\\n", it, (double)d);
}
"""
NEXT = "d = sweep(u, w); { REAL *x = u; u = w; w = x; } it++;"
LOOPS = {
    "while": f"while (sqrt(d) > 1e-9 && it < 5) {{ {NEXT} }}",
    "do": f"do {{ {NEXT} }} while (d > 1e-9 && it < 5);",
    "break": f"for (;;) {{ {NEXT} if (fabs(d) < 1e-9 || it == 5) break; }}",
    "stored": f"while (it < 5) {{ {NEXT} hist[it] = sqrt(d); if (hist[it] < 1e-9) break; }}",
    "relative": f"REAL one = 0; while (it < 5) {{ {NEXT} if (it == 1) one = d; if (d < 1e-9 * one) break; }}",
}


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("suffix", "real", "call"), WAYS)
def test_a_tolerance_test_is_an_all_reduce(suffix: str, real: str, call: str, loop: str, q: int) -> None:
    text = HEAD + STENCIL.replace("LOOP", LOOPS[loop]).replace("CALL", call).replace("REAL", real)
    graph, steps = record_source(text, suffix=suffix).graph, 5
    width, p = 4 if real == "float" else 8, q * q
    counted = count_volume(graph, owners_in_blocks(graph, q, width), p, find_hubs(graph))
    halo, test = width * heat2d_words_per_step(N, q, q), 2 * width * (p - 1)
    assert counted.low_bytes <= steps * (halo + test) <= counted.high_bytes <= steps * (halo + test) + halo
    assert counted.low_bytes > steps * (halo + test) - halo


def found_bytes(name: str) -> int:
    """Bytes of the best division among 4 nodes."""
    source = ROOT / "workloads" / "decisions" / f"{name}.c"
    return ca.analyze(source, nodes=[4], program_output="discard").best(4).comm_bytes


def test_a_time_that_all_compute_from_the_same_step_is_not_sent() -> None:
    """Each of 11 steps: one border, a maximum, and the time step back; nothing for the test of the time."""
    assert found_bytes("upwind") == 11 * 8 * (3 + 3 + 3)


def test_a_test_on_one_element_is_its_owners() -> None:
    """Only the sum that is printed at the end is combined."""
    assert found_bytes("roots") == 8 * 3


SORT = """
int main(int n, char **v) {
  double a[16], sum = 0;
  for (int i = 0; i < 16; i++) a[i] = FIRST;
  for (int i = 1; i < 16; i++) {
    double x = a[i];
    int j = i;
    for (; j > 0 && a[j - 1] > x; j--) a[j] = a[j - 1];
    a[j] = x;
  }
  for (int i = 1; i < 16; i++) sum += i * (a[i] - a[i - 1]);
  printf("%g\\n", sum);
}
"""


@pytest.mark.parametrize(("first", "compared"), [("16 - i", 15 * 16 // 2), ("i", 15)])
def test_comparisons_that_only_lead_on_are_counted_as_such(first: str, compared: int) -> None:
    """Insertion sort compares with all before, or with one, by the order in which they are."""
    told = analyse_text(SORT.replace("FIRST", first), nodes=2).recording.warnings
    assert [text.split(" that")[0].split(" (")[0] for text in told if "what is done next" in text] == [
        f"{compared} comparisons of elements"
    ]


def test_conditions_of_calls_are_counted_as_such() -> None:
    """14 x 14 points ask their neighbour in each of three rounds whether a function is to be called."""
    text = """
      static __attribute__((noinline)) void burn(double *a, int k) { a[k] = 0.5 * a[k] + 1; }
      int main(void) {
        static double a[16][16]; double sum = 0;
        for (int i = 0; i < 256; i++) a[i / 16][i % 16] = i % 11;
        for (int t = 0; t < 3; t++)
          for (int i = 1; i < 15; i++) for (int j = 1; j < 15; j++) if (a[i][j + 1] > 5) burn(a[i], j);
        for (int i = 0; i < 256; i++) sum += a[i / 16][i % 16];
        printf("%g\\n", sum);
      }"""
    told = analyse_text(text, nodes=2).recording.warnings
    assert any(text.startswith(f"{3 * 14 * 14} comparisons of elements (most in main)") for text in told)


def test_choices_of_an_element_and_decisions_are_no_such_comparisons() -> None:
    for name in ("upwind", "roots"):
        source = ROOT / "workloads" / "decisions" / f"{name}.c"
        told = ca.analyze(source, nodes=2, program_output="discard").recording.warnings
        assert not any("what is done next" in text for text in told)


@pytest.mark.parametrize("q", [1, 2])
def test_a_flag_compares_what_its_element_is_given(q: int) -> None:
    """Relaxation in place until no point moves: who has a point knows how far, and its flag goes to all."""
    text = """
      int main(void) {
        double *d = calloc(26 * 26, sizeof *d), sum = 0;
        for (int i = 0; i < 26; i++) d[i] = 1;
        int moved, rounds = 0;
        do {
          moved = 0;
          for (int i = 1; i <= 24; i++) for (int j = 1; j <= 24; j++) {
            int k = i * 26 + j;
            double x = 0.25 * (d[k - 1] + d[k + 1] + d[k - 26] + d[k + 26]);
            if (fabs(x - d[k]) > 0.01) moved = 1;
            d[k] = x;
          }
        } while (moved && ++rounds < 20);
        for (int k = 0; k < 26 * 26; k++) sum += d[k];
        printf("%g\\n", sum);
      }"""
    p = 2 * q
    found = analyse_text(text, nodes=p).decomposition(p)
    assert found.grid == (2, q) or found.grid == (q, 2)
    assert found.comm_bytes == 20 * (8 * 2 * 24 * q + 2 * 4 * (p - 1)) + 8 * (p - 1)
    assert found.imbalance < 1.01
