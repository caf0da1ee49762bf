"""Timed communication: pattern in, this rank's times out. No statistics, no decisions.

Every kernel is called by all ranks of the communicator. Each repetition begins with one barrier; what takes
no part in a repetition is NaN. Loops in Python are over repetitions only: what is timed is one call into
the library, or two.

Who exchanges with whom in a measurement: random perfect matchings and random rings.

Every rank computes the same patterns from the same seed, so that no rank has to be told.

Reference:
    Effective bisection bandwidth by random matchings: Hoefler, Schneider, Lumsdaine, "Multistage switches
    are not crossbars", CLUSTER 2008. Random rings: paper Section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.measuring.mpi import MpiCommunicator, Request

IDLE = -1

Ranks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExchangePattern:
    """Rounds in which every rank sends to one rank and receives from one."""

    name: str  # what the pattern is called in results
    targets: Ranks  # [rounds, ranks], the rank that each rank sends to, ``IDLE`` for none
    sources: Ranks  # [rounds, ranks], the rank that each rank receives from, ``IDLE`` for none

    def __post_init__(self) -> None:
        if self.targets.shape != self.sources.shape or self.targets.ndim != 2:
            raise ValueError(f"expected two equal tables, found {self.targets.shape}, {self.sources.shape}")
        self.targets.setflags(write=False)
        self.sources.setflags(write=False)

    @property
    def num_rounds(self) -> int:
        """Rounds of the pattern."""
        return len(self.targets)


def random_matchings(num_ranks: int, num_rounds: int, seed: int) -> ExchangePattern:
    """Random perfect matchings of at least two ranks: partners send to each other in both directions.

    With an odd number of ranks, another one is idle in each round.
    """
    order = _permutations(num_ranks, num_rounds, seed)
    pairs = order[:, : num_ranks - num_ranks % 2]
    rounds = np.arange(num_rounds)[:, None]
    partners = np.full((num_rounds, num_ranks), IDLE, dtype=np.int64)
    partners[rounds, pairs[:, 0::2]] = pairs[:, 1::2]
    partners[rounds, pairs[:, 1::2]] = pairs[:, 0::2]
    return ExchangePattern("matching", partners, partners.copy())


def random_rings(num_ranks: int, num_rounds: int, seed: int) -> ExchangePattern:
    """Random rings through all, at least two, ranks: each sends to its successor."""
    order = _permutations(num_ranks, num_rounds, [seed, num_ranks])
    rounds = np.arange(num_rounds)[:, None]
    successors = np.empty((num_rounds, num_ranks), dtype=np.int64)
    successors[rounds, order] = np.roll(order, -1, axis=1)
    predecessors = np.empty_like(successors)
    predecessors[rounds, order] = np.roll(order, 1, axis=1)
    return ExchangePattern("ring", successors, predecessors)


def shifts(num_ranks: int, num_rounds: int, stride: int) -> ExchangePattern:
    """Neighbours at growing distances: in round 0 to r + stride, then to r - stride, r + 2 stride, ...

    ``num_rounds`` are messages of each rank; with a stride of one node's ranks, neighbours are on the next
    node.
    """
    number = np.arange(num_rounds)
    offset = (number // 2 + 1) * np.where(number % 2 == 0, stride, -stride)
    ranks = np.arange(num_ranks, dtype=np.int64)
    targets, sources = ((ranks + sign * offset[:, None]) % num_ranks for sign in (1, -1))
    itself = targets == ranks
    return ExchangePattern("shift", np.where(itself, IDLE, targets), np.where(itself, IDLE, sources))


def rank_counts(num_ranks: int) -> tuple[int, ...]:
    """Rank counts to measure at: powers of two up to ``num_ranks``, and ``num_ranks`` itself."""
    powers = [1 << k for k in range(1, num_ranks.bit_length()) if 1 << k <= num_ranks]
    return tuple(sorted({*powers, num_ranks}))


def _permutations(num_ranks: int, num_rounds: int, seed: int | list[int]) -> Ranks:
    if num_ranks < 2 or num_rounds < 1:
        raise ValueError(f"expected 2 ranks and 1 round or more, found {num_ranks} and {num_rounds}")
    ranks = np.broadcast_to(np.arange(num_ranks, dtype=np.int64), (num_rounds, num_ranks))
    return np.random.default_rng(seed).permuted(ranks, axis=1)


Times = NDArray[np.float64]
Role = Literal["send", "receive", "exchange"]
Collective = Literal["allreduce", "bcast"]
_DOUBLE_BYTES = 8


def exchange_times(
    comm: MpiCommunicator, pattern: ExchangePattern, message_bytes: int, num_messages: int
) -> Times:
    """Time of ``num_messages`` messages per direction that are all under way at once, per round.

    Before each timed round the partners exchange one message, so that connections exist.

    float64[rounds], seconds for all messages; NaN where this rank is idle.
    """
    times_s = np.full(pattern.num_rounds, np.nan)
    mine = (pattern.targets[:, comm.rank], pattern.sources[:, comm.rank])
    for index, receives, sends in _rounds(comm, *mine, message_bytes, num_messages):
        _complete(comm, [*receives[:1], *sends[:1]])
        requests = [*receives, *sends]
        comm.barrier()
        start_s = comm.clock_s()
        comm.start(requests)
        comm.wait(requests)
        if requests:
            times_s[index] = comm.clock_s() - start_s
    return times_s


def pattern_times(
    comm: MpiCommunicator, pattern: ExchangePattern, message_bytes: int, num_repetitions: int
) -> Times:
    """Time of a phase in which every round of the pattern is a message, all under way at once.

    ``num_repetitions`` phases are timed, after one that is not.

    float64[repetitions], seconds.
    """
    outgoing = np.zeros(message_bytes, dtype=np.uint8)
    incoming = np.zeros((pattern.num_rounds, message_bytes), dtype=np.uint8)
    sources, targets = pattern.sources[:, comm.rank].tolist(), pattern.targets[:, comm.rank].tolist()
    requests = [
        comm.prepare_receive(row, source)
        for row, source in zip(incoming, sources, strict=True)
        if source != IDLE
    ]
    requests += [comm.prepare_send(outgoing, target) for target in targets if target != IDLE]
    times_s = timed(comm, num_repetitions, lambda: _complete(comm, requests))
    comm.release(requests)
    return times_s


def round_trip_times(comm: MpiCommunicator, partners: Ranks, message_bytes: int) -> Times:
    """Time of a message to the partner and back, per round, on the lower rank of each pair.

    One round trip that is not timed goes before each timed one.

    ``partners``: int64[rounds, ranks], partner of each rank, ``IDLE`` for none.

    float64[rounds], seconds; NaN on the higher ranks.
    """
    buffer = np.zeros(message_bytes, dtype=np.uint8)
    times_s = np.full(len(partners), np.nan)
    for index, partner in enumerate(partners[:, comm.rank].tolist()):
        comm.barrier()
        if partner == IDLE:
            continue
        if comm.rank > partner:
            for _ in range(2):
                comm.receive(buffer, partner)
                comm.send(buffer, partner)
            continue
        comm.send(buffer, partner)
        comm.receive(buffer, partner)
        start_s = comm.clock_s()
        comm.send(buffer, partner)
        comm.receive(buffer, partner)
        times_s[index] = comm.clock_s() - start_s
    return times_s


def call_times(comm: MpiCommunicator, num_calls: int, num_repetitions: int) -> Times:
    """Time of one call that sends nothing, float64[repetitions], seconds."""
    buffer = np.zeros(1, dtype=np.uint8)

    def calls() -> None:
        for _ in range(num_calls):
            comm.send_to_nobody(buffer)

    return timed(comm, num_repetitions, calls, warm_up=0) / num_calls


def overhead_times(
    comm: MpiCommunicator, partners: Ranks, message_bytes: int, num_messages: int
) -> tuple[Times, Times]:
    """Time that the processor needs to post sends, and to take in messages that have arrived.

    The lower rank of each pair posts ``num_messages`` sends and is timed; after a barrier the higher one
    receives and is timed. The messages are small, so that they arrive without the receiver's help.

    ``partners``: int64[rounds, ranks], partner of each rank; ``num_messages`` are those of a repetition.

    Send times and receive times, float64[rounds] each, seconds for all messages; NaN on the rank that
    was not timed.
    """
    send_s, receive_s = np.full((2, len(partners)), np.nan)
    for index, receives, sends in _rounds(comm, *_upwards(comm, partners), message_bytes, num_messages):
        comm.barrier()
        start_s = comm.clock_s()
        comm.start(sends)
        if sends:
            send_s[index] = comm.clock_s() - start_s
        comm.barrier()
        start_s = comm.clock_s()
        comm.start(receives)
        comm.wait(receives)
        if receives:
            receive_s[index] = comm.clock_s() - start_s
        comm.wait(sends)
    return send_s, receive_s


def stream_times(comm: MpiCommunicator, partners: Ranks, message_bytes: int, num_messages: int) -> Times:
    """Time until ``num_messages`` small messages, sent at once, are there; on the higher rank of each pair.

    ``partners``: int64[rounds, ranks], partner of each rank.

    float64[rounds], seconds for all messages; NaN on the senders.
    """
    times_s = np.full(len(partners), np.nan)
    for index, receives, sends in _rounds(comm, *_upwards(comm, partners), message_bytes, num_messages):
        comm.start(receives)
        comm.barrier()
        start_s = comm.clock_s()
        comm.start(sends)
        comm.wait([*receives, *sends])
        if receives:
            times_s[index] = comm.clock_s() - start_s
    return times_s


def overlapped_times(
    comm: MpiCommunicator, partners: Ranks, role: Role, message_bytes: int, work_units: int
) -> Times:
    """Time of post, work, wait, per round, on the rank that works.

    ``partners``: int64[rounds, ranks], partner of each rank. ``role``: what the working rank does: the lower
    rank of each pair sends or receives while the other one only communicates; or both ranks send, receive and
    work. ``work_units``: work between posting and waiting; 0 times the transfer alone.

    float64[rounds], seconds; NaN on the ranks that do not work.
    """
    mine, (targets, sources) = partners[:, comm.rank], _upwards(comm, partners)
    roles = {"send": (targets, sources), "receive": (sources, targets), "exchange": (mine, mine)}
    times_s = np.full(len(partners), np.nan)
    for index, receives, sends in _rounds(comm, *roles[role], message_bytes, 1):
        is_measured = mine[index] != IDLE and (role == "exchange" or comm.rank < mine[index])
        requests = [*receives, *sends]
        _complete(comm, requests)
        comm.barrier()
        start_s = comm.clock_s()
        comm.start(requests)
        if is_measured and work_units:
            comm.work(work_units)
        comm.wait(requests)
        if is_measured:
            times_s[index] = comm.clock_s() - start_s
    return times_s


def work_times(comm: MpiCommunicator, work_units: int, num_repetitions: int) -> Times:
    """Time of the work alone, float64[repetitions], seconds."""
    return timed(comm, num_repetitions, lambda: comm.work(work_units), warm_up=0)


def collective_times(
    comm: MpiCommunicator, operation: Collective, message_bytes: int, num_repetitions: int
) -> Times:
    """Time of one collective operation, per repetition, on this rank.

    ``allreduce`` is a sum of doubles, ``bcast`` from rank 0; ``message_bytes`` is the contribution of one
    rank, a multiple of 8 for ``allreduce``. One repetition before is not timed.

    float64[repetitions], seconds.
    """
    values = np.ones(max(1, message_bytes // _DOUBLE_BYTES))
    result = np.empty_like(values)
    buffer = np.zeros(message_bytes, dtype=np.uint8)
    if operation == "allreduce":
        return timed(comm, num_repetitions, lambda: comm.allreduce(values, result))
    return timed(comm, num_repetitions, lambda: comm.broadcast(buffer))


def timed(
    comm: MpiCommunicator, num_repetitions: int, action: Callable[[], object], *, warm_up: int = 1
) -> Times:
    """float64[repetitions], seconds of an action behind a barrier, after ``warm_up`` that are not timed."""
    times_s = np.empty(num_repetitions + warm_up)
    for index in range(len(times_s)):
        comm.barrier()
        start_s = comm.clock_s()
        action()
        times_s[index] = comm.clock_s() - start_s
    return times_s[warm_up:]


def _rounds(
    comm: MpiCommunicator, targets: Ranks, sources: Ranks, message_bytes: int, num_messages: int
) -> Iterator[tuple[int, list[Request], list[Request]]]:
    """Number, receives and sends of every round, freed when it is done; none of an idle partner.

    ``targets``, ``sources``: int64[rounds], partners of this rank, ``IDLE`` for none.
    """
    outgoing = np.zeros(message_bytes, dtype=np.uint8)
    incoming = np.zeros((num_messages, message_bytes), dtype=np.uint8)
    for index, (target, source) in enumerate(zip(targets.tolist(), sources.tolist(), strict=True)):
        receives = [comm.prepare_receive(row, source) for row in incoming] if source != IDLE else []
        sends = [comm.prepare_send(outgoing, target) for _ in incoming] if target != IDLE else []
        yield index, receives, sends
        comm.release([*receives, *sends])


def _upwards(comm: MpiCommunicator, partners: Ranks) -> tuple[Ranks, Ranks]:
    """int64[rounds] each, targets and sources of this rank where the lower rank of each pair sends."""
    mine = partners[:, comm.rank]
    return np.where(comm.rank < mine, mine, IDLE), np.where(comm.rank < mine, IDLE, mine)


def _complete(comm: MpiCommunicator, requests: Sequence[Request]) -> None:
    comm.start(requests)
    comm.wait(requests)


def pairwise_times(comm: MpiCommunicator, comm_bytes: NDArray[np.int64], num_rounds: int) -> Times:
    """Time of a round in which every pair of ranks exchanges its own number of bytes, all at once.

    ``comm_bytes``: int64[p, p], from the rank of the row to that of the column. One round before is not
    timed.

    float64[rounds], seconds until all messages of this rank are sent and received.
    """
    outgoing, incoming = comm_bytes[comm.rank], comm_bytes[:, comm.rank]
    requests = [
        comm.prepare_receive(np.zeros(int(incoming[k]), dtype=np.uint8), k)
        for k in np.flatnonzero(incoming).tolist()
    ]
    requests += [
        comm.prepare_send(np.zeros(int(outgoing[k]), dtype=np.uint8), k)
        for k in np.flatnonzero(outgoing).tolist()
    ]
    times_s = timed(comm, num_rounds, lambda: _complete(comm, requests))
    comm.release(requests)
    return times_s
