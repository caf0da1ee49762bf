"""Distances between elements that are computed from each other or read together, against sorted lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.partition import shapes
from commanalyzer.vcg.graph import ValueGraph
from tests.graphs import build, row
from tests.reference import distances
from tests.strategies import graphs

LIMITS = {arrays: ((0, 10**6), (-1, arrays - 1)) for arrays in (1, 2, 3)}


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), data=st.data())
def test_tallies_are_those_of_sorted_lists(graph: ValueGraph, data: st.DataObject) -> None:
    v, arrays = graph.num_vertices, data.draw(st.integers(1, 3))
    places, owners = (st.lists(st.integers(*ends), min_size=v, max_size=v) for ends in LIMITS[arrays])
    index, owner = np.array(data.draw(places), np.int32), np.array(data.draw(owners), np.int32)
    size = np.array([*data.draw(st.lists(st.integers(1, 2), min_size=arrays, max_size=arrays)), -1])
    found = shapes.tally_steps(graph, index, size, owner)
    assert dict(np.array(found).T.tolist()) == distances.steps(graph, index, size, owner)
    found = shapes.tally_gaps(graph, index, owner, arrays)
    assert dict(np.array(found).T.tolist()) == distances.gaps(graph, index, owner)


def test_more_distances_than_the_first_table_holds() -> None:
    n = 6000  # element 5 i * i is computed from element 0
    graph = build(n, [row(i, 0) for i in range(1, n)])
    index, owner = 5 * np.arange(n, dtype=np.int64) ** 2, np.zeros(n, np.int32)
    found = shapes.tally_steps(graph, index, np.array([1, -1]), owner)
    assert found[0].tolist() == (5 * np.arange(1, n) ** 2).tolist()
    assert found[1].tolist() == [1] * (n - 1)
