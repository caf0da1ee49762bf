"""Scalars that live in registers: conjugate gradients must not connect every element with every other."""

import pytest

from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.result.results import AnalysisResult
from tests.e2e.analysed import analyse_text

N, ITERATIONS, PARTS = 1024, 4, 4
SOURCE = """
static double dot(int n, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
int main(void) {
    int n = 1024;
    double *x = calloc(n, 8), *r = malloc(n * 8), *p = malloc(n * 8), *q = malloc(n * 8);
    for (int i = 0; i < n; i++) { r[i] = 1.0 + i % 3; p[i] = r[i]; }
    double rr = dot(n, r, r);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < n; i++)
            q[i] = 2.5 * p[i] - (i > 0 ? p[i - 1] : 0) - (i < n - 1 ? p[i + 1] : 0);
        double alpha = rr / dot(n, p, q);
        for (int i = 0; i < n; i++) { x[i] += alpha * p[i]; r[i] -= alpha * q[i]; }
        double next = dot(n, r, r), beta = next / rr;
        rr = next;
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
    }
    printf("%.17g\\n", rr);
    return 0;
}
"""


@pytest.fixture(scope="module")
def result() -> AnalysisResult:
    return analyse_text(SOURCE, nodes=PARTS, check=True)


def test_flows_are_linear_in_the_problem(result: AnalysisResult) -> None:
    # dots: 3 factor pairs; q: 3, x: 3, r: 3, p: 3 sources; dissolved scalars would make n per element
    assert result.graph.num_flows < 24 * N


def test_scalars_cost_a_reduction_and_a_broadcast_each(result: AnalysisResult) -> None:
    # per iteration: two dot products folded (p - 1 words each), alpha and beta sent to all others; the
    # first dot product before the loop is only folded. -alpha, which the compiler hoists, is no value.
    best = result.best(PARTS)
    registers = [o.kind is HomeKind.REGISTER for o in result.graph.objects]
    words = sum(int(b) for b, r in zip(best.object_bytes, registers, strict=True) if r) / 8
    assert words == (4 * ITERATIONS + 1) * (PARTS - 1)
    named = {f"{o.function}: {o.name}" for o in result.graph.objects if o.kind is HomeKind.REGISTER}
    assert named == {"dot: sum", "main: next", "main: alpha", "main: beta"}  # also where dot is inlined


def test_arrays_cost_the_halo(result: AnalysisResult) -> None:
    best = result.best(PARTS)
    arrays = [o.kind is HomeKind.HEAP for o in result.graph.objects]
    words = sum(int(b) for b, a in zip(best.object_bytes, arrays, strict=True) if a) / 8
    assert words == 2 * (PARTS - 1) * ITERATIONS


def test_singletons_are_not_counted_unasked_where_registers_pass_values_on(result: AnalysisResult) -> None:
    assert (result.singletons, result.vcg_words) == (None, 0)
