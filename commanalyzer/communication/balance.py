"""Work of each part: contributions to reductions where they are combined, the rest at the owner.

Which part combines a contribution is the counter's choice and depends on the owners; the work is therefore
attributed to values anew for every decomposition, in one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from commanalyzer.communication.kernels import TermOwners, home_of, owner_of
from commanalyzer.communication.totals import sums_of_constants
from commanalyzer.communication.uses import owner_codes
from commanalyzer.foundation.compiled import compiled_in_place, compiled_inline, frozen
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64, row_of_term


@dataclass(frozen=True, slots=True)
class TermWork:
    """What of the work of a graph does not depend on owners."""

    # [V], terms that all versions of a value combine, at least one per version; the work of the value is
    # shared among them
    terms: Float64
    rest: Float64  # [V], work of each value beyond that of terms that another part may compute
    has_work: bool  # any in the graph; without, there is one for each value
    even_flops: float  # work of sums of constants, of whose terms all parts compute as many

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def term_work(graph: AnyGraph) -> TermWork:
    """Return the work of the terms of ``graph``; without any work in the graph, one for each value."""
    even, work_flops = sums_of_constants(graph), graph.work_flops.copy()
    even_flops = float(work_flops[even].sum())
    work_flops[even] = 0.0
    if not work_flops.sum() > 0:
        return TermWork(np.zeros(0), np.ones(graph.num_vertices), False, even_flops)
    terms, shared = np.zeros(graph.num_vertices), np.zeros(graph.num_vertices)
    for rows in row_slices(graph):
        np.add.at(terms, rows.row_sink, rows.row_count * np.maximum(np.diff(rows.term_ptr), 1.0))
    for rows in row_slices(graph):
        entries = np.diff(rows.source_ptr)
        row = row_of_term(rows)[entries > 0]
        row = row[rows.row_fold[row] > 0]  # of terms that may be computed anywhere
        sink = rows.row_sink[row]
        np.add.at(shared, sink, rows.row_count[row] / np.maximum(terms[sink], 1.0) * work_flops[sink])
    return TermWork(terms, np.maximum(work_flops - shared, 0.0), True, even_flops)


def work_by_value(
    graph: AnyGraph,
    work: TermWork,
    removed: Bool,
    part: Int32,
    num_parts: int,
    folded: tuple[Int32, Int32],
    readers: Int32 | None = None,
) -> Float64:
    """Return float64[V], floating-point operations that are done where each value is owned; not even ones.

    Hubs, ``removed`` (bool[V]), have no say in where a term is computed. ``folded`` are sinks and parts that
    combine contributions to them; other terms are computed by the owner. ``readers`` (int32[V]) are those of
    ``GraphTotals`` where terms whose operands several parts own are computed at the rarest of them; None
    where the sink's owner computes these.
    """
    if not work.has_work:
        return np.where(removed, 0.0, work.rest)
    owners = _owners(part, removed, num_parts, folded, readers)
    done, work_flops = np.zeros(graph.num_vertices), graph.work_flops
    for rows in row_slices(graph):
        _place_work(rows, owners, work.terms, work_flops, done)
    return np.asarray(work.rest + done)


def imbalance_with_folds(
    graph: AnyGraph,
    work: TermWork,
    removed: Bool,
    part: Int32,
    num_parts: int,
    folded: tuple[Int32, Int32],
    fold_terms: Int64,
) -> float:
    """Return the largest part's work over the mean, 1.0 is perfect: of :func:`work_by_value`, and even work.

    Takes no pass over the rows: only terms that are combined are computed elsewhere than where their sink is.
    ``folded`` are int32[K] twice; ``fold_terms``, int64[K], is the number of these terms, each as often as
    its row happened.
    """
    work_flops = graph.work_flops if work.has_work else np.where(removed, 0.0, work.rest)
    load = np.bincount(part, work_flops, num_parts).astype(np.float64) + work.even_flops / num_parts
    if work.has_work:
        sink, to = folded
        moved = fold_terms / np.maximum(work.terms[sink], 1.0) * work_flops[sink]
        np.subtract.at(load, part[sink], moved)
        np.add.at(load, to, moved)
    mean = float(load.mean())
    return float(load.max()) / mean if mean > 0 else 1.0


def _owners(
    part: Int32, removed: Bool, num_parts: int, folded: tuple[Int32, Int32], readers: Int32 | None
) -> tuple[TermOwners, int, Int64, Bool]:
    """Owners, p, who combines what (sink times p plus part, ascending), sinks that are."""
    combined = np.sort(folded[0].astype(np.int64) * num_parts + folded[1])
    is_shared = np.zeros(len(part), np.bool_)
    is_shared[folded[0]] = True
    counts = frozen(np.zeros(0) if readers is None else readers, np.int32)
    owners = TermOwners(owner_codes(part, removed, num_parts), counts)
    return owners, num_parts, combined, frozen(is_shared, np.bool_)


@compiled_inline
def _place(rows: Any, row: Any, term: Any, owners: Any) -> Any:
    """Return a value of the part that computes a term of a row; ``owners`` are those of :func:`_owners`."""
    of_values, num_parts, combined, _ = owners
    home, value = home_of(rows, row, term, of_values), np.int64(rows.row_sink[row])
    key = value * num_parts + home
    at = np.searchsorted(combined, key)
    if home >= 0 and at < len(combined) and combined[at] == key:
        value = np.int64(-1)
        for v in rows.source[rows.source_ptr[term] : rows.source_ptr[term + 1]]:
            value = max(value, np.int64(v) if owner_of(of_values.code[v]) == home else value)
    return value


@compiled_in_place
def _place_work(rows: Any, owners: Any, terms: Any, work_flops: Any, done: Any) -> None:
    """Add the work of each term to ``done`` float64[V], at a value of the part that computes it."""
    is_shared = owners[3]
    for r in range(len(rows.row_sink)):
        sink = np.int64(rows.row_sink[r])
        if not (rows.row_fold[r] or is_shared[sink]):
            continue
        share = np.float64(rows.row_count[r]) / max(terms[sink], 1.0) * work_flops[sink]
        for t in range(rows.term_ptr[r], rows.term_ptr[r + 1]):
            place = _place(rows, r, t, owners) if is_shared[sink] else sink
            if rows.row_fold[r] and rows.source_ptr[t + 1] > rows.source_ptr[t]:
                done[place] += share
            elif place != sink:  # what is no sum is in what its owner does
                done[place] += share
                done[sink] -= share
