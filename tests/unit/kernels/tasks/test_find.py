"""Kernels, range mappers and bytes of small programs whose answers follow from their loops."""

import tempfile
from functools import cache
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.find import find_tasks
from commanalyzer.kernels.tasks.graph import Kernel, TaskGraph
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

HEAD = """
#include <stdio.h>
#include <stdlib.h>
"""


@cache
def compiled(text: str, *regions: str) -> Module:
    """Module of a C program in which some regions survive."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(HEAD + text)
        request = AnalysisRequest(sources=(source,), compiler=CompilerOptions("", ()), regions=regions)
        return compile_request(request)[1]


@cache
def tasks_of(text: str, *arguments: str, nodes: tuple[int, ...] = (2, 4)) -> TaskGraph:
    """Task graph of a C program."""
    return find_tasks(compiled(text), arguments, nodes=nodes)


def kernel(graph: TaskGraph, name: str) -> Kernel:
    """The kernel of a name."""
    (found,) = [k for k in graph.kernels if k.name == name]
    return found


def mappers(of: Kernel) -> set[tuple[str, str, str]]:
    """Buffer, mode and mapper of a kernel's accesses."""
    return {(a.buffer, a.mode, str(a.mapper)) for a in of.accesses}


STEPS = """
void smooth(int n, const double *a, double *b) {
  for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
}
void back(int n, double *a, const double *b) {
  for (int i = 1; i < n - 1; i++) a[i] = b[i];
}
int main(int argc, char **argv) {
  int n = 18, steps = argc > 1 ? atoi(argv[1]) : 3;
  double *a = malloc(n * 8), *b = malloc(n * 8);
  for (int i = 0; i < n; i++) a[i] = i * i;
  for (int t = 0; t < steps; t++) { smooth(n, a, b); back(n, a, b); }
  printf("%g\\n", a[n / 2]);
}
"""


def test_time_steps_are_tasks_without_parallelism_and_halos_are_moved() -> None:
    graph = tasks_of(STEPS, "5")
    assert [t.name for t in graph.tasks] == ["main", *("smooth", "back") * 5, "host"]
    assert kernel(graph, "smooth").executions == 5
    assert kernel(graph, "smooth").range == ((1, 17),)
    assert mappers(kernel(graph, "smooth")) == {
        ("a", "read", "neighborhood(1)"),
        ("b", "write", "one-to-one"),
    }
    edges = [e for e in graph.edges if graph.tasks[e.source].name == "back" and e.buffer == "a"]
    halos = [e for e in edges if graph.tasks[e.sink].name == "smooth"]
    assert len(halos) == 4
    assert {e.moved_bytes for e in halos} == {(2 * 8, 2 * 3 * 8)}  # one element each way at 1 and 3 borders
    names = [graph.tasks[t].name for t in graph.critical_path()]
    assert names[0] == "main" and names.count("smooth") == 5
    assert graph.parallelism() == pytest.approx(1.0)


INDEPENDENT = """
void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 1.5; }
int main(void) {
  int n = 8;
  double *a = malloc(n * 8), *b = malloc(n * 8), *c = malloc(n * 8);
  for (int i = 0; i < n; i++) a[i] = i;
  for (int i = 0; i < n; i++) b[i] = i;
  scale(n, a);
  scale(n, b);
  for (int i = 0; i < n; i++) c[i] = a[i] + b[n - 1 - i];
  printf("%g\\n", c[3]);
}
"""


def test_independent_tasks_could_run_at_once_and_reversed_reads_cross_all_nodes() -> None:
    graph = tasks_of(INDEPENDENT)
    assert 1.2 < graph.parallelism() < 2
    last = graph.kernels[-1]
    assert ("b", "read", "all") in mappers(last)  # no built-in mapper goes backwards
    (edge,) = [e for e in graph.edges if e.buffer == "b" and graph.tasks[e.sink].name == last.name]
    assert edge.moved_bytes == (64, 64)  # all of 8 elements belong to somebody else


