"""Analyses of the workloads, each made once per test session."""

from collections.abc import Callable, Sequence

import pytest

import commanalyzer as ca
from tests.native import ROOT

Analyse = Callable[..., ca.AnalysisResult]


@pytest.fixture(scope="session")
def analysed() -> Analyse:
    """Analyse a workload with both models and all conservation laws checked, or return it if already done."""
    done: dict[tuple[object, ...], ca.AnalysisResult] = {}

    def analyse(
        name: str, *args: str | int, nodes: Sequence[int] = (4, 16), region: str = ""
    ) -> ca.AnalysisResult:
        key = (name, args, tuple(nodes), region)
        if key not in done:
            done[key] = ca.analyze(
                ROOT / "workloads" / name / f"{name}.c",
                args,
                nodes=nodes,
                model=("volume", "hpdc18"),
                regions=[region] if region else [],
                program_output="discard",
                check=True,
            )
        return done[key]

    return analyse
