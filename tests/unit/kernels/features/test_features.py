"""Static counts by hand, measured counts against the interpreter's own, and what is a kernel."""

import json
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.cli.main import main
from commanalyzer.kernels.features.kernels import COUNTED, PLACE, KernelFeatures, find_kernels, run_kernels
from commanalyzer.kernels.learning.inputs import TaskWeight, weights
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.interpreter.run import interpret
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest

ROOT = Path(__file__).resolve().parents[4]
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
void axpy(int n, double *y, const double *x) { for (int i = 0; i < n; i++) y[i] += 2.5 * x[i]; }
void known(int n, float *y, const float *x) {
  for (int i = 0; i < n; i++) { float s = 0; for (int k = 0; k < 7; k++) s += x[i * 7 + k]; y[i] = s / 3.0f; }
}
void columns(int n, double *y, const double *x) {
  for (int i = 0; i < n; i++) { double s = 0; for (int k = 0; k < n; k++) s += x[i * n + k]; y[i] = s; }
}
double total(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 6;
  double *x = malloc(n * n * 8), *y = malloc(n * 8);
  float *f = malloc(7 * n * 4), *g = malloc(n * 4);
  for (int i = 0; i < n * n; i++) x[i] = i;
  for (int i = 0; i < n; i++) y[i] = i;
  for (int i = 0; i < 7 * n; i++) f[i] = i;
  for (int t = 0; t < 3; t++) axpy(n, y, x);
  known(n, g, f); columns(n, y, x);
  printf("%g %g\n", total(n, y), g[0]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("features") / "kernels.c"
    path.write_text(SOURCE)
    return compile_request(AnalysisRequest(sources=(path,)))[1]


@pytest.fixture(scope="module")
def kernels(module: Module) -> dict[str, KernelFeatures]:
    return {k.name.partition(":")[0]: k for k in run_kernels(module, ("6",))}


def count(kernel: KernelFeatures, kind: str) -> float:
    return float(kernel.counts[PLACE[kind]])


def test_one_item_of_a_flat_kernel_counts_once(kernels: dict[str, KernelFeatures]) -> None:
    found = kernels["axpy"]
    assert found.item_loops == 1
    assert [count(found, k) for k in ("load", "store", "f64_addsub", "f64_mul")] == [2, 1, 1, 1]
    assert found.static["coalesced"] == 1.0


def test_known_rounds_multiply_and_unknown_ones_count_a_hundred(kernels: dict[str, KernelFeatures]) -> None:
    found = kernels["known"]
    assert [count(found, k) for k in ("load", "f32_addsub", "f32_div", "store")] == [7, 7, 1, 1]
    found = kernels["columns"]
    assert [count(found, k) for k in ("load", "f64_addsub", "store")] == [100, 100, 1]
    assert found.static["coalesced"] == pytest.approx(1 / 101)  # rows of neighbouring items are n apart


def test_a_sum_is_one_item(kernels: dict[str, KernelFeatures]) -> None:
    assert kernels["total"].item_loops == 0
    assert kernels["total"].runtime["work_items"] == 1


def test_runs_are_counted_exactly(kernels: dict[str, KernelFeatures]) -> None:
    seen = kernels["axpy"].measured
    assert seen is not None
    assert (seen.launches, seen.items) == (3, 18)
    assert [seen.counts[PLACE[k]] for k in ("load", "store", "f64_mul")] == [36, 18, 18]
    assert (seen.input_bytes, seen.output_bytes) == ((48, 48), (48,))
    rows = kernels["columns"].measured
    assert rows is not None
    assert rows.counts[PLACE["load"]] == 36
    assert rows.input_bytes == (288,)


def test_all_loads_of_the_run_are_in_kernels(module: Module, kernels: dict[str, KernelFeatures]) -> None:
    run = interpret(module, ("6",))
    loads = sum(k.measured.counts[PLACE["load"]] for k in kernels.values() if k.measured is not None)
    assert loads == run.loads - 2  # the argument and g[0]


def test_shares_are_shares(kernels: dict[str, KernelFeatures]) -> None:
    for kernel in kernels.values():
        static = kernel.static
        assert all(0 <= static[name] <= 1 for name in static if name != "total")
        assert np.isclose(kernel.counts[: PLACE["total"]].sum(), kernel.counts[PLACE["total"]])
        assert len(kernel.counts) == len(COUNTED)


def test_weights_of_the_paper_for_syrk() -> None:
    """Section 4.2: 3 and 903 instructions over as many items are 0.003 and 0.997."""
    printed = weights([TaskWeight(8194.0**2, 3), TaskWeight(8194.0**2, 903)])
    assert [f"{w:.3f}" for w in printed] == ["0.003", "0.997"]
    path = ROOT / "workloads" / "tasks" / "syrk.c"
    _, module = compile_request(AnalysisRequest(sources=(path,)))
    own = {k.name.partition(":")[0]: count(k, "total") for k in find_kernels(module)}
    found = weights([TaskWeight(8194.0**2, own[f"syrk_{part}"]) for part in ("scale", "product")])
    assert [f"{w:.3f}" for w in found] == ["0.003", "0.997"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "flat.c"
    source.write_text("int main(void) { return 0; }\n")
    assert main(["features", str(source)]) == 0
    assert "no loop, hence no kernel" in capsys.readouterr().out
    assert main(["features", str(source), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "commanalyzer.features/1", "kernels": []}
