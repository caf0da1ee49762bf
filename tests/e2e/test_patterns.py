"""Patterns of the workloads' loops against what their algorithms allow."""

from pathlib import Path

import pytest

from commanalyzer.kernels.patterns.find import find_patterns
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"

# Workload, arguments: loops by the text of their line, which of them, pattern. All but two are extended.
SEQUENTIAL = ("int step = 0; step < steps", 0, "sequential")
ITERATIONS = ("int it = 0; it < iterations", 0, "sequential")
CASES = {
    "heat2d.c 12 2": [("i = 1; i <= n", 0, "stencil"), SEQUENTIAL],
    "kmeans.c 20 3 3 2": [("int c = 1; c < k", 0, "reduction"), ITERATIONS],  # the nearest centroid
    "stencil3d.c 6 2": [("long i = 1; i <= g->n", 0, "stencil"), SEQUENTIAL],
    "matmul.c 6": [("int i = 0; i < n", 0, "do-all"), ("int k = 0; k < n", 0, "reduction")],
    "cg.c 6 2d natural 3": [ITERATIONS],
    "spmv.c 20 random 3 2": [
        ("int i = 0; i < a->rows", 0, "do-all"),
        ("int e = a->row_start[i]", 0, "reduction"),
        ITERATIONS,
    ],
    "adi.c 8 2": [
        ("int k = 0; k < n", 0, "sequential"),  # the recurrence of the tridiagonal solver
        ("int j = 1; j <= n", 0, "stencil"),  # lines next to each other
        SEQUENTIAL,
    ],
    "fem2d.c 4 2": [
        ("int element = 0; element < m->elements", 0, "reduction"),  # forces of corners
        ("int node = 0; node < m->nodes", 1, "do-all"),
        SEQUENTIAL,
    ],
    "pic.c 8 2 3 4": [
        ("int k = 0; k < p->count", 0, "reduction"),  # charges of cells
        ("int k = 0; k < p->count", 1, "do-all"),  # the push
        SEQUENTIAL,
    ],
    "pagerank.cpp 30 smallworld 4 2": [
        ("int v = 0; v < graph.vertices()", 0, "reduction"),  # what dangling vertices hold
        ("int v = 0; v < graph.vertices()", 1, "do-all"),
        ("int e = graph.row_start[v]", 0, "reduction"),
    ],
}
NAMES = [c if n < 2 else pytest.param(c, marks=pytest.mark.extended) for n, c in enumerate(CASES)]


@pytest.mark.parametrize("case", NAMES)
def test_patterns_of_workload(case: str) -> None:
    source, *arguments = case.split()
    path = WORKLOADS / source.partition(".")[0] / source
    lines = path.read_text(encoding="utf-8").splitlines()
    request = AnalysisRequest(sources=(path,), compiler=CompilerOptions("", ("-I", str(WORKLOADS))))
    _, module = compile_request(request)
    found = find_patterns(module, arguments)
    for text, number, kind in CASES[case]:
        starts = (f"for ({text}", f"for (int {text}")
        line = [n for n, own in enumerate(lines, 1) if own.strip().startswith(starts)][number]
        kinds = {p.kind for p in found if p.place.line == line and p.is_loop}
        assert kinds == {kind}, (line, lines[line - 1])
