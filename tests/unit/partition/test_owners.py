"""Owners of all values: hubs follow what they touch and stay together."""

from __future__ import annotations

import numpy as np
import pytest

from commanalyzer.communication.volume import count_volume
from commanalyzer.errors import PartitionError
from commanalyzer.partition.affinity import build_affinity
from commanalyzer.partition.metis import Partition
from commanalyzer.partition.owners import extend_to_hubs, partition_values
from commanalyzer.vcg.graph import SourceRole
from commanalyzer.vcg.hubs import find_hubs
from tests.graphs import build, chain, folded, row


def test_hub_goes_where_most_of_its_operands_are() -> None:
    g = build(6, [folded(5, *([i] for i in range(5)))])
    hubs = np.arange(6) == 5
    core = Partition(np.array([0, 1, 1, 1, 0], dtype=np.int32), 2, "metis", "cut", 1, 0, 1.0)
    owners = extend_to_hubs(g, hubs, build_affinity(g, hubs), core)
    assert owners.part.tolist() == [0, 1, 1, 1, 0, 1]


def test_connected_hubs_share_a_part_and_unconnected_ones_do_not() -> None:
    # Sum 6 (items 0 and 1) and count 7 (items 2..4) feed centroid 8; hub 9 only knows item 5.
    rows = [folded(6, [0], [1]), folded(7, [2], [3], [4]), row(8, 6, 7), folded(9, [5])]
    g = build(10, rows)
    hubs = np.arange(10) >= 6
    core = Partition(np.array([0, 0, 1, 1, 1, 2], dtype=np.int32), 3, "metis", "cut", 1, 0, 1.0)
    owners = extend_to_hubs(g, hubs, build_affinity(g, hubs), core)
    assert owners.part[6:].tolist() == [1, 1, 1, 2]


def test_hub_without_neighbours_belongs_to_part_0() -> None:
    g = build(3, [row(1, 0)])
    hubs = np.arange(3) == 2
    core = Partition(np.array([1, 1], dtype=np.int32), 2, "metis", "cut", 1, 0, 1.0)
    assert extend_to_hubs(g, hubs, build_affinity(g, hubs), core).part.tolist() == [1, 1, 0]


def test_partition_of_another_graph_is_refused() -> None:
    g = build(3, [row(1, 0)])
    none = np.zeros(3, dtype=np.bool_)
    core = Partition(np.zeros(2, dtype=np.int32), 1, "metis", "cut", 1, 0, 1.0)
    with pytest.raises(PartitionError, match="partition of 3 vertices, found 2"):
        extend_to_hubs(g, none, build_affinity(g, none), core)


def test_histogram_items_are_not_sorted_by_bin() -> None:
    items, bins, p = 400, 8, 4
    rows = [row(items + b) for b in range(bins)]
    rows += [folded(items + i % bins, [(i, SourceRole.ADDRESS)], accumulates=True) for i in range(items)]
    g = build(items + bins, rows)
    hubs = find_hubs(g).mask
    owners = partition_values(g, hubs, p)
    assert owners.part[:items].tolist() == [i * p // items for i in range(items)]
    # Every part holds items of every bin and sends one word for each bin that it does not own.
    assert count_volume(g, owners.part, p, hubs).total_bytes == bins * (p - 1) * 8


def test_chain_from_end_to_end() -> None:
    g = chain(60, count=7)
    hubs = find_hubs(g).mask
    owners = partition_values(g, hubs, 4)
    assert count_volume(g, owners.part, 4, hubs).total_bytes == 2 * 3 * 8 * 7
