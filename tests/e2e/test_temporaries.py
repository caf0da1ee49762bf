"""Private temporaries: workspaces are no hubs, their values are stable over time and cost what they must.

A rod of n elements and n + 1 nodes. Every element gathers its two nodes, computes in workspaces and adds to
the forces of its nodes. Divided at one node, a step moves two words: the position of the node to the other
part, and what the other part adds to its force.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.graph.contraction.workspaces import readings
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.counts import count_volume
from tests.recorded import record_again, record_source

N, WORD_BYTES = 40, 8

_FRAME = """
#include <stdlib.h>
#define N 40
#define STEPS %(steps)d
static double x[N + 1], f[N + 1];
%(globals)s
int main(void) {
  for (int i = 0; i <= N; i++) x[i] = 0.1 * i;
  %(before)s
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i <= N; i++) f[i] = 0;
    for (int e = 0; e < N; e++) {
      %(element)s
    }
    for (int i = 0; i <= N; i++) x[i] += 0.001 * f[i];
  }
  return x[3] > 1000;
}
"""
_COMPUTE = """
__attribute__((noinline)) static void gather(int e, double *at) { at[0] = x[e]; at[1] = x[e + 1]; }
__attribute__((noinline)) static void strain(const double *at, double *b) {
  b[0] = at[1] * 0.5 - at[0]; b[1] = at[0] * 0.25 + at[1];
}
__attribute__((noinline)) static void stress(const double *b, double *s) {
  s[0] = b[0] * b[1]; s[1] = b[1] - b[0];
}
"""
_SCATTER = "f[e] += s[0]; f[e + 1] += s[1];"
_ALLOCATED = "double *at = malloc(16), *b = malloc(16), *s = malloc(16);"
_ACCUMULATED = """double at[2], b[2], s[2]; gather(e, at); strain(at, b); s[0] = s[1] = 0;
  for (int k = 0; k < 2; k++) { s[0] += b[k] * at[k]; s[1] += b[k]; }
"""
_STEPS = "gather(e, at); strain(at, b); stress(b, s); " + _SCATTER

PROGRAMS = {
    "local arrays": ("", "", "double at[2], b[2], s[2]; " + _STEPS),
    "a heap buffer": ("", "double *at = malloc(48), *b = at + 2, *s = at + 4;", _STEPS),
    "a static buffer": ("static double at[2], b[2], s[2];", "", _STEPS),
    "allocated per element": ("", "", _ALLOCATED + _STEPS + "free(s); free(b); free(at);"),
    "accumulated": ("", "", _ACCUMULATED + _SCATTER),
}


def program(name: str, steps: int) -> str:
    declared, before, element = PROGRAMS[name]
    values = {"steps": steps, "globals": declared + _COMPUTE, "before": before, "element": element}
    return _FRAME % values


def named_graph(text: str) -> ValueGraph:
    """Graph after the second recording."""
    recorded = record_source(text)
    mask = readings(GraphStore.of(recorded.graph))[0]
    assert mask.any()
    with tempfile.TemporaryDirectory() as folder:
        return record_again(recorded, mask, Path(folder))


def halves(graph: ValueGraph, cut: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Owners: nodes up to ``cut`` and elements before it are part 0; other values follow their sources."""
    part = np.full(graph.num_vertices, -1, np.int32)
    for number, item in enumerate(graph.objects):
        if item.kind is HomeKind.GLOBAL and item.name in ("x", "f"):
            mine = (graph.home_object == number) & ~graph.is_temporary
            part[mine] = (graph.home_offset[mine] // WORD_BYTES > cut).astype(np.int32)
    for row in range(graph.num_rows):  # a computed value lies with the highest node it was computed from
        first, last = graph.rows.term_ptr[row], graph.rows.term_ptr[row + 1]
        sources = graph.rows.source[graph.rows.source_ptr[first] : graph.rows.source_ptr[last]]
        sink = graph.rows.row_sink[row]
        if part[sink] < 0 and len(sources):
            part[sink] = part[sources].max()
    part[part < 0] = 0
    return part


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_moves_the_shared_node_and_its_force(name: str) -> None:
    steps = 6
    graph = named_graph(program(name, steps))
    counted = count_volume(graph, halves(graph, N // 2), 2)
    # the element right of the cut reads the node left of it and adds to its force
    assert counted.low_bytes == 2 * WORD_BYTES * steps


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_flows_do_not_grow_with_time_steps(name: str) -> None:
    few, many = (named_graph(program(name, steps)) for steps in (4, 9))
    sizes = [(graph.num_vertices, graph.num_rows, graph.num_flows) for graph in (few, many)]
    assert sizes[0] == sizes[1]
    per_element = int(many.is_temporary.sum()) / N
    assert per_element == int(per_element) >= 2
    degree = np.bincount(many.rows.source, minlength=many.num_vertices)
    assert degree.max() <= 12  # no hub: a node is read by the values of its two elements


def test_arrays_of_a_stencil_are_no_workspaces() -> None:
    text = """
    #include <stdlib.h>
    int main(void) {
      double *u = calloc(64, 8);
      for (int step = 0; step < 40; step++) {
        double *v = malloc(64 * 8);
        for (int i = 1; i < 63; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        v[0] = v[63] = step;
        free(u);
        u = v;
      }
      return u[5] > 1000;
    }
    """
    assert not readings(GraphStore.of(record_source(text).graph))[0].any()


def test_a_state_that_is_carried_on_stays_one_vertex() -> None:
    """Forced to be a workspace, an array that is updated from itself keeps one vertex per word."""
    text = """
    static double a[8], b[8];
    int main(void) {
      for (int i = 0; i < 8; i++) a[i] = i;
      for (int step = 0; step < 50; step++) {
        for (int i = 1; i < 7; i++) b[i] = a[i - 1] + a[i + 1];
        for (int i = 1; i < 7; i++) a[i] = 0.5 * b[i];
      }
      return a[3] > 1000;
    }
    """
    recorded = record_source(text)
    with tempfile.TemporaryDirectory() as folder:
        graph = record_again(recorded, ~recorded.graph.is_register, Path(folder))
    assert int(graph.is_temporary.sum()) <= 4 * 16
