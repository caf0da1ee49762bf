import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.division.refinement.borders import SharedRows
from commanalyzer.graph.storage.slices import joined_rows, row_slice
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.graph.value_graph import ValueGraph
from tests.strategies import graphs, loop_graphs


def counted_owners_of(graph: ValueGraph, owner: list[int], row: int, num_owners: int) -> set[int]:
    first, last = graph.rows.source_ptr[graph.rows.term_ptr[row : row + 2]]
    values = [graph.rows.row_sink[row], *graph.rows.source[first:last]]
    return {owner[v] for v in values if 0 <= owner[v] < num_owners}


@given(graphs() | loop_graphs(), st.integers(1, 3), st.integers(1, 30), st.data())
@settings(max_examples=150, deadline=None)
def test_rows_of_several_owners_are_chosen(
    graph: ValueGraph, num_owners: int, flows: int, data: st.DataObject
) -> None:
    v = graph.num_vertices
    owner = data.draw(st.lists(st.integers(-1, num_owners), min_size=v, max_size=v))
    shared = [r for r in range(graph.num_rows) if len(counted_owners_of(graph, owner, r, num_owners)) > 1]
    none = row_slice(graph.rows, 0, 0)
    expected = joined_rows([none, *(row_slice(graph.rows, r, r + 1) for r in shared)])
    for item in (graph, LargeGraph(GraphStore.of(graph), flows)):
        found = joined_rows([none, *SharedRows(item, np.array(owner, np.int32), num_owners).slices()])
        np.testing.assert_equal(tuple(found), tuple(expected))
