"""Dissolving of register values: value graph -> graph of memory values only, as the paper has it.

The paper names no register values: the sources of a stored value are the memory values at the end of its
slice. Every register vertex is replaced in every row by its own sources, transitively, terms are dropped, and
equal chains are merged. The program's returned values (object ``return``) stay.

Reference: paper Section 4.1, Algorithm 2 ("there is no need to track the values in the registers").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.vcg.closure import Closure, close_registers, too_large
from commanalyzer.vcg.graph import Bool, Fold, Int64, SourceRole, UInt8, ValueGraph
from commanalyzer.vcg.segments import expand_ranges, group_starts, pointer_from_counts

DEFAULT_LIMIT = 200_000_000
EXIT_OBJECT = "return"

_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


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
    gone = graph.is_register & ~_exit_values(graph)
    closure = close_registers(graph, gone, limit)
    number = np.cumsum(~gone) - 1
    rows = _expanded_rows(graph, gone, closure, limit)
    rows = _merge_equal(rows)
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
        row_sink=number[rows.sink].astype(np.int32),
        row_count=rows.count,
        row_site=graph.row_site[rows.origin],
        row_fold=np.full(len(rows.sink), int(Fold.NONE), dtype=np.uint8),
        row_accumulates=rows.accumulates,
        term_ptr=pointer_from_counts((np.diff(rows.pointer) > 0).astype(np.int64)),
        source_ptr=_term_pointer(rows.pointer),
        source=number[rows.source].astype(np.int32),
        source_role=rows.role,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with one set of distinct sources each; vertices still in the numbering of the input."""

    sink: Int64
    count: Int64
    origin: Int64
    accumulates: Bool
    pointer: Int64
    source: Int64
    role: UInt8


def _exit_values(graph: ValueGraph) -> Bool:
    named = np.array([o.name == EXIT_OBJECT for o in graph.objects] or [False], dtype=np.bool_)
    return np.asarray(named[graph.home_object])


def _term_pointer(pointer: Int64) -> Int64:
    """Return the source pointer of rows that have one term each, or none if they have no source."""
    filled = np.diff(pointer) > 0
    return np.concatenate((pointer[:1], pointer[1:][filled]))


def _expanded_rows(graph: ValueGraph, gone: Bool, closure: Closure, limit: int) -> _Rows:
    """Return the rows of the vertices that stay, with registers replaced by what they were computed from."""
    row = np.flatnonzero(~gone[graph.row_sink]).astype(np.int64)
    start = graph.source_ptr[graph.term_ptr]
    length = np.diff(start)[row]
    entry = expand_ranges(start[row], length)
    index = np.repeat(np.arange(len(row), dtype=np.int64), length)
    data = graph.source_role[entry] != int(SourceRole.ADDRESS)
    entry, index = entry[data], index[data]
    source, role = graph.source[entry].astype(np.int64), graph.source_role[entry]
    amount = np.where(gone[source], closure.length[source], 1)
    total = int(amount.sum())
    if total > limit:
        worst = int(np.argmax(np.bincount(source, np.where(gone[source], amount, 0))))
        raise too_large(graph, worst, total, limit)
    through = gone[source]
    inner = expand_ranges(closure.start[source[through]], closure.length[source[through]])
    value = np.concatenate((source[~through], closure.source[inner]))
    steps = np.repeat(role[through], closure.length[source[through]])
    roles = np.concatenate((role[~through], np.maximum(closure.role[inner], steps)))
    owner = np.concatenate((index[~through], np.repeat(index[through], closure.length[source[through]])))
    return _distinct_sources(graph, row, owner, value, roles)


def _distinct_sources(graph: ValueGraph, row: Int64, owner: Int64, value: Int64, role: UInt8) -> _Rows:
    """Return rows with each source once (strongest role) and self-sources turned into a flag."""
    sink = graph.row_sink[row].astype(np.int64)
    own = value == sink[owner]
    accumulates = graph.row_accumulates[row].copy()
    accumulates[owner[own]] = True
    owner, value, role = owner[~own], value[~own], role[~own]
    order = np.lexsort((role, value, owner))
    owner, value, role = owner[order], value[order], role[order]
    first = group_starts(owner * max(graph.num_vertices, 1) + value)
    lengths = np.bincount(owner[first], minlength=len(row)).astype(np.int64)
    return _Rows(
        sink, graph.row_count[row], row, accumulates, pointer_from_counts(lengths), value[first], role[first]
    )


def _merge_equal(rows: _Rows) -> _Rows:
    """Return the rows with equal ones merged: same sink, same sources and roles, same self-source.

    Rows are compared by two independent 64-bit sums over their sources, the sink and the length, so two
    different rows are taken for equal with a probability far below that of a memory error.
    """
    if len(rows.sink) == 0:
        return rows
    length = np.diff(rows.pointer)
    word = rows.source.astype(np.uint64) * np.uint64(4) + rows.role
    hashes = [_row_hash(_mix(word + np.uint64(salt)), rows.pointer) for salt in (0, 2**61)]
    keys = (hashes[0], hashes[1], rows.accumulates, length, rows.sink)
    order = np.lexsort(keys)
    same = np.ones(len(order) - 1, dtype=np.bool_)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    start = np.flatnonzero(np.concatenate(([True], ~same))).astype(np.int64)
    count = np.add.reduceat(rows.count[order], start)
    # lexsort is stable, so the first of each run is also the first in the program; keep the program's order.
    first = order[start]
    back = np.argsort(first)
    first, count = first[back], count[back]
    entry = expand_ranges(rows.pointer[first], length[first])
    return _Rows(
        rows.sink[first],
        count,
        rows.origin[first],
        rows.accumulates[first],
        pointer_from_counts(length[first]),
        rows.source[entry],
        rows.role[entry],
    )


def _mix(word: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a well-mixed 64-bit image of each word (multiply and xor-shift, wrapping)."""
    h = (word + np.uint64(1)) * np.uint64(_MIX[0])
    h = (h ^ (h >> np.uint64(30))) * np.uint64(_MIX[1])
    h = (h ^ (h >> np.uint64(27))) * np.uint64(_MIX[2])
    return h ^ (h >> np.uint64(31))


def _row_hash(
    word: np.ndarray[tuple[int], np.dtype[np.uint64]], pointer: Int64
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return the wrapping sum of the words of each row."""
    total = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(word, dtype=np.uint64)))
    return np.asarray(total[pointer[1:]] - total[pointer[:-1]])
