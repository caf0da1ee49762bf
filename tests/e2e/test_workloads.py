"""The workloads compute what their READMEs say: outputs against closed forms and independent models."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e import irregular_models as models
from tests.e2e import theory
from tests.e2e.conftest import Workload
from tests.native import numbers

Doubles = NDArray[np.float64]


def scramble(index: NDArray[np.int64]) -> Doubles:
    """The workloads' pseudo-random numbers in [0, 1) (32-bit integer arithmetic)."""
    return models.scramble(index) / 2.0**32


@pytest.mark.parametrize("mode", ["copy", "swap"])
@pytest.mark.parametrize(
    "case", ["heat2d 5 0", "heat2d 9 3", "heat2d 64 20", "stencil3d 5 0", "stencil3d 8 3", "stencil3d 16 10"]
)
def test_first_mode_decays_by_its_eigenvalue(workload: Workload, case: str, mode: str) -> None:
    name, *sizes = case.split()
    n, steps = map(int, sizes)
    in_plane = 1.0 - 8.0 * 0.2 * math.sin(math.pi / (2 * (n + 1))) ** 2
    in_space = (1.0 + 6.0 * math.cos(math.pi / (n + 1))) / 7.0
    factor, dimensions = (in_plane, 2) if name == "heat2d" else (in_space, 3)
    mode_1d = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    expected = [factor**steps * of**dimensions for of in (mode_1d.sum(), mode_1d[(n + 1) // 2 - 1])]
    found = numbers(workload(name, n, steps, mode), ("sum", "centre"))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 7, 40])
def test_matmul_is_exact(workload: Workload, n: int) -> None:
    i, j = np.indices((n, n))
    c = ((i + 1) * (j + 2) % 7) @ ((i + 2) * (j + 1) % 5 - 2)
    assert numbers(workload("matmul", n), ("sum", "trace")) == [c.sum(), np.trace(c)]


def csr_matrix(columns: list[list[int]]) -> Doubles:
    """The dense form of the workload's matrix with the given columns per row."""
    n = len(columns)
    matrix = np.zeros((n, n))
    entry = 0
    for i, row in enumerate(columns):
        values = (scramble(np.arange(entry, entry + len(row))) - 0.25) / len(row)
        matrix[i, row] = values
        entry += len(row)
    return matrix


def random_columns(n: int, per_row: int) -> list[list[int]]:
    """One column in each of ``per_row`` sections of every row, by the index of the entry."""
    begin = np.arange(per_row) * n // per_row
    length = (np.arange(per_row) + 1) * n // per_row - begin
    mixed = models.scramble(np.arange(1, n * per_row + 1).reshape(n, per_row))
    return [list(map(int, row)) for row in begin + mixed % length]


@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("pattern", ["dense", "banded", "random"])
def test_spmv_agrees_with_a_dense_product(workload: Workload, pattern: str, iterations: int) -> None:
    n, per_row = 40, 6
    band = [list(range(max(0, i - 3), min(n, i + 4))) for i in range(n)]
    columns = {"dense": [list(range(n))] * n, "banded": band, "random": random_columns(n, per_row)}[pattern]
    matrix = csr_matrix(columns)
    x = 1.0 + 0.5 * scramble(np.arange(n) + 0x9E3779B9)
    for _ in range(iterations - 1):
        x = 0.5 * (x + matrix @ x)
    y = matrix @ x
    result = workload("spmv", n, pattern, per_row, iterations)
    assert numbers(result, ("entries",)) == [sum(map(len, columns))]
    assert numbers(result, ("sum", "last")) == pytest.approx([y.sum(), y[-1]], rel=1e-9)


def test_spmv_banded_entries_are_those_of_the_theory(workload: Workload) -> None:
    entries = numbers(workload("spmv", 100, "banded", 9, 1), ("entries",))
    assert entries == [theory.spmv_banded_entries(100, 4)]


def lloyd(n: int, m: int, k: int, iterations: int) -> tuple[NDArray[np.int64], Doubles, Doubles]:
    """Labels, centroids and objects after ``iterations`` of Lloyd's algorithm on the workload's data."""
    objects = scramble(np.arange(1, n * m + 1)).reshape(n, m)
    centroids = objects[np.arange(k) * (n // k)].copy()
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(iterations):
        labels = ((objects[:, None, :] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
        centroids = np.array([objects[labels == c].mean(axis=0) for c in range(k)])
    return labels, centroids, objects


@pytest.mark.parametrize(("n", "m", "k", "iterations"), [(200, 3, 4, 1), (500, 8, 5, 4)])
def test_kmeans_agrees_with_lloyd(workload: Workload, n: int, m: int, k: int, iterations: int) -> None:
    labels, centroids, objects = lloyd(n, m, k, iterations)
    result = workload("kmeans", n, m, k, iterations)
    weighted = ((np.arange(n) + 1) * (labels + 1)).sum()
    assert numbers(result, ("labels", "members")) == [weighted, (labels == 0).sum()]
    inertia = ((objects - centroids[labels]) ** 2).sum()
    assert numbers(result, ("inertia",)) == pytest.approx([inertia], rel=1e-9)


@pytest.mark.parametrize("p", [4, 16])
def test_kmeans_parts_own_members_of_every_cluster(p: int) -> None:
    # The assumption of theory.kmeans_bytes, for the arguments of the README.
    n, m, k = 2000, 8, 5
    for iteration in range(1, 6):
        labels = lloyd(n, m, k, iteration)[0]
        assert all(len(np.unique(block)) == k for block in np.array_split(labels, p))
