"""The order of everything that happened in a recording, in the vertices and rows of its graph.

Input: a trace that kept it, and the site table of the module that wrote it. Output: :class:`Timeline`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.build import OUTSIDE_BITS, SiteColumns, Vertices
from commanalyzer.graph.homes import find_homes
from commanalyzer.graph.reading import form_kernels as kernels
from commanalyzer.graph.reading.form_kernels import find_sinks
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import Int32, Int64, Rows
from commanalyzer.recording.abi import ROW_FAMILY
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.trace import Trace


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened, one event after the other."""

    event: Int64  # [N], rows of the trace and marks (:mod:`commanalyzer.graph.reading.form_kernels`)
    sink: Int32  # [T], vertex that a row of the trace stores to, -1 for fills
    row: Int32  # [T], its place in the graph, -1 for fills and what never happened in the region
    fill: Int64  # [T, 2], first of the dense words that it fills, and the one behind them
    vertex: Int32  # [D], vertex of each dense word, negative for none

    @classmethod
    def of(cls, trace: Trace, table: SiteTable) -> Timeline:
        """The timeline of ``trace``; a :class:`GraphInvariantError` if it has rows that stand for several."""
        tables = Tables.of(trace)
        if len(tables.names) or np.any((tables.heads[:, 1] >> 48) & ROW_FAMILY):
            raise GraphInvariantError(
                "expected a recording of single rows, found rows that stand for several"
            )
        homes = find_homes(trace, tables, SiteColumns.of(table).width_bytes, table.globals)
        ranges, rows = homes.ranges, np.arange(tables.num_rows)
        sink, of_row = np.empty(len(rows), np.int32), Vertices.make(tables, homes).of_row
        find_sinks(tables.heads, rows, (ranges.starts, ranges.base, homes.vertex, of_row), sink)
        filled = np.concatenate([rows[:0], *(chunk.filled.copy() for chunk in tables.chunks())])
        word = np.where(filled > 0, tables.heads[:, 0], ranges.starts[1])
        which = np.searchsorted(ranges.starts, word, side="right") - 1
        offset = word - ranges.starts[which]
        begin, length = ranges.base[which] + offset, np.minimum(filled, ranges.length[which] - offset)
        has_happened = (tables.cells[:, 1] & ((1 << OUTSIDE_BITS) - 1)) != 0
        row = np.where(has_happened & (filled == 0), np.cumsum(has_happened & (filled == 0)) - 1, -1)
        order, places = frozen(trace.order, np.uint32), (ranges.starts, ranges.base, homes.vertex)
        event = np.empty(len(order), np.int64)
        event = event[: kernels.read_order(order, *places, event)]
        return cls(event, sink, row.astype(np.int32), np.stack((begin, begin + length), axis=1), homes.vertex)


def is_same_graph(store: GraphStore, other: GraphStore) -> bool:
    """Whether two recordings of a run have the same chains in the same order, between the same vertices."""
    one, two = (replace(each).graph().rows for each in (store, other))  # which are not kept
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in Rows._fields)
