"""Hubs: found where programs have collectives, not found where they have meshes and vectors."""

from collections.abc import Sequence

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.structure.hubs import find_hubs
from tests.graphs import Row, build, chain, folded, grid, row


def found(num_vertices: int, rows: list[Row], registers: Sequence[int] = ()) -> list[int]:
    mask = find_hubs(build(num_vertices, rows, registers=registers))
    return [int(v) for v in np.flatnonzero(mask)]


def test_stencils_have_none() -> None:
    assert not find_hubs(chain(64)).any()
    assert not find_hubs(grid(12)).any()
    assert not find_hubs(grid(12, fold=True)).any()


def test_parameter_of_a_stencil() -> None:
    n = 50
    rows = [row(n + i, i, (i + 1) % n, 2 * n) for i in range(n)]
    assert found(2 * n + 1, rows) == [2 * n]


def test_sparse_vectors_with_ten_entries_per_row_are_ordinary() -> None:
    n, width = 200, 10
    rng = np.random.default_rng(7)
    columns = [rng.choice(n, width, replace=False).tolist() for _ in range(n)]
    entry = 2 * n
    rows = [folded(n + i, *([entry + i * width + k, columns[i][k]] for k in range(width))) for i in range(n)]
    assert found(entry + n * width, rows) == []


def test_dense_vectors_are_ordinary() -> None:
    n = 40
    rows = [folded(n + i, *([2 * n + i * n + j, j] for j in range(n))) for i in range(n)]
    assert found(2 * n + n * n, rows) == []


def test_matmul_has_none() -> None:
    n = 12
    rows = [
        folded(2 * n * n + i * n + j, *([i * n + k, n * n + k * n + j] for k in range(n)))
        for i, j in np.ndindex(n, n)
    ]
    assert found(3 * n * n, rows) == []


def test_norm_and_scalar_of_cg() -> None:
    # r, p and q of length n; rr and alpha in memory; alpha also lives in a register read by every element.
    n = 60
    r, p, q, rr, pq, alpha = 0, n, 2 * n, 3 * n, 3 * n + 1, 3 * n + 2
    rows = [folded(q + i, [p + i], [p + (i + 1) % n], [p + (i - 1) % n], count=3) for i in range(n)]
    rows += [folded(pq, *([p + i, q + i] for i in range(n)), count=3)]
    rows += [row(alpha, rr, pq, count=3)]
    rows += [folded(r + i, [alpha, q + i], accumulates=True, count=3) for i in range(n)]
    rows += [folded(rr, *([r + i] for i in range(n)), count=3)]
    rows += [folded(p + i, [r + i], [rr, p + i - 1 if i else p + n - 1], count=3) for i in range(n)]
    assert found(3 * n + 3, rows, registers=[alpha]) == [rr, pq, alpha]


def test_histogram_bins_even_when_they_outnumber_the_items_of_a_bin() -> None:
    items, bins = 1000, 64
    rows = [folded(items + (7 * i) % bins, [(i, SourceRole.ADDRESS)], accumulates=True) for i in range(items)]
    assert found(items + bins, rows) == list(range(items, items + bins))


def test_a_plain_sum_keeps_its_items() -> None:
    n = 30
    assert found(n + 1, [folded(n, *([i] for i in range(n)))]) == [n]


def test_factor_of_a_sum_does_not_hide_the_sum() -> None:
    n = 30
    assert found(n + 2, [folded(n, *([n + 1, i] for i in range(n)))]) == [n]


def test_kmeans_centroids_sums_and_counts_but_no_membership() -> None:
    n, k, d = 300, 4, 3
    rng = np.random.default_rng(3)
    member, centroid, total, size = n * d, n * d + n, n * d + n + k * d, n * d + n + 2 * k * d
    rows: list[Row] = []
    for i in range(n):
        mine = [i * d + a for a in range(d)]
        controls = [(s, SourceRole.CONTROL) for s in [*mine, *range(centroid, centroid + k * d)]]
        rows.append(row(member + i, *controls, count=5))
        for cluster in rng.choice(k, 2, replace=False).tolist():
            rows += [folded(total + cluster * d + a, [mine[a]], accumulates=True) for a in range(d)]
            rows.append(folded(size + cluster, [(member + i, SourceRole.ADDRESS)], accumulates=True))
    rows += [row(centroid + c * d + a, total + c * d + a, size + c) for c in range(k) for a in range(d)]
    assert found(size + k, rows) == list(range(centroid, size + k))


def test_register_that_accumulates_for_a_hub_is_one_too() -> None:
    # s = sqrt(sum), sum in a register; every element then reads s.
    n = 40
    rows = [folded(n, *([i] for i in range(n))), row(n + 1, n)]
    rows += [row(n + 2 + i, i, n + 1) for i in range(n)]
    assert found(2 * n + 2, rows, registers=[n]) == [n, n + 1]


def test_threshold_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"found 1\.0"):
        find_hubs(chain(4), high=1.0)


def test_empty_graph() -> None:
    assert not find_hubs(build(0, [])).any()
