"""Distances between elements that are read together, against sorted lists; steps of loops by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.regular import shape_kernels as kernels
from commanalyzer.division.regular import shapes
from commanalyzer.graph.value_graph import ValueGraph
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
    of, distance, times = shapes.tally_distances(graph, index, arrays, owner)
    found = zip(of.tolist(), distance.tolist(), times[:, kernels.GAPS].tolist(), strict=True)
    assert {(a, d): count for a, d, count in found if count} == distances.gaps(graph, index, owner)


def test_loops_show_how_far_each_array_is_stepped_through() -> None:
    # c[i][j] += a[i][q] * b[q][j], j innermost, then q, then i: of a, 6 rows of 8; of b, 8 of 7.
    n, m, k = 6, 7, 8
    a, b = n * m, n * m + n * k
    nest = [(i, q, j) for i in range(n) for q in range(k) for j in range(m)]
    graph = build(b + k * m, [row(m * i + j, a + k * i + q, b + m * q + j) for i, q, j in nest])
    owner = np.repeat(np.arange(3, dtype=np.int32), (n * m, n * k, k * m))
    index = np.concatenate([np.arange(size, dtype=np.int32) for size in (n * m, n * k, k * m)])
    of, distance, times = shapes.tally_distances(graph, index, 3, owner)
    loops = times[:, kernels.LOOPS :]
    found = {
        (x, d): t for x, d, t in zip(of.tolist(), distance.tolist(), loops.tolist(), strict=True) if any(t)
    }
    # b moves a row in all but the first rounds of q, c and a one in all but the first of i.
    assert found == {(0, m): [0, 0, n - 1, 0], (1, k): [0, 0, n - 1, 0], (2, m): [0, n * (k - 1), 0, 0]}
