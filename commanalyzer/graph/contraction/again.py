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

_NEVER = np.iinfo(np.int64).max
_MIXED = np.uint64(0x9E3779B97F4A7C15)  # spreads numbers over all bits, so that sums tell sets apart


def settled(graph: AnyGraph) -> Bool:
    """bool[V], values that are begun several times, each time in the same way, of what never changes."""
    return _settled(graph)[0]


def made_again(graph: AnyGraph) -> Bool:
    """bool[V], values that are settled and begun :data:`FACTOR` times as often as the data that read them."""
    made, begun, source, sink = _settled(graph)
    rate, read = np.zeros(graph.num_vertices, np.int64), made[source] & ~made[sink]
    np.maximum.at(rate, source[read], graph.versions[sink[read]])
    if read.any():
        start, order = order_by(sink, graph.num_vertices)
        least = -rate
        origins = np.argsort(least)[: np.count_nonzero(rate)]
        kernels.pass_on(start, source[order], origins, np.where(made, 0, -_NEVER), least)
        rate = -least
    return made & (rate > 0) & (begun >= FACTOR * rate)


def _settled(graph: AnyGraph) -> tuple[Bool, Int64, Int32, Int32]:
    """Return settled values, bool[V], how often values are begun, int64[V], sources and sinks of all flows.

    No flows where no word is settled. What begins a value makes the order; what goes on with it (a factor, by
    which all are divided in the end) has to be settled, too, and to happen every time.
    """
    begun, missing, made = _begun(graph)
    is_fixed = graph.versions <= 1
    for rows in row_slices(graph):
        row, goes_on = rows.row_of_source(), rows.row_accumulates
        made[rows.row_sink[goes_on & (rows.row_count < begun[rows.row_sink])]] = False
        made[rows.row_sink[row[goes_on[row] & ~(is_fixed | made)[rows.source]]]] = False
    first: Int64 = np.flatnonzero(made & (missing == 0))
    none = np.zeros(0, np.int32)
    if graph.is_register[first].all():
        return np.zeros(graph.num_vertices, np.bool_), begun, none, none
    ends = [(r.source, sink_of_source(r), r.row_accumulates[r.row_of_source()]) for r in row_slices(graph)]
    source, sink, goes_on = (np.concatenate(column) for column in zip(*ends, strict=True))
    start, order = order_by(source[~goes_on], graph.num_vertices)
    kernels.make_in_order(start, sink[~goes_on][order], first, made, missing)
    made &= missing == 0
    start, order = order_by(source, graph.num_vertices)
    value, wrong = made.astype(np.int64), goes_on & made[sink] & ~(is_fixed | made)[source]
    value[sink[wrong]] = 0
    kernels.pass_on(start, sink[order], np.unique(sink[wrong]), np.zeros(len(made), np.int64), value)
    made &= value > 0
    computed, needed = graph.work_flops > 0, np.zeros(graph.num_vertices, np.bool_)
    needed[source[(made & computed)[sink]]] = True
    return made & (computed | needed), begun, source, sink


def _begun(graph: AnyGraph) -> tuple[Int64, Int64, Bool]:
    """How often values are begun, by how many flows of what changes, whether always of the same values."""
    v = graph.num_vertices
    begun, missing, is_fixed = graph.versions.copy(), np.zeros(v, np.int64), graph.versions <= 1
    least, most = np.full(v, np.iinfo(np.uint64).max, np.uint64), np.zeros(v, np.uint64)
    for rows in row_slices(graph):
        goes_on, row = rows.row_accumulates, rows.row_of_source()
        np.subtract.at(begun, rows.row_sink[goes_on], rows.row_count[goes_on])
        chain = np.zeros(rows.num_rows, np.uint64)
        np.add.at(chain, row, (rows.source.astype(np.uint64) + np.uint64(1)) * _MIXED)
        np.minimum.at(least, rows.row_sink[~goes_on], chain[~goes_on])
        np.maximum.at(most, rows.row_sink[~goes_on], chain[~goes_on])
        np.add.at(missing, rows.row_sink[row][~(is_fixed[rows.source] | goes_on[row])], 1)
    is_same = (least == most) | (least > most)  # or nothing begins it but constants
    return begun, missing, (graph.home_object > 0) & (begun > 1) & is_same & ~graph.is_input
