from dataclasses import fields, replace

import numpy as np
import pytest

from commanalyzer.communication.invariants import check_charges, check_matrix
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.volume import charge_volume
from commanalyzer.foundation.errors import GraphInvariantError
from tests.graphs import build, row

GRAPH = build(3, [row(1, 0), row(2, 0)])
PART = np.array([0, 1, 2], dtype=np.int32)
CHARGES = charge_volume(GRAPH, PART, 3)


def pick(items: Transfers, index: list[int]) -> Transfers:
    return Transfers(*(getattr(items, f.name)[index] for f in fields(Transfers)))


def test_missing_transfer() -> None:
    assert len(CHARGES.expand) == 2
    broken = replace(CHARGES, expand=pick(CHARGES.expand, [0]))
    with pytest.raises(GraphInvariantError, match="1 of 2 flows between parts are in no transfer"):
        check_charges(GRAPH, PART, broken)
    with pytest.raises(GraphInvariantError, match="add up to 8 bytes, the matrix to 16"):
        check_matrix(broken, CHARGES.communication(GRAPH, PART))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (pick(CHARGES.expand, [0, 1, 1]), "same value and part twice"),
        (replace(CHARGES.expand, sender=np.array([2, 1], np.int32)), "owner of its value"),
    ],
)
def test_broken_transfers_are_refused(broken: Transfers, message: str) -> None:
    with pytest.raises(GraphInvariantError, match=message):
        check_charges(GRAPH, PART, replace(CHARGES, expand=broken))


def test_transfer_to_itself() -> None:
    items = CHARGES.expand
    with pytest.raises(GraphInvariantError, match="to itself"):
        replace(items, receiver=items.sender)


def test_bytes_per_object() -> None:
    apart = build(3, [row(1, 0), row(2, 0)], exits=[0])
    assert CHARGES.exchanges(apart, PART).bytes_per_object().tolist() == [0, 0, 16]
    assert CHARGES.exchanges(GRAPH, PART).bytes_per_object().tolist() == [16, 0, 0]
