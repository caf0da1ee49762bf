"""The graph does not depend on the chunks that it is built in; the reference builds it from expanded rows."""

import subprocess
from pathlib import Path

import pytest

from commanalyzer.graph import build, homes
from commanalyzer.graph.build import build_store
from commanalyzer.graph.reading import tables
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.runtime import build_instrumented, run_target
from commanalyzer.recording.trace import read_trace
from tests.graphs import assert_same_graph
from tests.reference.build import build_graph as reference

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile int n = 12;
float mixed[40];
double total;
int main(void) {
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b), *far = malloc(1 << 20);
    memset(a, 0, n * n * sizeof *a);
    memset(mixed, 0, sizeof mixed);
    for (int i = 0; i < n * n; i++) b[i] = i * 0.5;
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            a[i * n + j] = b[i * n + j - 1] + b[i * n + j + 1] + (b[i * n + j] > 3 ? b[j] : a[j]);
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + i];
        far[i * 1000] = sum;
        mixed[i] = (float)sum;
        memcpy(&mixed[20 + 2 * (i % 3)], &far[i * 1000], 8);
        total += far[(i * 5 % n) * 1000] * mixed[i];
    }
    printf("%g %g\\n", total, mixed[21]);
    return 0;
}
"""


@pytest.mark.parametrize(("chunk", "dense_limit"), [(1, 1 << 28), (7, 1 << 28), (64, 0), (1 << 20, 0)])
def test_chunks_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, dense_limit: int
) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    frontend = compile_sources([source])
    module = parse_module(frontend.ir_text)
    plan = plan_module(module, PlanOptions())
    executable = build_instrumented(rewrite(module, plan), frontend)
    environment = {"COMMANALYZER_TRACE": str(tmp_path / "trace")}
    run_target(executable, (), stdin=subprocess.DEVNULL, capture=True, environment=environment)
    trace = read_trace(tmp_path / "trace")
    assert {int(f) for f in trace.heads["flags"]} >= {0, 3, 5} and len(trace.groups)
    for module_with_chunks in (tables, homes, build):
        monkeypatch.setattr(module_with_chunks, "CHUNK", chunk)
    monkeypatch.setattr(homes, "_DENSE_LIMIT", dense_limit)
    store = build_store(trace, plan.sites, spill=Spill(budget_bytes=chunk))
    assert (store.spilled_bytes > 0) is (chunk < store.nbytes)
    assert_same_graph(store.graph(), reference(trace, plan.sites))
    assert store.num_rows > 300
