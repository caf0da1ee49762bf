"""Compiled loops that look through the register values of a graph: see :mod:`.dissolve`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.reading.trace_kernels import mixed

_ADDRESS = int(SourceRole.ADDRESS)
NO_ROOT = np.iinfo(np.int32).max  # in a list of roots: none
ROLES = 4  # a source and its role are one word: source * 4 + role


@compiled
def close(node: Any, steps: Any, closure: Any, used: Any, limit: Any, where: Any) -> Any:
    """Write the sources of the nodes from ``node`` on, whose ``start`` is negative, behind ``used`` entries.

    ``where``: the entry a vertex had last; others as in :mod:`.dissolve`.

    Returns:
        Node that does not fit or exceeds ``limit`` (or the number of nodes), entries used, entries needed
        with that node, repetitions included.
    """
    pointer, by = steps.pointer, steps.by
    start, length, source, role = closure
    for n in range(node, len(start)):
        if start[n] >= 0:
            continue
        needed = used
        for k in range(pointer[n], pointer[n + 1]):
            needed += length[by[k]]
        if needed > min(len(source), limit):
            return n, used, needed
        start[n] = used
        for k in range(pointer[n], pointer[n + 1]):
            first = start[by[k]]
            for i in range(first, first + length[by[k]]):
                weakest, at = max(role[i], steps.role[k]), where[source[i]]
                if at >= start[n]:
                    role[at] = min(role[at], weakest)
                    continue
                where[source[i]] = used
                source[used], role[used] = source[i], weakest
                used += 1
        length[n] = used - start[n]
    return len(start), used, used


@compiled
def pass_on_work(pointer: Any, sink: Any, weight: Any, work: Any) -> None:
    """Hand the work of the nodes, in order, to their consumers in proportion to ``weight``."""
    for n in range(len(work)):
        if pointer[n] == pointer[n + 1]:
            continue
        total = 0.0
        for k in range(pointer[n], pointer[n + 1]):
            total += weight[k]
        share = work[n] / max(total, 1.0)
        work[n] = 0.0
        for k in range(pointer[n], pointer[n + 1]):
            work[sink[k]] += share * weight[k]


@compiled
def _expand_row(rows: Any, row: Any, sink: Any, closure: Any, where: Any, word: Any, begin: Any) -> Any:
    """Write the distinct sources of a row, ascending, to ``word`` from ``begin`` on.

    ``where`` says at which word a value was put last.

    Returns:
        Where they end, and if the sink is one.
    """
    start, length, source, closed_role = closure
    end, own = begin, False
    for i in range(rows.source_ptr[rows.term_ptr[row]], rows.source_ptr[rows.term_ptr[row + 1]]):
        v, role = rows.source[i], np.int64(rows.source_role[i])
        if role == _ADDRESS:
            continue
        for k in range(start[v], start[v] + length[v]):
            u = np.int64(source[k])
            if u == sink:
                own = True
                continue
            found, at = u * ROLES + max(role, np.int64(closed_role[k])), where[u]
            if at >= begin:
                word[at] = min(word[at], found)
            else:
                where[u], word[end] = end, found
                end += 1
    word[begin:end].sort()
    return end, own


@compiled
def dissolve_rows(
    rows: Any, gone: Any, closure: Any, origin: Any, accumulates: Any, pointer: Any, word: Any, hash_: Any
) -> None:
    """Replace registers by their sources in all rows that stay.

    The columns behind ``closure`` are the result: where each row was, whether the sink is among its sources,
    where its sources begin, these, and a hash of sink and sources.
    """
    where, n = np.full(len(gone), -1, np.int64), 0
    for r in range(len(rows.row_sink)):
        sink = np.int64(rows.row_sink[r])
        if gone[sink]:
            continue
        end, own = _expand_row(rows, r, sink, closure, where, word, pointer[n])
        own = own or rows.row_accumulates[r]
        origin[n], accumulates[n], pointer[n + 1] = r, own, end
        hash_[n] = mixed(sink, np.int64(own))
        for k in range(pointer[n], end):
            hash_[n] = mixed(hash_[n], word[k])
        n += 1


@compiled
def find_roots(start: Any, reader: Any, first: Any, number: Any, roots: Any) -> None:
    """Fill the lists ``roots`` int32[N, M] of values with a ``number``: what each is made of, in the end.

    ``reader`` has the values with a number that read each vertex, from ``start`` on; lists of the vertices
    ``first`` are given. Lists grow at most M times, so this is linear in the flows.
    """
    waiting, is_waiting = np.empty(len(roots), np.int64), np.zeros(len(roots), np.bool_)
    depth = len(first)
    waiting[:depth] = first
    while depth > 0:
        depth -= 1
        v = waiting[depth]
        is_waiting[number[v]] = False
        for at in range(start[v], start[v + 1]):
            known, is_new = roots[number[reader[at]]], False
            for root in roots[number[v]]:
                for i in range(len(known)):
                    if known[i] == root or root == NO_ROOT:
                        break
                    if known[i] == NO_ROOT:
                        known[i], is_new = root, True
                        break
            if is_new and not is_waiting[number[reader[at]]]:
                is_waiting[number[reader[at]]] = True
                waiting[depth] = reader[at]
                depth += 1
