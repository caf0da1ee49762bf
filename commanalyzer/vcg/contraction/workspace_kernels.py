"""Compiled loops over what words held, see :mod:`commanalyzer.vcg.contraction.workspaces`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline


@compiled_inline
def _has_any(source: Any, chosen: Any) -> Any:
    """Whether a chosen vertex is among these."""
    found = False
    for at in range(len(source)):
        found |= chosen[source[at]]
    return found


@compiled_in_place
def add_contents(rows: Any, is_named: Any, begun: Any, sourced: Any, first: Any, any_: Any) -> None:
    """Add the rows of a part to the lifetimes of vertices, and keep the most occurrences of one with sources.

    Args:
        rows: Rows; without flows is enough where nothing is named.
        is_named: bool[V], rows with such sources count as rows without any; may be empty.
        begun: int64[V], lifetimes.
        sourced: int64[V], those that began with sources.
        first: int64[V], occurrences of the commonest of the rows that they began with.
        any_: int64[V], of the commonest of all.
    """
    for row in range(len(rows.row_sink)):
        sink, count = rows.row_sink[row], rows.row_count[row]
        begin, end = rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]
        has_sources = begin < end
        if has_sources and len(is_named):
            has_sources = not _has_any(rows.source[begin:end], is_named)
        if has_sources:
            any_[sink] = max(any_[sink], count)
        if not rows.row_accumulates[row]:
            begun[sink] += count
            if has_sources:
                sourced[sink] += count
                first[sink] = max(first[sink], count)


@compiled_in_place
def add_reads(rows: Any, reads: Any) -> None:
    """Add up how often values are read by others than their successors, for the rows of a part."""
    for row in range(len(rows.row_sink)):
        for at in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
            if rows.source[at] != rows.row_sink[row]:
                reads[rows.source[at]] += rows.row_count[row]


@compiled_in_place
def hand_on(rows: Any, is_defined: Any, fresh: Any, is_named: Any) -> None:
    """Give defined values the highest freshness and the names of their sources, for the rows of a part."""
    for row in range(len(rows.row_sink)):
        sink = rows.row_sink[row]
        if is_defined[sink]:
            begin, end = rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]
            is_named[sink] |= _has_any(rows.source[begin:end], is_named)
            most = fresh[sink]
            for at in range(begin, end):
                most = max(most, fresh[rows.source[at]])
            fresh[sink] = most


@compiled_in_place
def note_companions(rows: Any, candidates: Any, lifetimes: Any, fresh: Any, factor: Any, found: Any) -> None:
    """Add up how often candidates are computed with and without a companion, for the rows of a part.

    The values of a word that is copied to many places are known by its name everywhere: what is computed from
    these differs, although the chain is always the same. Such chains tell nothing about words that are known
    by other chains, and are all that tells about copied words.

    Args:
        rows: Rows.
        candidates: bool[V] each: words that are known by their chains; words whose values are copied to many
            places; values with the name of such a word; of the first only rows that begin lifetimes count.
        lifetimes: int64[V].
        fresh: int64[V], how often a value is renewed, 0 if that is not known.
        factor: Companions are renewed less than so many times more or less often than the word.
        found: Results: float64[V], logarithms of how often the other sources are renewed that are no
            candidates, added up; int64[V] each: their number; occurrences without and with companions.
    """
    is_varied, is_copied, is_named, reads_at_first = candidates
    logarithm, others, apart, together = found
    for row in range(len(rows.row_sink)):
        sink = rows.row_sink[row]
        if not (is_varied[sink] or is_copied[sink]):
            continue
        begin, end = rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]
        has_name = _has_any(rows.source[begin:end], is_named)
        if is_varied[sink]:
            is_telling = not has_name and not (rows.row_accumulates[row] and reads_at_first[sink])
        else:
            is_telling = has_name or rows.row_accumulates[row]
        if not is_telling or begin == end:
            continue
        has_companion = False
        for at in range(begin, end):
            other = rows.source[at]
            if other == sink or fresh[other] == 0:
                continue
            is_fresh = fresh[other] * factor > lifetimes[sink]
            if is_fresh and fresh[other] < factor * lifetimes[sink]:
                has_companion = True
            elif not is_varied[other]:
                logarithm[sink] += np.log(np.float64(fresh[other]))
                others[sink] += 1
        if has_companion:
            together[sink] += rows.row_count[row]
        else:
            apart[sink] += rows.row_count[row]


@compiled_in_place
def count_links(rows: Any, chosen: Any, start: Any) -> None:
    """Count the flows from each chosen vertex to chosen ones, behind it in ``start``."""
    for row in range(len(rows.row_sink)):
        if chosen[rows.row_sink[row]]:
            for at in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
                start[rows.source[at] + 1] += chosen[rows.source[at]]


@compiled_in_place
def place_links(rows: Any, chosen: Any, end: Any, sink: Any) -> None:
    """Put the sinks of these flows behind those that are there, up to ``end`` (int64[V])."""
    for row in range(len(rows.row_sink)):
        if chosen[rows.row_sink[row]]:
            for at in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
                if chosen[rows.source[at]]:
                    sink[end[rows.source[at]]] = rows.row_sink[row]
                    end[rows.source[at]] += 1


@compiled
def pass_on(start: Any, sink: Any, origins: Any, most: Any, value: Any) -> None:
    """Lower values to the least that reaches them; ``origins`` come in the order of their values."""
    stack, is_done = np.empty(len(value), np.int64), np.zeros(len(value), np.bool_)
    for origin in origins:
        if is_done[origin]:
            continue
        is_done[origin] = True
        depth, passed = 1, value[origin]
        stack[0] = origin
        while depth > 0:
            depth -= 1
            v = stack[depth]
            for at in range(start[v], start[v + 1]):
                reached = sink[at]
                if not is_done[reached] and passed <= most[reached]:
                    is_done[reached] = True
                    value[reached] = min(value[reached], passed)
                    stack[depth] = reached
                    depth += 1
