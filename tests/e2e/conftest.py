"""Analyses of the workloads, each made once per test session."""

from collections.abc import Callable, Sequence
from typing import Literal

import pytest

import commanalyzer as ca
from tests.native import ROOT

Analyse = Callable[..., ca.AnalysisResult]
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
Model = Literal["volume", "hpdc18"]


@pytest.fixture(scope="session")
def analysed() -> Analyse:
    """Analyse a workload with all conservation laws checked, or return it if already done."""
    done: dict[tuple[object, ...], ca.AnalysisResult] = {}
    both: tuple[Model, ...] = ("volume", "hpdc18")

    def analyse(
        name: str,
        *args: str | int,
        nodes: Sequence[int] = (4, 16),
        region: str = "",
        models: tuple[Model, ...] = both,
    ) -> ca.AnalysisResult:
        key = (name, args, tuple(nodes), region, models)
        if key not in done:
            done[key] = ca.analyze(
                next((ROOT / "workloads" / name).glob(f"{name}.c*")),
                args,
                nodes=nodes,
                model=models,
                regions=[region] if region else [],
                program_output="discard",
                check=True,
            )
        return done[key]

    return analyse


@pytest.fixture(scope="session")
def main_loop(analysed: Analyse) -> Analyse:
    """Analyse the main loop of a workload, each once."""

    def analyse(name: str, *arguments: str | int) -> ca.AnalysisResult:
        region, nodes = MAIN_LOOP[name]
        models: tuple[Model, ...] = (
            ("volume",) if name in ("cg", "pagerank", "adi", "pic") else ("volume", "hpdc18")
        )
        return analysed(name, *arguments, nodes=nodes, region=region, models=models)

    return analyse