GATHER = """
int main(void) {
  int n = 16, *index = malloc(n * sizeof *index);
  double *x = malloc(n * 8), *y = malloc(n * 8);
  for (int i = 0; i < n; i++) { x[i] = i; index[i] = i * 7 % n; }
  for (int i = 0; i < n; i++) y[i] = x[index[i]];
  printf("%g\\n", y[3]);
}
"""


def test_elements_that_depend_on_data_are_irregular() -> None:
    graph = tasks_of(GATHER)
    found = mappers(graph.kernels[-1])
    assert ("x", "read", "irregular") in found
    assert ("index", "read", "one-to-one") in found
    (edge,) = [e for e in graph.edges if e.buffer == "x"]
    crossing = sum((i * 7 % 16) // 8 != i // 8 for i in range(16))
    assert edge.needed_bytes[0] == 8 * crossing
    assert not [e for e in graph.edges if e.buffer == "index"]  # addresses are no flows


SWEEPS = """
int main(void) {
  int n = 12;
  double *a = malloc(n * 8);
  static double total;
  for (int i = 0; i < n; i++) a[i] = i;
  for (int i = 1; i < n; i++) a[i] += a[i - 1];
  for (int i = 0; i < n; i++) total += a[i];
  printf("%g\\n", total);
}
"""


def test_recurrences_are_ordered_and_sums_are_combined() -> None:
    graph = tasks_of(SWEEPS)
    assert [k.order for k in graph.kernels] == ["any", "ordered", "reduction"]
    assert graph.kernels[1].range == ((1, 12),)
    within = [e for e in graph.edges if e.source == e.sink]
    assert [(e.buffer, e.moved_bytes) for e in within] == [("a", (8, 3 * 8))]  # one element per border


SWEPT = """
void rows(int n, double *u, double *c) {
  for (int i = 0; i < n; i++) {
    c[0] = u[i * n];
    for (int j = 1; j < n; j++) c[j] = c[j - 1] * 0.5 + u[i * n + j];
    u[i * n + n - 1] = c[n - 1];
    for (int j = n - 2; j >= 0; j--) u[i * n + j] = c[j] - u[i * n + j + 1];
  }
}
int main(void) {
  int n = 8;
  double *u = malloc(n * n * 8), *c = malloc(n * 8);
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) u[i * n + j] = i + j;
  for (int t = 0; t < 2; t++) rows(n, u, c);
  printf("%g\\n", u[3]);
}
"""


def test_lines_that_are_swept_are_slices_and_their_scratch_row_is_workspace() -> None:
    swept = kernel(tasks_of(SWEPT), "rows")
    assert swept.range == ((0, 8),)  # a line of items, although one store writes the last column only
    assert mappers(swept) == {("u", "read", "slice(1)"), ("u", "write", "slice(1)")}


PLANES = """
int main(void) {
  int n = 12;
  double *a = malloc(n * n * 8), *b = malloc(n * 8);
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = i - j;
  for (int i = 1; i < n - 1; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += a[(i - 1) * n + j] + a[(i + 1) * n + j];
    b[i] = sum;
  }
  printf("%g\\n", b[3]);
}
"""


def test_whole_rows_of_neighbours_are_a_neighborhood_as_wide_as_the_row() -> None:
    graph = tasks_of(PLANES)
    assert ("a", "read", "neighborhood(1,11)") in mappers(graph.kernels[-1])


COPIES = """
#include <string.h>
int main(void) {
  int n = 8;
  double *a = malloc(n * 8), *b = malloc(n * 8), *c = malloc(n * 8);
  memset(a, 0, n * 8);
  for (int i = 0; i < n; i++) b[i] = a[i] + i;
  memcpy(c, b, n * 8);
  for (int i = 0; i < n; i++) a[i] = c[i] * 2;
  printf("%g\\n", a[3]);
}
"""


def test_filling_and_copying_calls_are_kernels() -> None:
    graph = tasks_of(COPIES)
    assert len(graph.kernels) == 4
    assert mappers(graph.kernels[0]) == {("a", "write", "one-to-one")}
    assert mappers(graph.kernels[2]) == {("b", "read", "one-to-one"), ("c", "write", "one-to-one")}
    assert graph.moved_bytes() == (0, 8)  # the host prints a[3], which the second of four nodes has


def test_functions_can_be_the_tasks() -> None:
    graph = find_tasks(compiled(STEPS, "smooth"), ["2"], regions=frozenset({"smooth"}))
    assert kernel(graph, "smooth").executions == 2
    assert kernel(graph, "smooth").range == ((1, 17),)


AGAIN = """
void moved(int n, double *u) {
  double *new = malloc(n * 8);
  for (int i = 0; i < n; i++) new[i] = u[i] + 1;
  for (int i = 1; i < n; i++) u[i] = new[i - 1];
}
int main(int c, char **v) {
  double u[16], *new = malloc(128);
  for (int i = 0; i < 16; i++) u[i] = new[i] = i * c;
  moved(16, u), moved(16, new);
  printf("%g %g\\n", u[3], new[3]);
}
"""


def test_buffers_of_one_name_say_where_they_are_made() -> None:
    """Lines of both calls of malloc; the second block of one of them has a number."""
    buffers = {access.buffer for k in tasks_of(AGAIN).tasks for access in k.accesses}
    assert buffers == {"u", "new (program.c:6)", "new (program.c:6)#2", "new (program.c:11)"}


VECTORS = """
#include <cstdio>
#include <vector>
struct Grid {
  int n;
  std::vector<double> u, v;
  void init(int m) { n = m; u.resize(m); v.assign(m, 0.0); }
  void step() { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1]; u.swap(v); }
};
int main(int argc, char **) {
  Grid s;
  s.init(14 + 2 * argc);
  for (int i = 0; i < s.n; i++) s.u[i] = i;
  for (int t = 0; t < 3; t++) s.step();
  std::vector<double> copy = s.u;
  std::printf("%g\\n", copy[3]);
}
"""


def test_swapped_vectors_are_members_and_their_construction_is_no_kernel(tmp_path: Path) -> None:
    (source := tmp_path / "program.cpp").write_text(VECTORS)
    graph = find_tasks(compile_request(AnalysisRequest(sources=(source,)))[1])
    assert [(k.name, mappers(k)) for k in graph.kernels][:2] == [
        ("main", {("s.u", "write", "one-to-one")}),
        ("step", {("s.u", "read", "neighborhood(1)"), ("s.v", "write", "one-to-one")}),
    ]
    assert {e.buffer for e in graph.edges} <= {"s.u", "s.v", "copy"}


MARKED = """
#include "commanalyzer.h"
int main(void) {
  int n = 8;
  double *a = calloc(n, 8), *b = calloc(n, 8);
  for (int t = 0; t < 3; t++) {
    COMMANALYZER_BEGIN("step");
    for (int i = 0; i < n; i++) a[i] = b[i] + t;
    for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];
    COMMANALYZER_END("step");
  }
  printf("%g\\n", b[3]);
}
"""


def test_marked_regions_can_be_the_tasks() -> None:
    graph = find_tasks(compiled(MARKED, "step"), regions=frozenset({"step"}))
    assert [t.name for t in graph.tasks] == ["host", "step", "step", "step", "host"]  # calloc is the host's
    assert {e.buffer for e in graph.edges if 0 < e.source < e.sink < 4} == {"b"}


@pytest.mark.parametrize(
    ("text", "regions", "message"),
    [
        ('int main(void) { puts("no loop"); }', frozenset[str](), "found none that ran"),
        (STEPS, frozenset({"absent"}), "expected region absent to be executed"),
    ],
)
def test_programs_without_kernels_are_refused(text: str, regions: frozenset[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_tasks(compiled(text), regions=regions)


def test_numbers_of_nodes_are_checked() -> None:
    with pytest.raises(ConfigError, match="from 1 on, found 0"):
        find_tasks(compiled(STEPS), nodes=(0,))
