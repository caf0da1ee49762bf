"""Patterns of the workloads' loops against what their algorithms allow."""

from pathlib import Path

import pytest

from commanalyzer.kernels.patterns.find import find_patterns
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
_MORE = pytest.mark.extended

# Workload, arguments, and loops: text of the line, which of them, pattern.
CASES = (
    (
        "heat2d/heat2d.c",
        "12 2",
        (("i = 1; i <= n", 0, "stencil"), ("int step = 0; step < steps", 0, "sequential")),
    ),
    (
        "kmeans/kmeans.c",
        "20 3 3 2",
        (
            ("int c = 1; c < k", 0, "reduction"),  # the nearest centroid
            ("int it = 0; it < iterations", 0, "sequential"),
        ),
    ),
    pytest.param(
        "stencil3d/stencil3d.c",
        "6 2",
        (("long i = 1; i <= g->n", 0, "stencil"), ("int step = 0; step < steps", 0, "sequential")),
        marks=_MORE,
    ),
    pytest.param(
        "matmul/matmul.c",
        "6",
        (("int i = 0; i < n", 0, "do-all"), ("int k = 0; k < n", 0, "reduction")),
        marks=_MORE,
    ),
    pytest.param(
        "cg/cg.c", "6 2d natural 3", (("int it = 0; it < iterations", 0, "sequential"),), marks=_MORE
    ),
    pytest.param(
        "spmv/spmv.c",
        "20 random 3 2",
        (
            ("int i = 0; i < a->rows", 0, "do-all"),
            ("int e = a->row_start[i]", 0, "reduction"),
            ("int it = 0; it < iterations", 0, "sequential"),
        ),
        marks=_MORE,
    ),
    pytest.param(
        "adi/adi.c",
        "8 2",
        (
            ("int k = 0; k < n", 0, "sequential"),  # the recurrence of the tridiagonal solver
            ("int j = 1; j <= n", 0, "stencil"),  # lines next to each other
            ("int step = 0; step < steps", 0, "sequential"),
        ),
        marks=_MORE,
    ),
    pytest.param(
        "fem2d/fem2d.c",
        "4 2",
        (
            ("int element = 0; element < m->elements", 0, "reduction"),  # forces of corners
            ("int node = 0; node < m->nodes", 1, "do-all"),
            ("int step = 0; step < steps", 0, "sequential"),
        ),
        marks=_MORE,
    ),
    pytest.param(
        "pic/pic.c",
        "8 2 3 4",
        (
            ("int k = 0; k < p->count", 0, "reduction"),  # charges of cells
            ("int k = 0; k < p->count", 1, "do-all"),  # the push
            ("int step = 0; step < steps", 0, "sequential"),
        ),
        marks=_MORE,
    ),
    pytest.param(
        "pagerank/pagerank.cpp",
        "30 smallworld 4 2",
        (
            ("int v = 0; v < graph.vertices()", 0, "reduction"),  # what dangling vertices hold
            ("int v = 0; v < graph.vertices()", 1, "do-all"),
            ("int e = graph.row_start[v]", 0, "reduction"),
        ),
        marks=_MORE,
    ),
)


@pytest.mark.parametrize(("source", "arguments", "loops"), CASES)
def test_patterns_of_workload(source: str, arguments: str, loops: tuple[tuple[str, int, str], ...]) -> None:
    path = WORKLOADS / source
    lines = path.read_text(encoding="utf-8").splitlines()
    request = AnalysisRequest(sources=(path,), compiler=CompilerOptions("", ("-I", str(WORKLOADS))))
    _, module = compile_request(request)
    found = find_patterns(module, arguments.split())
    for text, number, kind in loops:
        starts = (f"for ({text}", f"for (int {text}")
        line = [n for n, own in enumerate(lines, 1) if own.strip().startswith(starts)][number]
        kinds = {p.kind for p in found if p.place.line == line and p.is_loop}
        assert kinds == {kind}, (line, lines[line - 1])
