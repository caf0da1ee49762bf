"""Reductions inside other loops cost one partial result per node, as in loops of their own."""

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.graph.contraction.simplify import simplified
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.value_graph import ValueGraph
from tests.counts import count_volume
from tests.e2e.analysed import HEAD, flang
from tests.e2e.theory import heat2d_words_per_step
from tests.native import ROOT
from tests.recorded import record_source

N, STEPS = 12, 5
STENCIL = """
enum { n = 12, steps = 5, m = n + 2 };
CALL void point(const REAL *u, REAL *w, REAL *d, int k) {
  REAL around = u[k - 1] + u[k + 1] + u[k - m] + u[k + m];
  w[k] = (REAL)0.2 * (u[k] + around);
  ADD
}
int main(void) {
  REAL *u = (REAL *)calloc(m * m, sizeof *u), *w = (REAL *)calloc(m * m, sizeof *w);
  REAL *hist = (REAL *)calloc(steps, sizeof *hist);
  for (int j = 0; j < m; j++) u[j] = w[j] = 1;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i <= n; i++)
      for (int j = 1; j <= n; j++) point(u, w, SUM, i * m + j);
    REAL *x = u; u = w; w = x;
  }
  for (int t = 0; t < steps; t++) printf("%g\\n", hist[t]);
}
"""
WAYS = [
    (".c", "double", "static"),
    (".c", "float", "static"),
    (".c", "double", "__attribute__((noinline)) static"),
    (".cpp", "double", "static"),
]
SQUARES = "*d += w[k] * w[k];"
CHANGES = "*d += (w[k] - u[k]) * (w[k] - u[k]);"
GREATEST = "REAL e = fabs(w[k] - u[k]); if (e > *d) *d = e;"


