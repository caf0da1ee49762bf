"""Partition quality on a graph small enough to count by hand."""

from __future__ import annotations

import numpy as np

from commanalyzer.partition.affinity import Adjacency
from commanalyzer.partition.quality import (
    communication_volume,
    component_labels,
    cut_edges,
    disconnected_parts,
    edge_cut,
    empty_parts,
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
    assert cut_edges(RING, HALVES) == 2
    assert edge_cut(RING, OPPOSITE) == 10


def test_volume_counts_each_foreign_part_once() -> None:
    assert communication_volume(RING, HALVES, 2) == 4
    assert communication_volume(RING, OPPOSITE, 3) == 4
    assert communication_volume(RING, np.array([0, 1, 2, 3, 0], dtype=np.int32), 4) == 8


def test_balance() -> None:
    assert part_work(RING.work_flops, HALVES, 2).tolist() == [3.0, 7.0]
    assert imbalance(RING.work_flops, HALVES, 2) == 1.4
    assert imbalance(np.zeros(5), HALVES, 2) == 1.2


def test_empty_parts() -> None:
    assert empty_parts(HALVES, 4).tolist() == [2, 3]


def test_components() -> None:
    count, label = component_labels(RING)
    assert count == 2
    assert label.tolist() == [0, 0, 0, 0, 1]


def test_pieces_beyond_the_first() -> None:
    assert disconnected_parts(RING, HALVES, 2).tolist() == [0, 1]
    assert disconnected_parts(RING, OPPOSITE, 3).tolist() == [1, 1, 0]
