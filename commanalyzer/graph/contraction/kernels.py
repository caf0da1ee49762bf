"""Compiled loops that contract a graph.

They look through its register values (:mod:`.dissolve`), and find which vertices merge for
:mod:`~commanalyzer.graph.structure.hubs`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from commanalyzer.foundation.compiled import compiled, compiled_in_place, compiled_inline
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.reading.trace_kernels import mixed
from commanalyzer.graph.value_graph import Bool, Int32, Int64, UInt8

NO_FOLD, SEVERAL_SLICES = -1, -2


@compiled_inline
def _note_shared(rows: Any, first: Any, last: Any, is_counter: Any) -> None:
    """Note what the contributions of a row of counts share."""
    counts = False
    for i in range(first, last):
        counts |= rows.source_role[i] == _ADDRESS
    for i in range(first if counts else last, last):
        if rows.source_role[i] != _ADDRESS:
            is_counter[rows.source[i]] = True


class Uses(NamedTuple):
    """How V vertices are read and computed, from one pass over all flows."""

    reader: Int32  # [V], the first sink that reads each private value (register or temporary), -1 for none
    has_others: Bool  # [V], other sinks read it, too
    contributes: Bool  # [V], sources of rows whose terms may be combined anywhere
    is_computed: Bool  # [V], the vertex has sources
    is_counter: Bool  # [V], sinks of pure counts, and what their contributions share
    entries: UInt8  # [V], source entries that name the vertex, 2 for more
    fold_slice: Int32  # [V], slice of the first row that folds into it, -1 for none, -2 if several have any


class Beginnings(NamedTuple):
    """How V values begin, go on and are read, from one pass over all flows."""

    begun: Int64  # [V], how often it is begun; versions before the pass
    missing: Int64  # [V], flows of what changes that begin it
    chain: Int64  # [V], hash of the sources that begin it
    chains: UInt8  # [V], how many such hashes there are, 2 for more
    goes_on: Int64  # [V], how often each row goes on with it, -1 if they differ
    reads: Int64  # [V], how often it is read


class Dissolved(NamedTuple):
    """R rows with registers replaced by their W sources."""

    origin: Int64  # [R], where each row was
    accumulates: Bool  # [R], whether the sink is among its sources
    pointer: Int64  # [R + 1], where its sources begin
    word: Int64  # [W], source and role
    hash_: Int64  # [R], of sink and sources


@compiled_in_place
def note_uses(rows: Any, number: Any, private: Any, uses: Any) -> None:
    """Note the uses of a slice, the ``number``-th."""
    reader, has_others, contributes, is_computed, is_counter, entries, fold_slice = uses
    for r in range(len(rows.row_sink)):
        t = rows.row_sink[r]
        folds = rows.row_fold[r] != 0
        if folds and fold_slice[t] != number:
            fold_slice[t] = number if fold_slice[t] == NO_FOLD else SEVERAL_SLICES
        first, last = rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]
        if last > first:
            is_computed[t] = True
        for i in range(first, last):
            s = rows.source[i]
            entries[s] = min(entries[s] + 1, 2)
            if rows.source_role[i] == _ADDRESS:
                is_counter[t] = True
            if folds:
                contributes[s] = True
            if private[s]:
                if reader[s] < 0:
                    reader[s] = t
                elif reader[s] != t:
                    has_others[s] = True
        _note_shared(rows, first, last, is_counter)


@compiled_in_place
def note_beginnings(rows: Any, is_fixed: Any, found: Any) -> None:
    """Note how the values of a slice begin; those that are fixed never change."""
    begun, missing, chain, chains, goes_on, reads = found
    for r in range(len(rows.row_sink)):
        t, hash_, changing = rows.row_sink[r], np.int64(0), 0
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            reads[rows.source[i]] += rows.row_count[r]
            hash_ += mixed(0, rows.source[i])
            changing += not is_fixed[rows.source[i]]
        if rows.row_accumulates[r]:
            begun[t] -= rows.row_count[r]
            goes_on[t] = rows.row_count[r] if goes_on[t] in (0, rows.row_count[r]) else -1
            continue
        missing[t] += changing
        if chains[t] == 0 or chain[t] != hash_:
            chain[t] = hash_
            chains[t] = min(chains[t] + 1, 2)


@compiled_in_place
def drop_changing(rows: Any, is_fixed: Any, chosen: Any) -> Any:
    """Leave out ``chosen`` values that are made of one that is neither fixed nor chosen; how many."""
    dropped = 0
    for r in range(len(rows.row_sink)):
        if not chosen[rows.row_sink[r]]:
            continue
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            if not (is_fixed[rows.source[i]] or chosen[rows.source[i]]):
                chosen[rows.row_sink[r]] = False
        dropped += not chosen[rows.row_sink[r]]
    return dropped


@compiled_inline
def _has_leaf(rows: Any, term: Any, leaf: Any) -> Any:
    """Whether a term of several operands has a leaf among them."""
    if rows.source_ptr[term + 1] - rows.source_ptr[term] < 2:
        return False
    found = False
    for i in range(rows.source_ptr[term], rows.source_ptr[term + 1]):
        found |= leaf[rows.source[i]]
    return found


@compiled_inline
def _point_to_partner(rows: Any, term: Any, leaf: Any, times: Any, target: Any) -> None:
    """Set the target of the leaves of a term to its first operand used once, if possible not a leaf."""
    partner, is_leaf = np.int64(-1), True
    for i in range(rows.source_ptr[term], rows.source_ptr[term + 1]):
        v = rows.source[i]
        if times[v] == 1 and (partner < 0 or (is_leaf and not leaf[v])):
            partner, is_leaf = np.int64(v), leaf[v]
    if partner < 0:
        return
    for i in range(rows.source_ptr[term], rows.source_ptr[term + 1]):
        if leaf[rows.source[i]]:
            target[rows.source[i]] = partner


@compiled_inline
def _count_operands(rows: Any, row: Any, leaf: Any, sink: Any, latest: Any, times: Any) -> None:
    """Count how often values are operands of terms with leaves; ``latest``: the sink they were seen at."""
    for t in range(rows.term_ptr[row], rows.term_ptr[row + 1]):
        if not _has_leaf(rows, t, leaf):
            continue
        for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
            v = rows.source[i]
            if latest[v] != sink:
                latest[v] = sink
                times[v] = 0
            times[v] += 1


@compiled_in_place
def point_leaves_to_sinks(rows: Any, leaf: Any, target: Any, wanted: Any) -> None:
    """Set the target of leaves to the sink; only mark rows that fold, with a leaf in a term of several."""
    for r in range(len(rows.row_sink)):
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            if rows.row_fold[r]:
                wanted[r] |= _has_leaf(rows, t, leaf)
                continue
            for i in range(rows.source_ptr[t], rows.source_ptr[t + 1]):
                if leaf[rows.source[i]]:
                    target[rows.source[i]] = rows.row_sink[r]


@compiled_in_place
def point_leaves_to_operands(
    rows: Any, row_order: Any, leaf: Any, times: Any, latest: Any, target: Any
) -> None:
    """Set the target of leaves in terms of several operands to an operand that enters the sink once.

    ``row_order`` lists the rows by sink, all of a sink. What a sink uses repeatedly is counted in its terms
    with leaves, in ``times`` for the sink in ``latest`` (-1 before).
    """
    begin = 0
    while begin < len(row_order):
        sink = rows.row_sink[row_order[begin]]
        end = begin
        while end < len(row_order) and rows.row_sink[row_order[end]] == sink:
            if rows.row_fold[row_order[end]]:
                _count_operands(rows, row_order[end], leaf, sink, latest, times)
            end += 1
        for r in row_order[begin:end]:
            for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
                if rows.row_fold[r] and _has_leaf(rows, t, leaf):
                    _point_to_partner(rows, t, leaf, times, target)
        begin = end


@compiled
def root(parent: Any, v: Any) -> Any:
    """Return the root of the set of ``v``, and shorten the way to it."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@compiled
