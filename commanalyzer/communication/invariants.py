"""Conservation laws of the communication matrix: between graph and matrix nothing is lost or invented."""

from __future__ import annotations

import numpy as np

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.messages.transfers import pairs
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph, stand_for
from commanalyzer.graph.value_graph import Bool, Int32, Rows, sink_of_source
from commanalyzer.program.frontend.decisions import USES


def check_charges(graph: AnyGraph, part: Int32, charges: Charges, removed: Bool | None = None) -> None:
    """Check that every flow between parts is covered by a transfer, and that every transfer has a flow.

    A flow from value v to a sink t in another part is covered if v is expanded to t's part, or if some part
    folds into t and holds v or receives it. Flows of ``removed`` (bool[V]), singletons, are booked elsewhere.
    Raises ``GraphInvariantError`` if a flow is not covered or a transfer has no reason.
    """
    removed = stand_for(graph, *USES) if removed is None else removed | stand_for(graph, *USES)
    found = [_lost(rows, part, charges, removed) for rows in row_slices(graph)]
    if lost := sum(of_rows for _, of_rows in found):
        flows = sum(of_rows for of_rows, _ in found)
        raise GraphInvariantError(f"{lost} of {flows} flows between parts are in no transfer")
    _check_senders(part, charges)


def _lost(rows: Rows, part: Int32, charges: Charges, removed: Bool) -> tuple[int, int]:
    """Return how many flows of some rows are between parts, and how many of these are in no transfer."""
    sink = sink_of_source(rows)
    foreign = part[rows.source] != part[sink]
    foreign &= ~removed[rows.source] & ~removed[sink]
    value, target = rows.source[foreign], sink[foreign]
    p = charges.num_parts
    expand, fold = charges.expand, charges.fold
    covered = np.isin(pairs(value, part[target], p), pairs(expand.value, expand.receiver, p))
    covered |= np.isin(pairs(target, part[value], p), pairs(fold.value, fold.sender, p))
    open_flow = np.flatnonzero(~covered)
    return len(value), int(np.count_nonzero(~_reached_by_fold(value[open_flow], target[open_flow], charges)))


def _reached_by_fold(value: Int32, target: Int32, charges: Charges) -> Bool:
    """Return whether a part that folds into ``target`` received ``value`` (the case of hub operands)."""
    fold, expand = charges.fold, charges.expand
    reached = np.zeros(len(value), dtype=np.bool_)
    for q in range(charges.num_parts if len(value) else 0):
        folds = np.isin(target, fold.value[fold.sender == q])
        reached |= folds & np.isin(value, expand.value[expand.receiver == q])
    return reached


def _check_senders(part: Int32, charges: Charges) -> None:
    expand, fold = charges.expand, charges.fold
    if np.any(part[expand.value] != expand.sender) or np.any(part[fold.value] != fold.receiver):
        raise GraphInvariantError("a transfer does not start or end at the owner of its value")
    for name, item, other in (("expand", expand, expand.receiver), ("fold", fold, fold.sender)):
        if len(np.unique(pairs(item.value, other, charges.num_parts))) != len(item):
            raise GraphInvariantError(f"{name} transfers contain the same value and part twice")


def check_matrix(charges: Charges, communication: Communication) -> None:
    """Raise ``GraphInvariantError`` unless the matrix holds exactly the bytes of transfers and singletons."""
    itemised = charges.comm_bytes + communication.singleton_bytes
    if itemised != communication.total_bytes:
        raise GraphInvariantError(
            f"transfers add up to {itemised} bytes, the matrix to {communication.total_bytes}"
        )
