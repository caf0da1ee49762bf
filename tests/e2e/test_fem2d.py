"""fem2d: the program against its closed form, its MPI counterpart against the program and counted words."""

import math

import numpy as np
import pytest

from tests.e2e.conftest import Analyse, MpiProgram, Workload
from tests.e2e.mpi_programs import run_mpi
from tests.native import numbers

LABELS = ("sum", "norm", "momentum")
WORD = 8


def first_mode(n: int, steps: int) -> list[float]:
    """Outputs of the scheme for the first sine mode (README of the workload)."""
    h = 1.0 / n
    eigenvalue = 8.0 * math.sin(math.pi * h / 2.0) ** 2 / h**2
    u, v = 1.0, 0.0
    for _ in range(steps):
        v -= 0.5 * h * eigenvalue * u
        u += 0.5 * h * v
    total = (np.sin(np.pi * h * np.arange(n + 1)).sum() * h) ** 2
    return [u * total, u * u / 4.0, v * total]


def copies(n: int, q: int) -> int:
    """Copies of nodes in q x q blocks of n x n squares, less one per node."""
    return (n + q) ** 2 - (n + 1) ** 2


@pytest.mark.parametrize("order", ["ordered", "permuted"])
@pytest.mark.parametrize(("n", "steps"), [(2, 0), (5, 3), (32, 200)])
def test_the_first_mode_swings_as_computed_by_hand(
    workload: Workload, n: int, steps: int, order: str
) -> None:
    result = workload("fem2d", n, steps, order)
    assert numbers(result, LABELS) == pytest.approx(first_mode(n, steps), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_mpi_counterpart_agrees_and_sends_the_words_of_theory(mpi_program: MpiProgram, q: int) -> None:
    n, steps = 32, 10
    result = run_mpi(mpi_program("fem2d"), q * q, n, steps)
    assert numbers(result, LABELS) == pytest.approx(first_mode(n, steps), rel=1e-9)
    assert numbers(result, ("loop_bytes",)) == [WORD * steps * 2 * copies(n, q)]


def test_an_analysis_counts_the_work_of_the_nodes(analysed: Analyse) -> None:
    # 2 n^2 elements and (n + 1)^2 nodes: 4 W(8) - W(16) is the work of 4 * 81 - 289 = 35 nodes.
    steps = 4
    results = [analysed("fem2d", n, steps, nodes=(4,), region="fem_run") for n in (8, 16)]
    # v += dt * fixed * force / mass; u += dt * v
    assert 4 * results[0].work.flops - results[1].work.flops == steps * 35 * 6
    # Nodes in a permuted order: no blocks of them, but a table sends what squares of the mesh do.
    shown = results[1].decomposition(4)
    assert shown.method == "partition of s.u[289], others follow" and shown.is_balanced
    squares, once = WORD * steps * 2 * copies(16, 2), WORD * 2 * copies(16, 2) + 4 * 3
    assert shown.comm_bytes <= 1.1 * (squares + once)
