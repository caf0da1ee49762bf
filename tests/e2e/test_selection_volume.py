"""What global minima and their arguments move, against MPI's reductions: to one part and back to all."""

import numpy as np
import pytest

from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.counts import count_volume
from tests.recorded import record_source

N = 32
PROGRAM = """
#include <stdio.h>
#define N 32
double x[N], y[N];
int w[N];
__attribute__((noinline)) void f(int n) {{ {body} }}
int main(void) {{
    for (int i = 0; i < N; i++) x[i] = i * 7 % N;
    f(N);
    printf("%g %d\\n", y[3], w[3]);
}}
"""
MINIMUM = "double m = 1e9; for (int i = 0; i < n; i++) if (x[i] < m) m = x[i];"
ARGUMENT = "double m = 1e9; int k = 0; for (int i = 0; i < n; i++) if (x[i] < m) {{ m = x[i]; k = i; }}"
READ_VALUE = "for (int i = 0; i < n; i++) y[i] = x[i] - m;"
READ_INDEX = "for (int i = 0; i < n; i++) w[i] = w[i] - k;"


def blocks(graph: ValueGraph, p: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Arrays in p equal blocks, register values on the first part."""
    elements = np.array([o.size_bytes / N for o in graph.objects])[graph.home_object]
    is_array = np.array([o.kind is HomeKind.GLOBAL for o in graph.objects])[graph.home_object]
    index = np.where(is_array, graph.home_offset // np.maximum(elements, 1), 0)
    return (index * p // N).astype(np.int32)


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize(
    ("body", "width"),
    [(MINIMUM + READ_VALUE, 8), (ARGUMENT + READ_INDEX, 4), (ARGUMENT + READ_VALUE + READ_INDEX, 8 + 4)],
)
def test_reduction_read_everywhere_goes_to_one_part_and_back(body: str, width: int, p: int) -> None:
    body = body.replace("{{", "{").replace("}}", "}")
    graph = record_source(PROGRAM.format(body=body), regions=("f",)).graph
    result = count_volume(graph, blocks(graph, p), p)
    assert result.total_bytes == 2 * (p - 1) * width
