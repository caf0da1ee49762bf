"""What the measurements need of a message-passing library; :mod:`.mpi` provides it.

The measurements are written against this interface, so that the same code runs on a real network and on
simulated ones whose bandwidth and latency are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Buffer = NDArray[np.uint8]
R = TypeVar("R")


class Communicator(Protocol[R]):
    """A group of ranks; ``R`` is the library's type of requests."""

    @property
    def rank(self) -> int:
        """This rank."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    def clock_s(self) -> float:
        """Time since some moment of the past, seconds."""

    def work(self, units: int) -> None:
        """Compute ``units`` equal pieces of work without communicating."""

    def barrier(self) -> None:
        """Return after all ranks have called it."""

    def prepare_send(self, buffer: Buffer, target: int) -> R:
        """Persistent request that sends ``buffer`` each time it is started."""

    def prepare_receive(self, buffer: Buffer, source: int) -> R:
        """Persistent request that receives into ``buffer`` each time it is started."""

    def start(self, requests: Sequence[R]) -> None:
        """Start persistent requests with one call."""

    def wait(self, requests: Sequence[R]) -> None:
        """Return when all started requests are complete."""

    def release(self, requests: Sequence[R]) -> None:
        """Free persistent requests that are not active."""

    def send(self, buffer: Buffer, target: int) -> None:
        """Blocking send."""

    def receive(self, buffer: Buffer, source: int) -> None:
        """Blocking receive."""

    def send_to_nobody(self, buffer: Buffer) -> None:
        """Blocking send that moves nothing: what a call costs without a network."""

    def allreduce(self, values: NDArray[np.float64], result: NDArray[np.float64]) -> None:
        """Sum of ``values`` over all ranks."""

    def broadcast(self, buffer: Buffer) -> None:
        """``buffer`` of rank 0 on all ranks."""

    def largest(self, value: float) -> float:
        """Largest ``value`` of all ranks, for decisions that all must take alike."""

    def gather(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``values`` of every rank, float64[ranks, n], on rank 0; empty elsewhere."""

    def gather_texts(self, text: str) -> tuple[str, ...]:
        """``text`` of every rank, on all ranks."""

    def split(self, is_member: bool) -> Self | None:
        """Group of the ranks that are members, in their order; ``None`` for the others."""
