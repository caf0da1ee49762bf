"""Communication of one decomposition: the value that the counters produce and reports read.

Paper Section 4.2.3: entry (i, j) of the matrix is what part i sends to part j during the analysed region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.errors import GraphInvariantError


@dataclass(frozen=True, slots=True)
class Communication:
    """Bytes and messages between parts, for the whole analysed region.

    Attributes:
        comm_bytes: int64[p, p], bytes from row part to column part; the diagonal is zero.
        messages: int64[p, p], messages (one per pair and round).
        low_bytes: Provable lower end of the total where collapsed versions leave doubt.
        high_bytes: Upper end of the total; equal to ``low_bytes`` when the count is exact.
        singleton_bytes: Part of the total that is singleton (collective) communication, ``hpdc18`` only.

    Reference: paper Algorithm 4 (COMM_MAT).
    """

    comm_bytes: NDArray[np.int64]
    messages: NDArray[np.int64]
    low_bytes: int
    high_bytes: int
    singleton_bytes: int = 0

    def __post_init__(self) -> None:
        p = len(self.comm_bytes)
        if self.comm_bytes.shape != (p, p) or self.messages.shape != (p, p):
            raise GraphInvariantError("communication matrices must be square and of equal size")
        if np.any(np.diagonal(self.comm_bytes)) or np.any(self.comm_bytes < 0):
            raise GraphInvariantError("communication matrix needs a zero diagonal and no negative entry")
        if not self.low_bytes <= self.total_bytes <= self.high_bytes:
            raise GraphInvariantError(
                f"total {self.total_bytes} bytes lies outside its bracket "
                f"[{self.low_bytes}, {self.high_bytes}]"
            )
        self.comm_bytes.setflags(write=False)
        self.messages.setflags(write=False)

    @property
    def num_parts(self) -> int:
        """Number of parts p."""
        return len(self.comm_bytes)

    @property
    def total_bytes(self) -> int:
        """Communication cost C in bytes (paper TOTALCOST)."""
        return int(self.comm_bytes.sum())

    @property
    def total_messages(self) -> int:
        """All messages."""
        return int(self.messages.sum())
