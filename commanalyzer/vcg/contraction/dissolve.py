"""Dissolving of register values: value graph -> graph of memory values only, as the paper has it.

The paper names no register values: the sources of a stored value are the memory values at the end of its
slice. Every register vertex is replaced in every row by its own sources, transitively, terms are dropped, and
equal chains are merged. The program's returned values (object ``return``) stay.

Reference: paper Section 4.1, Algorithm 2 ("there is no need to track the values in the registers").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.frontend.decisions import USES
from commanalyzer.vcg.contraction import register_kernels as kernels
from commanalyzer.vcg.contraction.closure import Closure, close_registers, flows_of, too_large
from commanalyzer.vcg.graph import Bool, Fold, Int64, UInt8, ValueGraph
from commanalyzer.vcg.storage.large import AnyGraph, stand_for
from commanalyzer.vcg.structure.segments import pointer_from_counts

DEFAULT_LIMIT = 200_000_000
EXIT_OBJECT = "return"


def dissolve_registers(graph: ValueGraph, limit: int = DEFAULT_LIMIT) -> ValueGraph:
    """Return ``graph`` without register vertices.

    Sources reached through several paths keep the strongest role; a path is as strong as its weakest step;
    ``ADDRESS`` sources are no flows in the paper and are dropped. A sink among its own sources becomes
    ``row_accumulates``. Rows with the same sink and the same sources are merged, their counts added. Work
    spent on a register goes to its consumers in proportion to their counts.

    Args:
        graph: Value graph with registers.
        limit: Largest number of source entries that may arise.

    Raises:
        ConfigError: If more than ``limit`` entries would arise.
    """
    gone = dissolving(graph)
    closure = close_registers(graph, gone, limit)
    number = (np.cumsum(~gone) - 1).astype(np.int32)
    rows = _dissolved_rows(graph, gone, closure, limit)
    kept = np.flatnonzero(~gone)
    return replace(
        graph,
        home_object=graph.home_object[kept],
        home_offset=graph.home_offset[kept],
        width_bytes=graph.width_bytes[kept],
        versions=graph.versions[kept],
        is_temporary=graph.is_temporary[kept],
        is_input=graph.is_input[kept],
        producer_site=graph.producer_site[kept],
        work_flops=closure.work_flops[kept],
        row_sink=number[graph.row_sink[rows.origin]],
        row_count=rows.count,
        row_site=graph.row_site[rows.origin],
        row_fold=np.full(len(rows.origin), int(Fold.NONE), dtype=np.uint8),
        row_accumulates=rows.accumulates,
        term_ptr=pointer_from_counts((np.diff(rows.pointer) > 0).astype(np.int64)),
        source_ptr=_term_pointer(rows.pointer),
        source=number[rows.source],
        source_role=rows.role,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with one set of distinct sources each; vertices still in the numbering of the input."""

    origin: Int64
    count: Int64
    accumulates: Bool
    pointer: Int64
    source: Int64
    role: UInt8


def dissolving(graph: AnyGraph) -> Bool:
    """bool[V], the vertices that :func:`dissolve_registers` dissolves, and what only stands for uses."""
    named = np.array([o.name == EXIT_OBJECT for o in graph.objects] or [False], dtype=np.bool_)
    return np.asarray(graph.is_register & ~named[graph.home_object]) | stand_for(graph, *USES)


def _term_pointer(pointer: Int64) -> Int64:
    """Return the source pointer of rows that have one term each, or none if they have no source."""
    filled = np.diff(pointer) > 0
    return np.concatenate((pointer[:1], pointer[1:][filled]))


def _dissolved_rows(graph: ValueGraph, gone: Bool, closure: Closure, limit: int) -> _Rows:
    """Return the rows of the vertices that stay, with registers replaced and equal rows merged.

    Of equal rows (same sink, same sources and roles, same self-source) the first stays in its place.
    """
    flows = graph.rows, frozen(gone, np.bool_)
    total = kernels.row_reach(*flows, closure.length)
    if total > limit:
        raise too_large(graph, _worst(graph, gone, closure), total, limit)
    rows = int(np.count_nonzero(~gone[graph.row_sink]))
    slots = np.full(1 << (2 * rows + 1).bit_length(), -1, dtype=np.int64)
    origin, count = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    accumulates, sink = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.int64)
    pointer, word = np.zeros(rows + 1, dtype=np.int64), np.empty(total, dtype=np.int64)
    known = closure.start, closure.length, closure.source, closure.role
    found = origin, count, accumulates, pointer, word, sink
    kept = kernels.dissolve_rows(*flows, known, slots, *found)
    source, role = np.divmod(word[: pointer[kept]], kernels.ROLES)
    return _Rows(
        origin[:kept], count[:kept], accumulates[:kept], pointer[: kept + 1], source, role.astype(np.uint8)
    )


def _worst(graph: ValueGraph, gone: Bool, closure: Closure) -> int:
    """Return the register that adds most sources."""
    row, entry = flows_of(graph, gone, by_sink=False)
    stays = ~gone[graph.row_sink[row]]
    source = graph.source[entry[stays]]
    return int(np.argmax(np.bincount(source, closure.length[source])))
