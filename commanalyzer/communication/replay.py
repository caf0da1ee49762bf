"""What really crosses in a run whose values have given owners: every event in its order, every version once.

Counting by rows knows how often each chain happened, not when: where it leaves a bracket, the program is
recorded once more with the order of its events, and they are gone through with the owners. A value is sent
when a part reads a version of it that this part does not have; partial results are sent when the sink is
read, or starts again, behind contributions. Who computes a term, and whether partial results are combined, is
as it was counted.

Values in registers have their latest version, as have terms of reductions in loops, also where copies of
older versions are added up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from commanalyzer.communication import replay_kernels as kernels
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.kernels import TermOwners
from commanalyzer.communication.totals import GraphTotals
from commanalyzer.communication.uses import owner_codes
from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.timeline import Timeline
from commanalyzer.graph.value_graph import Bool, Int32, ValueGraph


def replayed(
    charges: Charges,
    graph: ValueGraph,
    kept: Bool,
    timeline: Timeline,
    part: Int32,
    hubs: Bool,
    totals: GraphTotals,
) -> Charges:
    """Return ``charges`` with the numbers of transfers that the run needs, both ends of each bracket.

    ``kept`` (bool[R]) are the rows of the recording that became those of ``graph``, ``timeline`` says when
    they happened; ``hubs`` (bool[V]) do not decide where a term is computed. Raises ``GraphInvariantError``
    if a value is needed that was not counted.
    """
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    row = np.where(timeline.row >= 0, number[timeline.row], -1).astype(np.int32)
    renamed = timeline.sink.copy()
    renamed[row >= 0] = graph.rows.row_sink[row[row >= 0]]
    renamed[(timeline.row >= 0) & (row < 0)] = kernels.NO_STORE  # its value was stored with another row
    decided = totals.decisions
    removed = np.zeros(0, np.bool_) if decided is None else decided.is_variable
    readers = totals.readers if charges.splits_terms else totals.readers[:0]
    sides = (charges.expand.value, charges.expand.receiver), (charges.fold.value, charges.fold.sender)
    every = np.arange(graph.num_vertices + 1)
    pairs = tuple((np.searchsorted(value, every), frozen(other, np.int32)) for value, other in sides)
    code = owner_codes(part, hubs, charges.num_parts)
    told = TermOwners(code, frozen(readers, np.int32)), frozen(removed, np.bool_)
    events = timeline.event, row, renamed, timeline.fill, timeline.vertex
    earlier = kernels.has_earlier(timeline.event, np.zeros(graph.num_vertices, np.bool_))
    entries = len(charges.expand)
    for _ in range(2):  # once more where there are more entries than that
        several = np.empty((entries, 2), np.int64)
        sent, combined = np.zeros(len(charges.expand), np.int64), np.zeros((2, len(charges.fold)), np.int64)
        seen, counters = np.zeros(len(sent), np.bool_), np.zeros(2, np.int64)
        kernels.replay(graph.rows, events, told, pairs, earlier, (sent, combined, seen, several, counters))
        missing, entries = counters.tolist()
        if entries <= len(several):
            break
    if missing:
        raise GraphInvariantError(f"{missing} reads of values that were not counted as sent")
    pair, versions = np.unique(np.unique(several[:entries], axis=0)[:, 0], return_counts=True)
    sent[pair] = versions
    # nobody reads what only tells decisions: it is sent as often as they are made
    sent = np.where(seen, sent, charges.expand.count)
    expand, value = replace(charges.expand, low=sent, count=sent, high=sent), charges.fold.value
    combined = np.where(np.isin(value, totals.even), charges.fold.count, combined)  # without an event
    made, needed = combined[0], totals.combined_at_least(value, *combined)
    count = np.where(totals.remains[value], made, needed)  # memory keeps the last sum, whoever reads it
    return replace(charges, expand=expand, fold=replace(charges.fold, low=needed, count=count, high=made))
