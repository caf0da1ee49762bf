"""The formulas of ``tests.e2e.theory`` against counting on small instances.

The count is the definition itself: for every value, the number of parts other than its owner that read it
(expand) or add to it (fold).
"""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e import irregular_models as models
from tests.e2e import theory

Ints = NDArray[np.int64]


def expand_words(owner: Ints, reads: Iterable[tuple[int, int]]) -> int:
    """Distinct (value, remote part) pairs; ``reads`` are (value, part) with repetitions."""
    return len({(value, part) for value, part in reads if owner[value] != part})


def block_of(n: int, parts: int) -> Ints:
    """Part of each of n indices divided into contiguous blocks."""
    return np.arange(n) * parts // n


def stencil_words(n: int, dimensions: int, owner: Ints) -> int:
    """Words of the star stencil with radius one, whose points read what their rows of its matrix have."""
    reader, value = np.nonzero(models.poisson(n, dimensions))
    return models.remote_readers(owner, value, reader)


def grid_owner(n: int, parts: tuple[int, ...]) -> Ints:
    """Owner of every point of an n^d grid in blocks, flattened."""
    where = [block_of(n, count) for count in parts]
    return np.ravel_multi_index(np.meshgrid(*where, indexing="ij"), parts).ravel()


@pytest.mark.parametrize("n", [4, 7, 12])
@pytest.mark.parametrize("parts", [(1, 1), (2, 2), (3, 3), (4, 1), (1, 3), (4, 2)])
def test_heat2d_blocks_send_two_rows_of_points_per_cut(n: int, parts: tuple[int, int]) -> None:
    owner = grid_owner(n, parts)
    assert theory.heat2d_words_per_step(n, *parts) == stencil_words(n, 2, owner)


@pytest.mark.parametrize(("n", "p"), [(2, 2), (3, 3), (4, 2)])
def test_heat2d_no_balanced_division_beats_the_lower_bound(n: int, p: int) -> None:
    size = n * n // p
    best = min(stencil_words(n, 2, owner) for owner in balanced_divisions(n * n, p, size))
    assert best >= theory.heat2d_lower_bound_per_step(n, p) - 1e-9
    assert best <= theory.heat2d_words_per_step(n, p, 1)


def balanced_divisions(points: int, p: int, size: int) -> Iterable[Ints]:
    """All ways to give ``points`` points to p parts of ``size`` points, up to the numbering of the parts."""

    def extend(owner: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
        if len(owner) == points:
            yield owner
            return
        for part in range(min(p, max(owner, default=-1) + 2)):
            if owner.count(part) < size:
                yield from extend((*owner, part))

    return (np.array(owner, dtype=np.int64) for owner in extend(()))


def test_matmul_cubes_reach_the_fold_bound() -> None:
    n, q = 4, 2
    part = {
        (i, j, k): (i // 2 * q + j // 2) * q + k // 2 for i, j, k in itertools.product(range(n), repeat=3)
    }
    touched = {
        (name, x, y, r)
        for (i, j, k), r in part.items()
        for name, x, y in (("a", i, k), ("b", k, j), ("c", i, j))
    }
    # Every element is at home in one of the q parts that touch it; each further part is one word.
    assert len(touched) - 3 * n * n == pytest.approx(theory.matmul_fold_bound(n, q**3))


def spmv_reads(columns: list[list[int]], rows: Ints) -> list[tuple[int, int]]:
    return [(j, int(rows[i])) for i, row in enumerate(columns) for j in row]


def dense_grid_words(n: int, rows: int, columns: int) -> int:
    """Words of a product with a dense matrix on a grid of parts: x_j where it is read, sums where y_i is.

    x_i and y_i are where the diagonal of the matrix is.
    """
    i, j = np.indices((n, n)).reshape(2, -1)
    part = block_of(n, rows)[i] * columns + block_of(n, columns)[j]
    diagonal = part[:: n + 1]
    reads, sums = (zip(index.tolist(), part.tolist(), strict=True) for index in (j, i))
    return expand_words(diagonal, reads) + expand_words(diagonal, sums)


@pytest.mark.parametrize("p", [1, 2, 4, 6, 8])
def test_spmv_dense_on_the_best_grid_sends_along_its_rows_and_columns(p: int) -> None:
    n = 24
    grids = [(rows, p // rows) for rows in range(1, p + 1) if p % rows == 0]
    words = [dense_grid_words(n, *grid) for grid in grids]
    assert words == [n * (rows - 1 + columns - 1) for rows, columns in grids]
    assert theory.spmv_dense_words(n, p) == min(words)


@pytest.mark.parametrize(("n", "p", "half"), [(12, 3, 1), (12, 3, 4), (16, 4, 0), (17, 4, 3), (12, 1, 5)])
def test_spmv_banded_sends_the_half_band_both_ways(n: int, p: int, half: int) -> None:
    rows = block_of(n, p)
    columns = [list(range(max(0, i - half), min(n, i + half + 1))) for i in range(n)]
    assert theory.spmv_banded_words(n, p, half) == expand_words(rows, spmv_reads(columns, rows))
    assert theory.spmv_banded_entries(n, half) == sum(map(len, columns))


def test_spmv_banded_refuses_blocks_smaller_than_the_band() -> None:
    with pytest.raises(ValueError, match="smaller than the half band"):
        theory.spmv_banded_words(16, 8, 3)


def test_spmv_random_expectation_matches_the_mean_of_many_matrices() -> None:
    n, p, per_row, trials = 64, 4, 4, 200
    rng = np.random.default_rng(1)
    rows = block_of(n, p)
    section = np.arange(per_row) * (n // per_row)
    counts = []
    for _ in range(trials):
        columns = (section + rng.integers(0, n // per_row, size=(n, per_row))).tolist()
        counts.append(expand_words(rows, spmv_reads(columns, rows)))
    expected = theory.spmv_random_expected_words(n, p, per_row)
    # Four standard errors of the mean.
    assert abs(np.mean(counts) - expected) < 4 * np.std(counts) / trials**0.5


def test_graph_sizes_are_those_of_the_papers_table_2() -> None:
    assert theory.heat2d_vcg_words(10) == 12 * 10**2
    assert theory.stencil3d_vcg_words(10) == 16 * 10**3
    assert theory.matmul_vcg_words(10) == 4 * (10**2) ** 1.5
