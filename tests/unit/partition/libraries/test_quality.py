"""Partition quality on a graph small enough to count by hand."""

from __future__ import annotations

import numpy as np

from commanalyzer.partition.libraries.adjacency import Adjacency
from commanalyzer.partition.libraries.quality import (
    component_labels,
    edge_cut,
    imbalance,
    part_work,
)

# 0 - 1 - 2 - 3 - 0 (a ring, weights 1 2 3 4) and the loose vertex 4
RING = Adjacency(
    np.array([0, 2, 4, 6, 8, 8], dtype=np.int64),
    np.array([1, 3, 0, 2, 1, 3, 0, 2], dtype=np.int64),
    np.array([1, 4, 1, 2, 2, 3, 4, 3], dtype=np.int64),
    np.array([1.0, 2.0, 3.0, 4.0, 0.0]),
)
HALVES = np.array([0, 0, 1, 1, 1], dtype=np.int32)
OPPOSITE = np.array([0, 1, 0, 1, 2], dtype=np.int32)


def test_cut() -> None:
    assert edge_cut(RING, HALVES) == 2 + 4
    assert edge_cut(RING, OPPOSITE) == 10


def test_balance() -> None:
    assert part_work(RING.work_flops, HALVES, 2).tolist() == [3.0, 7.0]
    assert imbalance(RING.work_flops, HALVES, 2) == 1.4
    assert imbalance(np.zeros(5), HALVES, 2) == 1.2


def test_components() -> None:
    count, label = component_labels(RING)
    assert count == 2
    assert label.tolist() == [0, 0, 0, 0, 1]
