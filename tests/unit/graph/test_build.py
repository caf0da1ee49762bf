"""From recorded programs to graphs: versions, inputs, widths, terms, names; counts by hand."""

from itertools import pairwise

import numpy as np

from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.recorded import record_source

HEAD = "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"


def vertices(graph: ValueGraph, name: str) -> list[int]:
    """Vertices of a variable, by offset."""
    number = next(i for i, o in enumerate(graph.objects) if o.name == name)
    found = np.flatnonzero(graph.home_object == number)
    return [int(v) for v in found[np.argsort(graph.home_offset[found])]]


def test_program_without_values() -> None:
    graph = record_source("int main(void) { return 0; }").graph
    assert (graph.num_vertices, graph.num_rows, graph.num_flows) == (0, 0, 0)


def test_versions_count_stores_and_the_input() -> None:
    text = HEAD + (
        "double a[4], b[4]; volatile int steps = 3;\n"
        "int main(void) { for (int t = 0; t < steps; t++) for (int i = 0; i < 4; i++) b[i] = a[i] * 2.0;\n"
        'printf("%g\\n", b[1]); return 0; }'
    )
    graph = record_source(text).graph
    a, b = vertices(graph, "a"), vertices(graph, "b")
    assert len(a) == len(b) == 4
    assert graph.is_input[a].all() and not graph.is_input[b].any()
    assert graph.versions[a].tolist() == [1] * 4  # read, never stored
    assert graph.versions[b].tolist() == [3] * 4
    assert graph.width_bytes[a + b].tolist() == [8] * 8
    assert graph.work_flops[b].tolist() == [3.0] * 4
    assert [graph.objects[graph.home_object[v]].kind for v in (a[0], b[0])] == [HomeKind.GLOBAL] * 2


def test_fills_are_versions_of_the_values_that_live_there() -> None:
    text = HEAD + (
        "volatile int n = 6;\n"
        "int main(void) { double *x = malloc(n * sizeof *x); memset(x, 0, n * sizeof *x);\n"
        'for (int i = 1; i < n; i++) x[i] += x[i - 1] + 1.0; printf("%g\\n", x[5]); return 0; }'
    )
    graph = record_source(text).graph
    x = vertices(graph, "x")
    assert [int(o) for o in graph.home_offset[x]] == [0, 8, 16, 24, 32, 40]
    assert graph.versions[x].tolist() == [1, 2, 2, 2, 2, 2]  # the fill, then the sum
    assert not graph.is_input[x].any()
    assert graph.objects[graph.home_object[x[0]]].size_bytes == 48


def test_terms_of_a_reduction_in_a_register() -> None:
    text = HEAD + (
        "double a[8], b[8], c;\n"
        "int main(void) { double s = 0; for (int i = 0; i < 8; i++) s += a[i] * b[i]; c = s;\n"
        'printf("%g\\n", c); return 0; }'
    )
    graph = record_source(text).graph
    a, b, (c,) = vertices(graph, "a"), vertices(graph, "b"), vertices(graph, "c")
    (register,) = np.flatnonzero(graph.is_register)
    (row,) = np.flatnonzero(graph.rows.row_sink == register)
    assert graph.rows.row_fold[row] == Fold.SUM
    first, last = graph.rows.term_ptr[row], graph.rows.term_ptr[row + 1]
    pointer = graph.rows.source_ptr[first : last + 1]
    terms = [sorted(graph.rows.source[i:j].tolist()) for i, j in pairwise(pointer)]
    assert terms == [sorted(pair) for pair in zip(a, b, strict=True)]
    (stored,) = np.flatnonzero(graph.rows.row_sink == c)
    assert graph.rows.source[graph.rows.row_of_source() == stored].tolist() == [register]
    assert graph.work_flops[register] == 16.0  # multiply and add, 8 times


def test_long_reductions_are_packed_without_loss() -> None:
    text = HEAD + (
        "int next[20000]; double a[20000], c; volatile int n = 20000;\n"
        "int main(void) { for (int i = 0; i < n; i++) next[i] = (int)((i * 7919L) % n);\n"
        "double s = 0; for (int i = 0; i < n; i++) s += a[next[i]] * a[i]; c = s;\n"
        'printf("%g\\n", c); return 0; }'
    )
    graph = record_source(text).graph
    a = vertices(graph, "a")
    (register,) = np.flatnonzero(graph.is_register)
    (row,) = np.flatnonzero(graph.rows.row_sink == register)
    first, last = graph.rows.term_ptr[row], graph.rows.term_ptr[row + 1]
    assert last - first == 20000
    lengths = np.diff(graph.rows.source_ptr[first : last + 1])
    assert lengths.tolist() == [1 if (i * 7919) % 20000 == i else 2 for i in range(20000)]
    sources = graph.rows.source[graph.rows.source_ptr[first] : graph.rows.source_ptr[last]]
    uses = np.bincount(sources, minlength=graph.num_vertices)[a]
    assert uses.tolist() == [1 if (i * 7919) % 20000 == i else 2 for i in range(20000)]


def test_values_from_before_the_region_are_inputs() -> None:
    text = HEAD + (
        "double a[4], b[4];\n"
        "void kernel(void) { for (int i = 0; i < 4; i++) b[i] = a[i] + b[i]; }\n"
        "int main(void) { for (int i = 0; i < 4; i++) a[i] = b[i] = i; kernel(); kernel();\n"
        'printf("%g\\n", b[1]); return 0; }'
    )
    recorded = record_source(text, regions=("kernel",))
    graph = recorded.graph
    a, b = vertices(graph, "a"), vertices(graph, "b")
    assert graph.is_input[a + b].all()
    assert graph.versions[b].tolist() == [3] * 4  # what was there, and two calls
    assert recorded.work.flops == 8
