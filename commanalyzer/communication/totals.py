"""What counting needs of all rows of a graph, whatever the owners: computed once, for all decompositions.

Also values that decide how long all go on, by what :mod:`commanalyzer.program.frontend.decisions` adds to a
program: who contributes to one has to know it, too. A tolerance test on a sum sends the parts of the sum to
one node, and the sum back to all that have parts of it (an all-reduce): 2 (p - 1) words per test. Who gets
the value anyway, or what was made of it alone, is not sent it again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication import kernels
from commanalyzer.communication.messages.transfers import Transfers, pairs
from commanalyzer.foundation.compiled import frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph, stand_for, values_of
from commanalyzer.graph.value_graph import (
    Bool,
    Int32,
    Int64,
    expand_ranges,
    pointer_from_counts,
    sink_of_source,
)
from commanalyzer.program.frontend.decisions import DECISION, USES

_ALWAYS = np.iinfo(np.int64).max
Whole = TypeVar("Whole", np.int32, np.int64)
_MOST_LEVELS = 8  # in time; arrays of vectors have as many members, but these are computed from themselves
_LONGEST = 4  # a sum, its root, the same relative to another one, stored: what is longer is none of these


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions of a program."""

    is_variable: Bool  # [V], what only stands for a decision: nothing is sent to it
    path: Int32  # [D, k], a value that decides, the one it was made of alone, and so on; -1 behind the end
    count: Int64  # [D], how often
    made: Int32  # [2, E], values that were made of one of these alone, and of which

    @classmethod
    def of(cls, graph: AnyGraph) -> Decisions | None:
        """Return the decisions of ``graph``, ``None`` if there are none."""
        is_variable, decides = stand_for(graph, *USES), stand_for(graph, DECISION)
        if not is_variable.any():
            return None
        found, alone = [(np.zeros(0, np.int32), np.zeros(0, np.int64))], []
        for rows in row_slices(graph):
            begin, end = rows.source_ptr[rows.term_ptr[:-1]], rows.source_ptr[rows.term_ptr[1:]]
            only = np.flatnonzero(end - begin == 1)
            alone.append((rows.row_sink[only], rows.source[begin[only]], rows.row_count[only]))
            row = np.flatnonzero(decides[rows.row_sink])
            of, at = _entries(begin[row], end[row])
            found.append((rows.source[at], rows.row_count[row[of]]))
        sink, source, count = (np.concatenate(columns) for columns in zip(*alone, strict=True))
        value, number = (np.concatenate(columns) for columns in zip(*found, strict=True))
        order = np.argsort(sink, kind="stable")
        path, number = _sums(value[:, None].astype(np.int32), number.astype(np.int64))
        paths, counts = [path], [number]
        for _ in range(_LONGEST - 1):
            last = paths[-1][:, -1]
            longer, at = _entries(*(np.searchsorted(sink, last, side, order) for side in ("left", "right")))
            at = order[at]
            is_new = np.all(paths[-1][longer] != source[at][:, None], axis=1)
            longer, at = longer[is_new], at[is_new]
            path = np.column_stack((paths[-1][longer], source[at])).astype(np.int32)
            path, number = _sums(path, np.minimum(counts[-1][longer], count[at]))
            paths.append(path)
            counts.append(number)
        wide = [np.pad(p, ((0, 0), (0, _LONGEST - p.shape[1])), constant_values=-1) for p in paths]
        path = np.concatenate(wide)
        of_path = np.isin(source, path) & ~is_variable[sink]
        return cls(is_variable, path, np.concatenate(counts), np.stack((sink, source))[:, of_path])

    def told(
        self, graph: AnyGraph, part: Int32, num_parts: int, expand: Transfers, fold: Transfers
    ) -> Transfers:
        """Return ``expand`` and, in the same order, what tells the contributors of ``fold`` the decisions.

        What is told for one decision is known for others that are made of it alone.
        """
        step = np.count_nonzero(self.path >= 0, axis=1) - 1
        last = self.path[np.arange(len(step)), step]
        order = np.argsort(fold.value, kind="stable")
        of, at = _entries(*(np.searchsorted(fold.value, last, side, order) for side in ("left", "right")))
        receiver, path = fold.sender[order[at]][:, None], self.path[of]
        wanted, is_own = pairs(path, receiver, num_parts), part[path] == receiver
        mine = pairs(expand.value, expand.receiver, num_parts)
        got, often, told = mine, expand.high, [(wanted[:0, :1], self.count[:0])]
        for length in range(_LONGEST):
            known = np.where(is_own, _ALWAYS, self._known(part, num_parts, got, often, wanted))
            rest = self.count[of] - np.where(path >= 0, known, 0).max(axis=1)
            is_told = (rest > 0) & (step[of] == length)
            pair, count = _sums(wanted[is_told, :1], rest[is_told])
            count = np.minimum(count, np.maximum(values_of(graph, "versions", pair[:, 0] // num_parts), 1))
            told.append((pair, count))
            behind = np.searchsorted(got, pair[:, 0], "right")
            got, often = np.insert(got, behind, pair[:, 0]), np.insert(often, behind, count)
        pair, count = _sums(*(np.concatenate(each) for each in zip(*told, strict=True)))
        if not len(pair):
            return expand
        (value, to), at = np.divmod(pair[:, 0], num_parts), np.searchsorted(mine, pair[:, 0])
        is_new = np.append(mine, -1)[at] != pair[:, 0]
        more = np.bincount(at[~is_new], count[~is_new], len(mine)).astype(np.int64)
        widths = values_of(graph, "width_bytes", value).astype(np.int64)
        new = (c[is_new] for c in (value, part[value], to, count, count, count, widths))
        again = replace(expand, low=expand.low + more, count=expand.count + more, high=expand.high + more)
        both = zip((getattr(again, f.name) for f in fields(Transfers)), new, strict=True)
        return Transfers(*(np.insert(old, at[is_new], each) for old, each in both))

    def _known(self, part: Int32, num_parts: int, got: Int64, often: Int64, wanted: Int64) -> Int64:
        """How often receivers ``got`` the values of ``wanted`` pairs, or what was made of these alone."""
        made, of_which = self.made
        receivers = np.arange(num_parts, dtype=np.int32)[:, None]
        count = _looked_up(got, often, pairs(made, receivers, num_parts))
        count = np.where(part[made] == receivers, _ALWAYS, count).ravel()
        pair = pairs(of_which, receivers, num_parts).ravel()
        most = np.lexsort((-count, pair))
        pair, first = np.unique(pair[most], return_index=True)
        return np.maximum(_looked_up(got, often, wanted), _looked_up(pair, count[most][first], wanted))


def _looked_up(keys: Int64, values: Int64, wanted: Int64) -> Int64:
    """Values of ``wanted`` keys, 0 for those that are none of the ascending ``keys``."""
    if not len(keys):
        return np.zeros(wanted.shape, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)


def _entries(first: NDArray[np.intp], behind: NDArray[np.intp]) -> tuple[NDArray[np.intp], Int64]:
    """Number of the range, and place, of every entry of the ranges from ``first`` to before ``behind``."""
    times = behind - first
    return np.repeat(np.arange(len(first)), times), expand_ranges(first, times)


def _sums(path: NDArray[Whole], count: Int64) -> tuple[NDArray[Whole], Int64]:
    """Distinct rows of int[n, k], with their counts added up."""
    distinct, number = np.unique(path, axis=0, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, number.ravel(), count)
    return distinct, total


@dataclass(frozen=True, slots=True)
class GraphTotals:
    """Sums over the rows of each sink."""

    # [V], versions that start a new round: made without reading the previous version. The input version is
    # one of them. Successive ``x += term`` versions belong to the round they continue. Wide where they are
    # many.
    rounds: Int32 | Int64
    site: Int32  # [V], site that most often stores to the vertex (the latest on a tie), -1 for none
    # [V], terms that read the value (flows from it), their complement where ``read`` is more than ``rounds``
    # and one.
    readers: Int32
    reads: Int64  # [2, V], how often the row that read it most did, and all rows together
    # [V], versions that are read, in the order in which rows happened first: where they are more than start
    # rounds, what reads the value sees partial results.
    read: Int64
    remains: Bool  # [V], in memory, or made once: may be needed where nobody is seen to read it
    # [V], versions, at least 1, that a row has seen for certain if it reads as often. It may have read twice
    # what is an input or made of no other value, unless steps in time read the value as often as there are
    # versions, and what rows that make it equally often (stages of a step) leave between them.
    certain: Int64
    writers: kernels.Writers
    even: Int32  # :func:`sums_of_constants`
    level: Int64  # [V], :func:`_levels`
    decisions: Decisions | None = None  # None if there are none

    def combined_at_least(self, value: Int32, often: Int64, read: Int64) -> Int64:
        """int64[K], how often sums made so often are needed, of ``read``; not all readers are seen."""
        is_unseen = self.remains[value] & (self.read[value] == 0)
        return np.where(is_unseen, often, np.minimum(often, read))


def totals_of(graph: AnyGraph) -> GraphTotals:
    """Return the totals of ``graph``."""
    v = graph.num_vertices
    rounds, given, most, others, makers, steps, read = (np.zeros(v, np.int64) for _ in range(7))
    reads, state = np.zeros((2, v), np.int64), np.zeros((5, v), np.int64)
    site, readers = np.full(v, -1, np.int32), np.zeros(v, np.int32)
    given += graph.is_input
    for rows in row_slices(graph):
        kernels.add_totals(rows, (rounds, given, most, others, makers), site, (readers, reads, steps))
    state[0], state[3], first = given > 0, -1, 0
    for rows in row_slices(graph):
        kernels.count_read(rows, first, state, makers, read)
        first += rows.num_rows
    certain = graph.versions - np.where(steps < graph.versions, given, 0) - others
    certain = np.maximum(certain, np.clip(most, 1, graph.versions))
    del most, others, given, steps, state
    writers = _writers(graph, np.where(read > reads[0], makers, 0))
    rounds += graph.is_input
    rounds = rounds.astype(np.int32) if rounds.max(initial=0) < 1 << 31 else rounds
    remains = ~graph.is_register | (rounds <= 1)
    np.bitwise_not(readers, out=readers, where=read > np.maximum(rounds, 1))
    found = rounds, site, readers, reads, read, remains, certain, writers
    return GraphTotals(*found, sums_of_constants(graph), _levels(graph), Decisions.of(graph))


def _levels(graph: AnyGraph) -> Int64:
    """int64[V], which level in time (``u[t % 2]``) of its array each value is of; 0 where there are none.

    Levels are the planes of an array with few that are computed from each other, never from themselves.
    """
    sizes = ((o.size_bytes, o.strides[0]) if o.strides else (0, 0) for o in graph.objects)
    planes = np.array([stride * (size <= _MOST_LEVELS * stride) for size, stride in sizes] or [0])
    home = graph.home_object
    step = planes[home]
    level = np.where(step > 0, graph.home_offset // np.maximum(step, 1), 0)
    within, across = np.zeros((2, len(planes)), np.bool_)
    for rows in row_slices(graph) if level.any() else ():
        sink = sink_of_source(rows)
        near = (step[sink] > 0) & (home[sink] == home[rows.source]) & (sink != rows.source)
        is_same = level[sink] == level[rows.source]
        within[home[sink[near & is_same]]] = True
        across[home[sink[near & ~is_same]]] = True
    return np.where((across & ~within)[home], level, 0)


def sums_of_constants(graph: AnyGraph) -> Int32:
    """Return int32[K], registers that combine terms that are made of constants: each part makes its share.

    Who makes a term needs nothing for it. Each part but the owner's sends one partial result.
    """
    if not any(site.kind == "register" and site.fold for site in graph.sites):
        return np.zeros(0, np.int32)
    is_sum, is_other = np.zeros((2, graph.num_vertices), np.bool_)
    for rows in row_slices(graph):
        is_made = (np.diff(rows.row_ptr) == 0) & ~rows.row_accumulates & (rows.row_fold != 0)
        is_sum[rows.row_sink[is_made]] = True
        is_other[rows.row_sink[~is_made]] = True
    return np.flatnonzero(is_sum & ~is_other & graph.is_register).astype(np.int32)


def _writers(graph: AnyGraph, makers: Int64) -> kernels.Writers:
    """Return the rows that make values, of which there are ``makers`` (int64[V])."""
    ptr = pointer_from_counts(makers if graph.num_rows <= kernels.MOST_ROWS else np.zeros_like(makers))
    writers = kernels.Writers(graph.versions, ptr, *np.empty((2, ptr[-1]), np.int32))
    at, first = ptr[:-1].copy(), 0
    for rows in row_slices(graph) if ptr[-1] else ():
        kernels.add_writers(rows, first, writers, at)
        first += rows.num_rows
    return kernels.Writers(*(frozen(each, each.dtype) for each in writers))
