"""Owners of all values: hubs follow what they touch and stay together."""

from dataclasses import replace

import numpy as np

from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.metis import partition
from commanalyzer.division.owners import owners_in
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.value_graph import Bool, HomeKind, HomeObject, Int32, ValueGraph
from tests.counts import count_volume
from tests.graphs import build, folded, homed, row


def placed(graph: ValueGraph, hubs: Bool, core: list[int], parts: int) -> Int32:
    """Owners of all values where those of all but hubs are known."""
    return build_by_value(graph, hubs).owners(np.array(core, np.int32), parts)


def test_hub_goes_where_most_of_its_operands_are() -> None:
    g = build(6, [folded(5, *([i] for i in range(5)))])
    hubs = np.arange(6) == 5
    owners = placed(g, hubs, [0, 1, 1, 1, 0], 2)
    assert owners.tolist() == [0, 1, 1, 1, 0, 1]


def test_connected_hubs_share_a_part_and_unconnected_ones_do_not() -> None:
    # Sum 6 (items 0 and 1) and count 7 (items 2..4) feed centroid 8; hub 9 only knows item 5.
    rows = [folded(6, [0], [1]), folded(7, [2], [3], [4]), row(8, 6, 7), folded(9, [5])]
    g = build(10, rows)
    hubs = np.arange(10) >= 6
    owners = placed(g, hubs, [0, 0, 1, 1, 1, 2], 3)
    assert owners[6:].tolist() == [1, 1, 1, 2]


def test_hub_without_neighbours_belongs_to_part_0() -> None:
    g = build(3, [row(1, 0)])
    assert placed(g, np.arange(3) == 2, [1, 1], 2).tolist() == [1, 1, 0]


def test_histogram_items_are_not_sorted_by_bin() -> None:
    items, bins, p = 400, 8, 4
    rows = [row(items + b) for b in range(bins)]
    rows += [folded(items + i % bins, [(i, SourceRole.ADDRESS)], accumulates=True) for i in range(items)]
    g = build(items + bins, rows)
    hubs = find_hubs(g)
    view = build_by_value(g, hubs)
    owners = view.owners(partition(view.adjacency, p), p)
    assert np.bincount(owners[:items]).tolist() == [items // p] * p
    # Every part holds items of every bin and sends one word for each bin that it does not own.
    assert count_volume(g, owners, p, hubs).total_bytes == bins * (p - 1) * 8


def test_hub_links_have_the_bytes_of_all_flows_between_hubs_and_other_values() -> None:
    # Hub 3 adds up 0 and 1, hub 4 is made from it and read by 2; 8 bytes each.
    g = build(5, [folded(3, [0], [1]), row(4, 3), row(2, 4)])
    links = build_by_value(g, np.arange(5) >= 3).hubs
    assert links.group.tolist() == [0, 0]
    found = zip(links.link_hub.tolist(), links.link_vertex.tolist(), links.link_bytes.tolist(), strict=True)
    assert sorted(found) == [(0, 0, 8), (0, 1, 8), (1, 2, 8)]
    assert links.owners(np.array([0, 1, 1], np.int32), 2).tolist() == [1, 1]  # 8 and 16 bytes of both


def test_owners_go_to_the_same_elements_of_another_graph() -> None:
    """Objects have other numbers there, elements another order; temporaries and what is new follow."""
    u, v = (HomeObject(HomeKind.GLOBAL, name, size_bytes=16, key=name) for name in "uv")
    one = homed(build(5, [row(4, 0)]), [0, 0, 1, 1, 1], [0, 8, 0, 8, 8], (u, v))
    one = replace(one, is_temporary=np.arange(5) == 4)
    other = homed(build(4, [row(1, 0)]), [0, 0, 1, 1], [8, 0, 8, 16], (v, u))
    part = np.array([3, 1, 2, 0, 5], np.int32)
    assert owners_in(GraphStore.of(other), GraphStore.of(one), part).tolist() == [0, 2, 1, -1]
