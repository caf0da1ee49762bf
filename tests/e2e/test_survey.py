"""The recorder's survey of its log finds the workspaces that the graph of the same recording shows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.library_files import library_with
from commanalyzer.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.runtime.build import build_instrumented
from commanalyzer.runtime.launch import run_target
from commanalyzer.trace.reader import read_trace
from commanalyzer.validation.cases import read_cases
from commanalyzer.vcg.build import build_store
from commanalyzer.vcg.workspaces import (
    find_workspaces,
    read_workspaces,
    workspace_pieces,
    write_site_widths,
)
from tests.native import ROOT
from tests.shim.conftest import compile_c

# In front of the trace: when that is written, the log is given up.
_SURVEY = """
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
_Bool ca_survey(const char *path, const uint8_t *site_widths, uint64_t num_sites);
void ca_repeats_settle(void);
static void survey(void) {
  static uint8_t widths[1 << 20];
  int file = open(getenv("TEST_WIDTHS"), O_RDONLY);
  ssize_t count = read(file, widths, sizeof widths);
  ca_repeats_settle();
  ca_survey(getenv("TEST_FOUND"), widths, (uint64_t)count);
}
__attribute__((constructor)) static void prepare(void) { atexit(survey); }
"""


def surveyed(request: AnalysisRequest) -> tuple[list[object], list[object]]:
    """Pieces of workspaces: found by the recorder, and in the graph."""
    frontend, module = compile_request(request)
    plan = plan_module(module, PlanOptions(True, frontend.region_functions, library_with()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "survey.c").write_text(_SURVEY)
        survey = folder / "survey.o"
        compile_c("-fPIC", "-fno-sanitize=all", "-c", str(folder / "survey.c"), "-o", str(survey))
        instrumented = build_instrumented(rewrite(module, plan), frontend, (str(survey),))
        trace, found, widths = (folder / each for each in ("trace", "found", "widths"))
        write_site_widths(widths, plan.sites)
        environment = {
            "COMMANALYZER_TRACE": str(trace),
            "TEST_WIDTHS": str(widths),
            "TEST_FOUND": str(found),
        }
        run_target(instrumented, request.arguments, environment=environment, capture=True)
        recorded = read_trace(trace)
        store = build_store(recorded, plan.sites)
        mask = find_workspaces(store)
        pieces = workspace_pieces(store.vertices(), mask, plan.sites, recorded)
        native = read_workspaces(found) if found.exists() else np.zeros(0, pieces.dtype)
        return native.tolist(), pieces.tolist()


_WORKLOADS = [
    pytest.param(("adi", "32", "20"), 1, id="adi"),
    pytest.param(("heat2d", "16", "20"), 0, id="heat2d", marks=pytest.mark.slow),
    pytest.param(("kmeans", "200", "4", "3", "10"), 0, id="kmeans", marks=pytest.mark.slow),
    pytest.param(("pic", "16", "4", "8", "4"), 1, id="pic", marks=pytest.mark.slow),
    pytest.param(("fem2d", "16", "10"), 1, id="fem2d", marks=pytest.mark.slow),
    pytest.param(("hydro3d", "6", "6"), 1, id="hydro3d", marks=pytest.mark.slow),
    pytest.param(("pagerank", "400", "smallworld", "4", "10"), 0, id="pagerank", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("command", "fewest"), _WORKLOADS)
def test_the_recorder_finds_the_workspaces_of_the_graph(command: tuple[str, ...], fewest: int) -> None:
    case = next(w for w in read_cases(ROOT / "workloads" / "validation.toml") if w.name == command[0])
    compiler = CompilerOptions(flags=case.flags)
    native, expected = surveyed(
        AnalysisRequest(case.sources, command[1:], (4,), ("volume",), compiler=compiler)
    )
    assert native == expected
    assert len(native) >= fewest


def surveyed_text(text: str, folder: Path) -> tuple[list[object], list[object]]:
    """As :func:`surveyed`, of a program without arguments."""
    source = folder / "program.c"
    source.write_text(text)
    return surveyed(AnalysisRequest((source,), (), (2,), ("volume",)))


_PROGRAM = """
#include <stdlib.h>
#include <string.h>
#define N 100
static double x[N + 16], y[N + 16], buffer[16], pair[2], row[12];
static struct { int low, high; } halves[2];
static double sum;
__attribute__((noinline)) static void fill(const double *from, double *to, int count) {
  for (int k = 0; k < count; k++) to[k] = from[k] * 0.5;
}
int main(int argc, char **argv) {
  double *heap = malloc(4 * sizeof(double));
  for (int i = 0; i < N + 16; i++) x[i] = i;
  for (int step = 0; step < 3; step++) {
    for (int e = 0; e < N; e++) {
      fill(x + e, buffer, 10 + argc); /* a range */
      fill(x + e % 7, row, 9);
      row[argc] = x[e] * 0.5;
      pair[0] = buffer[2] + buffer[argc];
      pair[1] = pair[0] * pair[0];
      halves[1].low = (int)x[e] + argc;
      halves[1].high = (int)x[e + 1] * argc;
      memcpy(heap, halves, sizeof halves);
      heap[2] = pair[1] + halves[1].low;
      heap[3] += x[e];
      memset(&heap[2], 0, argc > 5 ? 8 : 0);
      sum = 0;
      for (int k = 0; k < 12; k++) sum += buffer[k] * x[e + k];
      y[e] = heap[2] * sum + heap[3] + row[3];
    }
    memset(x, 0, 8 * argc);
    for (int e = 0; e < N; e++) x[e + 1] = y[e] * 0.001;
  }
  return y[50] == 0.125;
}
"""


def test_words_of_all_kinds_are_judged_as_in_the_graph(tmp_path: Path) -> None:
    """Ranges, reductions, values that are updated, halves of words, fills, the heap."""
    native, expected = surveyed_text(_PROGRAM, tmp_path)
    assert native == expected
    assert len(native) > 10


_QUEUE = """
#define N 100
static double x[N], y[N], queue[3];
__attribute__((noinline)) static double push(double value) {
  double last = queue[2] * 0.5;
  queue[2] = queue[1] * 0.5;
  queue[1] = queue[0] * 0.5;
  queue[0] = value * 0.5;
  return last;
}
int main(void) {
  for (int e = 0; e < N; e++) x[e] = e;
  for (int step = 0; step < 3; step++)
    for (int e = 0; e < N; e++) y[e] = push(x[e]);
  return y[50] == 0.125;
}
"""


def test_words_that_were_read_before_they_are_known_to_be_workspaces(tmp_path: Path) -> None:
    """The log names each reader in front of what it reads, so it takes a walk for each word."""
    native, expected = surveyed_text(_QUEUE, tmp_path)
    assert native == expected
    assert len(native) == 3
