"""Items of communication: which value goes from which part to which, and how often."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.value_graph import Int32, Int64


@dataclass(frozen=True, slots=True)
class Transfers:
    """Items of communication of one kind."""

    value: Int32  # [K], the value that is sent (expand) or contributed to (fold)
    sender: Int32  # [K], part
    receiver: Int32  # [K], part, never the sender
    low: Int64  # [K], transfers that certainly happen, one word each
    count: Int64  # [K], most likely number, which is what is printed
    high: Int64  # [K], upper end where collapsed versions leave doubt; equal to ``low`` when exact
    width_bytes: Int64  # [K], per transfer

    def __post_init__(self) -> None:
        if np.any(self.sender == self.receiver):
            raise GraphInvariantError("a part was charged for sending a value to itself")
        if np.any(self.low < 0) or np.any(self.low > self.count) or np.any(self.count > self.high):
            raise GraphInvariantError("transfer counts need 0 <= low <= count <= high")
        for f in fields(self):
            getattr(self, f.name).setflags(write=False)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def nbytes(self) -> int:
        """Memory that all columns take."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    @property
    def item_bytes(self) -> Int64:
        """int64[K], bytes of each item."""
        return self.count * self.width_bytes

    @property
    def comm_bytes(self) -> int:
        """Bytes, most likely."""
        return int(np.dot(self.count, self.width_bytes))


def pairs(value: Int32 | Int64, part: Int32, num_parts: int) -> Int64:
    """Return a number for each pair of value and part, which ascends with these."""
    return np.asarray(value.astype(np.int64) * num_parts + part)
