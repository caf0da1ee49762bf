"""The workloads as programs, and their analyses, each made once per test session."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import commanalyzer as ca
from tests.e2e.mpi_programs import compile_mpi
from tests.native import ROOT, NativeRun, compile_native, run

Analyse = Callable[..., ca.AnalysisResult]
Workload = Callable[..., NativeRun]
MpiProgram = Callable[[str], Path]
# Function and node counts of the theory of each workload; paper Section 6 has the first five, in both models.
MAIN_LOOP = {
    "heat2d": ("heat_solve", (4, 16)),
    "stencil3d": ("stencil_run", (8,)),
    "kmeans": ("kmeans", (4, 16)),
    "spmv": ("spmv_iterate", (4, 16)),
    "matmul": ("matmul", (4, 16)),
    "cg": ("cg_solve", (4, 16)),
    "pagerank": ("pagerank", (4, 16)),
    "adi": ("adi_solve", (4,)),
    "pic": ("pic_run", (4,)),
    "fem2d": ("fem_run", (4,)),
    "hydro3d": ("hydro_run", (4,)),
}
BOTH = ("volume", "hpdc18")


def source_of(name: str) -> Path:
    """The one file of a workload."""
    (source,) = (ROOT / "workloads" / name).glob(f"{name}.c*")
    return source


# Trapping checks, and sums that are rounded alike in sequential and MPI programs.
_CHECKS = (
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=undefined",
    "-fsanitize-trap=undefined",
    "-ffp-contract=off",
)


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    """Compile a workload on first use and run it."""
    folder = tmp_path_factory.mktemp("workloads")
    compiled = cache(lambda name: compile_native(source_of(name), folder / name, *_CHECKS))
    return lambda name, *arguments: run(compiled(name), *arguments)


@pytest.fixture(scope="session")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> MpiProgram:
    """The MPI counterpart of a workload, compiled on first use."""
    folder = tmp_path_factory.mktemp("mpi")
    return cache(lambda name: compile_mpi(name, folder, *_CHECKS))


@pytest.fixture(scope="session")
def analysed() -> Analyse:
    """Analyse a workload with all conservation laws checked, or return it if already done."""
    done: dict[tuple[object, ...], ca.AnalysisResult] = {}

    def analyse(name: str, *args: str | int, region: str = "", **options: Any) -> ca.AnalysisResult:
        options = {"nodes": (4, 16), "model": BOTH, "regions": (region,) if region else (), **options}
        key = (name, args, *sorted(options.items()))
        if key not in done:
            done[key] = ca.analyze(source_of(name), args, program_output="discard", check=True, **options)
        return done[key]

    return analyse


@pytest.fixture(scope="session")
def main_loop(analysed: Analyse) -> Analyse:
    """Analyse the main loop of a workload, each once."""

    def analyse(name: str, *arguments: str | int) -> ca.AnalysisResult:
        region, nodes = MAIN_LOOP[name]
        model = ("volume",) if name in ("cg", "pagerank", "adi", "pic") else BOTH
        return analysed(name, *arguments, nodes=nodes, region=region, model=model)

    return analyse
