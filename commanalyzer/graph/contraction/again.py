"""Values that a program makes again and again, in the same way, of nothing but what never changes.

The factors of an elimination that each line of a grid does again, the table of cosines that each row of a
transform makes: the value is always the same. Whoever works on a line makes it, as the program does; it is
data of no element. Constants that nothing computed may be flags, chosen by what the program found: they only
count where something is computed from them.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.graph.contraction import kernels
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Int32, Int64, order_by, sink_of_source

FACTOR = 4
"""How many times as often as the data of an element a workspace is renewed, at least.

A word that is renewed for two or three kinds of data may be an array of stages; with four it is hardly one.
Three takes three stages for elements, twice misses workspaces of up to seven: reported as doubt where it
matters. Two is no doubt: time schemes of two stages are common, and runs of two steps look like them.
"""


def settled(graph: AnyGraph) -> Bool:
    """bool[V], values that are made several times, never one of the other, of what never changes."""
    return _settled(graph)[0]


def made_again(graph: AnyGraph) -> Bool:
    """bool[V], words that are settled and made :data:`FACTOR` times as often as the data that read them."""
    made, source, sink = _settled(graph)
    rate, read = np.zeros(graph.num_vertices, np.int64), made[source] & ~made[sink]
    np.maximum.at(rate, source[read], graph.versions[sink[read]])
    if read.any():
        start, order = order_by(sink, graph.num_vertices)
        kernels.raise_sources(start, source[order], made, rate)
    return made & ~graph.is_register & (rate > 0) & (graph.versions >= FACTOR * rate)


def _settled(graph: AnyGraph) -> tuple[Bool, Int32, Int32]:
    """Return settled values, bool[V], and sources and sinks of all flows; none where no word is settled."""
    is_fixed, missing = graph.versions <= 1, np.zeros(graph.num_vertices, np.int64)
    made = (graph.home_object > 0) & ~(is_fixed | graph.is_input)
    for rows in row_slices(graph):
        made[rows.row_sink[rows.row_accumulates | (rows.row_fold != 0)]] = False
        np.add.at(missing, sink_of_source(rows)[~is_fixed[rows.source]], 1)
    first: Int64 = np.flatnonzero(made & (missing == 0))
    if graph.is_register[first].all():
        return np.zeros(graph.num_vertices, np.bool_), np.zeros(0, np.int32), np.zeros(0, np.int32)
    ends = [(rows.source, sink_of_source(rows)) for rows in row_slices(graph)]
    source, sink = (np.concatenate(column) for column in zip(*ends, strict=True))
    start, order = order_by(source, graph.num_vertices)
    kernels.make_in_order(start, sink[order], first, made, missing)
    made &= missing == 0
    computed, needed = graph.work_flops > 0, np.zeros(graph.num_vertices, np.bool_)
    needed[source[(made & computed)[sink]]] = True
    return made & (computed | needed), source, sink
