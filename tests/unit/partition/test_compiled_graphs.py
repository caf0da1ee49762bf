"""Affinity graphs and hypergraphs: as sorts and sparse matrices make them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from commanalyzer.partition.libraries.affinity import build_affinity
from commanalyzer.partition.libraries.hypergraph import build_hypergraph
from commanalyzer.vcg.graph import ValueGraph
from tests.reference import partition_graphs as reference
from tests.strategies import graphs


def same(one: object, other: object) -> None:
    assert type(one) is type(other)
    for f in fields(one):  # type: ignore[arg-type]
        assert getattr(one, f.name).tolist() == getattr(other, f.name).tolist(), f.name


@given(graphs(registers=True), st.booleans(), st.booleans(), st.data())
@settings(max_examples=100, deadline=None)
def test_equals_the_reference(graph: ValueGraph, shared: bool, tasks: bool, data: st.DataObject) -> None:
    v = graph.num_vertices
    hubs = st.lists(st.sampled_from([False, False, True]), min_size=v, max_size=v)
    removed = np.array(data.draw(hubs), dtype=np.bool_)
    assume(not removed.all())
    found = build_affinity(graph, removed, shared=shared, most_parts=2, tasks=tasks)
    wanted = reference.build_affinity(graph, removed, shared=shared, most_parts=2, tasks=tasks)
    assert found.vertex.tolist() == wanted.vertex.tolist()
    same(found.adjacency, wanted.adjacency)
    same(build_hypergraph(graph, found), reference.build_hypergraph(graph, wanted))