def unite(parent: Any, a: Any, b: Any) -> None:
    """Join two sets; the smallest member is the root."""
    a, b = root(parent, a), root(parent, b)
    parent[max(a, b)] = min(a, b)


@compiled
def unite_targets(target: Any, parent: Any) -> None:
    """Write the first vertex of the set of each vertex that its target connects it with to ``parent``."""
    for v in range(len(target)):
        parent[v] = v
    for v in range(len(target)):
        if target[v] != v:
            unite(parent, v, np.int64(target[v]))
    for v in range(len(target)):
        parent[v] = root(parent, v)


_ADDRESS = int(SourceRole.ADDRESS)
NO_ROOT = np.iinfo(np.int32).max  # in a list of roots: none
ROLES = 4  # a source and its role are one word: source * 4 + role


@compiled
def close(node: Any, steps: Any, closure: Any, used: Any, limit: Any, where: Any) -> Any:
    """Write the sources of the nodes from ``node`` on, whose ``start`` is negative, behind ``used`` entries.

    ``where``: the entry a vertex had last; others as in :mod:`.dissolve`. Returns the node that does not fit
    or exceeds ``limit`` (or the number of nodes), entries used, entries needed with that node, repetitions
    included.
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

    ``where`` says at which word a value was put last. Returns where they end, and if the sink is one.
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
def dissolve_rows(rows: Any, gone: Any, closure: Any, result: Any) -> None:
    """Replace registers by their sources in all rows that stay."""
    origin, accumulates, pointer, word, hash_ = result
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


@compiled
def make_in_order(start: Any, sink: Any, first: Any, made: Any, missing: Any) -> None:
    """Lower how many sources each value is ``missing``, int64[V], as those that miss none are ``made``.

    Values made of each other round a loop keep some. ``sink`` has the readers of each from ``start`` on;
    values ``first`` miss none.
    """
    stack, depth = np.empty(len(missing), np.int64), len(first)
    stack[:depth] = first
    while depth > 0:
        depth -= 1
        v = stack[depth]
        for at in range(start[v], start[v + 1]):
            missing[sink[at]] -= 1
            if missing[sink[at]] == 0 and made[sink[at]]:
                stack[depth] = sink[at]
                depth += 1


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
