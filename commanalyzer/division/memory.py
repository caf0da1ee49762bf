"""Memory that dividing a graph needs, estimated before it begins, and how much of that is done at a time."""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.spill import machine_bytes
from commanalyzer.graph.storage.store import AnyGraph, GraphStore
from commanalyzer.graph.value_graph import Int32, sink_of_source

# By what graphs have needed: one division at a time with what all share; each of several, with its helper.
_VALUE_BYTES = 120  # by tiles, one at a time
_FLOW_BYTES, _MORE_FLOW_BYTES = 300, 160  # of values one by one
# By tiles, several at a time: libraries and slices; columns, work, totals, anchors and coarse vertices.
_PROCESS_BYTES, _SHARED_VALUE_BYTES = 1 << 28, 66
# Of each division. At its borders: owners three times, groups twice, nets of pins, pins, work twice.
_BORDER_VALUE_BYTES = 85
# While it is counted: owners, groups, lines; each row that folds as it is kept, a remote run, a group.
_COUNT_VALUE_BYTES, _FOLD_BYTES = 45, np.array([72, 9, 5])  # of a row that folds, its terms and sources


def require_memory(graph: AnyGraph | GraphStore, limit: int | None, hint: str, *, is_tiled: bool) -> None:
    """Complain before a graph is divided that needs more memory than the user allows.

    Args:
        graph: Value graph.
        limit: What the user allows, bytes; None for no limit.
        hint: What to do instead.
        is_tiled: Divisions are found on coarse vertices.

    Raises:
        ConfigError: If it does, by what graphs of its size have needed.
    """
    by_tiles, one_by_one = _VALUE_BYTES * graph.num_vertices, _FLOW_BYTES * graph.num_flows
    needed = by_tiles if is_tiled else one_by_one
    if limit is not None and needed > limit:
        raise ConfigError(
            f"expected to divide the values within {format_bytes(limit)}, found {graph.num_vertices} values "
            f"and {graph.num_flows} flows, which need about {format_bytes(needed)}",
            where="--memory-limit",
            hint=hint,
        )


def affordable_jobs(
    graph: AnyGraph, limit: int | None, wanted: int, *, is_tiled: bool, fold_bytes: int = 0
) -> int:
    """Return how many divisions may be made at a time, at least one.

    Args:
        graph: Value graph.
        limit: Memory that the user allows, bytes; None for that of the machine.
        wanted: As many as there would be without a limit.
        is_tiled: Divisions are found on coarse vertices.
        fold_bytes: Of rows that each of these may have to keep while it is counted.
    """
    v, room = graph.num_vertices, limit or machine_bytes()
    if is_tiled:
        room -= _PROCESS_BYTES + _SHARED_VALUE_BYTES * v
        each = max(_BORDER_VALUE_BYTES * v, _COUNT_VALUE_BYTES * v + fold_bytes)
    else:
        room, each = room - _FLOW_BYTES * graph.num_flows, _MORE_FLOW_BYTES * graph.num_flows
    return max(1, min(wanted, room // max(each, 1)))


def tiled_jobs(graph: AnyGraph, limit: int | None, wanted: int, vertex: Int32) -> int:
    """As :func:`affordable_jobs`, once coarse vertices are known: they tell which rows may have to be kept.

    Those that fold from other coarse vertices: they combine what other parts contribute to their sinks;
    inside one, nothing has two owners. The rows are only passed over if not all of them would have room.
    Arguments as there, and ``vertex`` int32[V], the coarse vertex of each value, negative for hubs.
    """
    found = np.array([graph.num_rows, graph.num_flows, graph.num_flows])
    every = affordable_jobs(graph, limit, wanted, is_tiled=True, fold_bytes=int(_FOLD_BYTES @ found))
    if every == wanted:
        return wanted
    found[:] = 0
    for rows in row_slices(graph):
        own, other = vertex[sink_of_source(rows)], vertex[rows.source]
        before = np.concatenate(([0], np.cumsum((other >= 0) & (other != own))))[rows.row_ptr]
        kept = (np.diff(before) > 0) & (rows.row_fold != 0)
        found += kept.sum(), np.diff(rows.term_ptr)[kept].sum(), np.diff(rows.row_ptr)[kept].sum()
    return affordable_jobs(graph, limit, wanted, is_tiled=True, fold_bytes=int(_FOLD_BYTES @ found))