def owners_in_blocks(graph: ValueGraph, q: int, width: int) -> np.ndarray:
    """Owners of u and w in q x q blocks, node 0 for the rest."""
    row, column = np.divmod(graph.home_offset // width, N + 2)
    parts = [np.clip((x - 1) * q // N, 0, q - 1) for x in (row, column)]
    is_field = np.array([o.name in ("u", "w") for o in graph.objects])[graph.home_object]
    return np.where(is_field, parts[0] * q + parts[1], 0).astype(np.int32)


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("add", [SQUARES, CHANGES, GREATEST])
@pytest.mark.parametrize(("suffix", "real", "call"), WAYS)
def test_a_sum_in_the_loop_of_a_stencil(suffix: str, real: str, call: str, add: str, q: int) -> None:
    text = STENCIL.replace("CALL", call).replace("ADD", add).replace("REAL", real).replace("SUM", "hist + t")
    graph = record_source(HEAD + text, suffix=suffix).graph
    width = 4 if real == "float" else 8
    counted = count_volume(graph, owners_in_blocks(graph, q, width), q * q)
    step = width * (heat2d_words_per_step(N, q, q) + q * q - 1)
    assert counted.low_bytes <= STEPS * step <= counted.high_bytes <= (STEPS + 1) * step


PROGRAMS = [  # file, fields, reductions in their loop, bytes of a number
    ("globals.c", "u w", 4, 8),
    ("allocated.f90", "u w", 2, 8),
    ("fields.c", "u a v b", 2, 8),
    ("pointers.c", "u w", 1, 8),
    ("classes.cpp", "solver.u.data_ solver.w.data_", 1, 4),
    ("returned.c", "u w", 2, 4),
]


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize(("name", "arrays", "reductions", "width"), PROGRAMS)
def test_programs_of_other_styles(name: str, arrays: str, reductions: int, width: int, q: int) -> None:
    rules = [f"{a}[{N + 2}x{N + 2}]=block:{q}x{q}" for a in arrays.split()]
    if name.endswith(".f90"):
        flang()
    source = ROOT / "tests" / "e2e" / "fused" / name
    result = ca.analyze(source, nodes=q * q, decompose=rules, program_output="discard", jobs=1)
    counted = next(d for d in result.decompositions if rules[0] in d.method).communication
    border = len(rules) // 2 * width * heat2d_words_per_step(N, q, q)
    sent = STEPS * (border + reductions * width * (q * q - 1))
    assert counted.low_bytes - border <= sent <= counted.high_bytes <= sent + border


DEPOSIT = """
enum { n = 512, bins = 16, steps = 5 };
struct species { REAL charge; REAL *x; };
CALL void deposit(const struct species *s, REAL *h) {
  for (int i = 0; i < n; i++) h[(int)s->x[i]] += CHARGE;
}
int main(int argc, char **argv) {
  struct species s = {(REAL)atof(argv[1]), (REAL *)malloc(n * sizeof(REAL))};
  REAL *h = (REAL *)calloc(bins, sizeof *h);
  for (int i = 0; i < n; i++) s.x[i] = (REAL)(i % bins);
  for (int t = 0; t < steps; t++) {
    deposit(&s, h);
    for (int i = 0; i < n; i++) s.x[i] = (REAL)fmod(s.x[i] + 1, bins);
  }
  printf("%g\\n", h[3]);
}
"""


@pytest.mark.parametrize("p", [4, 16])
@pytest.mark.parametrize("charge", ["1", "s->charge", "s->charge * s->charge"])
@pytest.mark.parametrize(
    ("suffix", "real", "call"),
    [(".c", "double", "static"), (".c", "double", "__attribute__((noinline)) static"), (".cpp", "float", "")],
)
def test_who_owns_a_particle_adds_its_charge(suffix: str, real: str, call: str, charge: str, p: int) -> None:
    text = HEAD + DEPOSIT.replace("REAL", real).replace("CALL", call).replace("CHARGE", charge)
    graph = record_source(text, "0.25", suffix=suffix).graph
    width = 4 if real == "float" else 8
    names = np.array([o.name for o in graph.objects])[graph.home_object]
    is_particle = np.char.endswith(names, "x") & (graph.home_offset < 512 * width)
    owner = np.where(is_particle, graph.home_offset // width * p // 512, 0).astype(np.int32)
    assert (np.bincount(owner, minlength=p)[1:] == 512 // p).all(), set(names)
    counted = count_volume(graph, owner, p, find_hubs(graph))
    bins = width * 16 * (p - 1)  # each node has particles in all bins; sums are read at the end
    assert bins <= counted.low_bytes <= counted.high_bytes <= bins + width * (p - 1)


@pytest.mark.parametrize("p", [4, 16])
@pytest.mark.parametrize(("name", "width"), [("unrolled.c", 4), ("dot.cpp", 8)])
def test_two_reductions_in_parts_cost_two_results_per_node(name: str, width: int, p: int) -> None:
    source = ROOT / "tests" / "e2e" / "fused" / name
    graph = simplified(record_source(source.read_text(encoding="utf-8"), suffix=source.suffix).graph)
    names = np.array([o.name for o in graph.objects])[graph.home_object]
    owner = np.where(np.isin(names, ("x", "y")), graph.home_offset // width * p // 64, 0).astype(np.int32)
    counted = count_volume(graph, owner, p, find_hubs(graph))
    assert counted.low_bytes == counted.high_bytes == STEPS * 2 * 4 * (p - 1)


BOX = """
enum { n = 12, steps = STEPS };
double in[n * n], out[n * n], weight[9];
int main(void) {
  for (int k = 0; k < 9; k++) weight[k] = k - 3.5;
  for (int k = 0; k < n * n; k++) in[k] = k % 7;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 0; k < 9; k++) out[i * n + j] += weight[k] * in[(i + k / 3 - 1) * n + j + k % 3 - 1];
    for (int k = 0; k < n * n; k++) in[k] += 1;
  }
  printf("%g\\n", out[n + 1]);
}
"""


def test_sums_that_grow_over_rounds_are_combined_once_also_at_corners() -> None:
    """Beside each of two cuts, 2 x 10 sums have terms behind it; the 4 of them at the corner, 3 others."""
    for steps in (1, 8):
        graph = simplified(record_source(HEAD + BOX.replace("STEPS", str(steps))).graph)
        is_field = np.array([o.name in ("in", "out") for o in graph.objects])[graph.home_object]
        row, column = np.divmod(graph.home_offset // 8, 12)
        owner = np.where(is_field, row // 6 * 2 + column // 6, 0).astype(np.int32)
        counted = count_volume(graph, owner, 4, find_hubs(graph))
        assert counted.total_bytes == 8 * (2 * 2 * 10 + 4 + 3 * 9), steps


def test_a_sum_of_hubs_is_combined_where_they_are() -> None:
    """Sums of rows are hubs where there are fewer rows than columns: whole rows send the total's parts."""
    source = ROOT / "tests" / "e2e" / "fused" / "rows.c"
    result = ca.analyze(source, nodes=(2, 4, 8), program_output="discard", jobs=1)
    for p in (2, 4, 8):
        counted = result.decomposition(p).communication
        assert counted.low_bytes == counted.high_bytes == 8 * 8 * (p - 1)
