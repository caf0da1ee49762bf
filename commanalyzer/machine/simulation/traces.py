"""Time-independent traces of SMPI: one text file per rank that ``smpirun -replay`` executes.

    0 init
    0 irecv 1 0 4096 6        from rank 1, tag 0, 4096 elements of type 6 (one byte)
    0 isend 1 0 4096 6
    0 waitall 2
    0 allreduce 8 0 6         8 bytes, no flops for the reduction
    0 compute 1250000.0       floating-point operations
    0 finalize

Reference: F. Desprez, G. Markomanolis, M. Quinson, F. Suter, Assessing the performance of MPI applications
through time-independent trace replay, PSTI 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.simulation.schedule import Int64, Operation, Schedule

# Order within a round.
_RECEIVE, _SEND, _WAIT, _COLLECTIVE, _COMPUTE = range(5)
_BYTE = 6  # SMPI's number of a datatype of one byte

Words = NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class _Actions:
    """Lines of traces: rank, round, place within the round, and text of each."""

    rank: Int64
    round: Int64
    step: Int64
    text: Words


def schedule_traces(schedule: Schedule, work_flop: Sequence[float]) -> list[str]:
    """Text of each rank's trace.

    Args:
        schedule: Messages in rounds.
        work_flop: float[p], floating-point operations of each node in the whole region.
    """
    p = schedule.num_nodes
    actions = [*_messages(schedule), _waits(schedule), _computations(schedule, work_flop)]
    actions += [_operation(item, p, schedule.num_rounds) for item in schedule.operations]
    return joined(
        p,
        np.concatenate([a.rank for a in actions]),
        (np.concatenate([a.round for a in actions]), np.concatenate([a.step for a in actions])),
        np.concatenate([a.text for a in actions]),
    )


def joined(num_ranks: int, rank: Int64, order: tuple[Int64, ...], text: Words) -> list[str]:
    """Trace of each rank: its lines, ordered by the keys of ``order`` (the first is the major one).

    Args:
        num_ranks: Number of ranks.
        rank: int64[A], rank of each action.
        order: Sort keys, int64[A] each.
        text: Action of each line, without the rank.
    """
    place = np.lexsort((*reversed(order), rank))
    words = text[place].tolist()
    ends = np.searchsorted(rank[place], np.arange(num_ranks + 1)).tolist()
    return [
        "\n".join(f"{r} {line}" for line in ("init", *words[ends[r] : ends[r + 1]], "finalize")) + "\n"
        for r in range(num_ranks)
    ]


def point_to_point(kind: str, partner: Int64, size_bytes: Int64) -> Words:
    """Actions ``irecv`` or ``isend`` with tag 0."""
    head = np.char.add(np.char.add(f"{kind} ", partner.astype(np.str_)), " 0 ")
    return np.char.add(np.char.add(head, size_bytes.astype(np.str_)), f" {_BYTE}")


def _messages(schedule: Schedule) -> tuple[_Actions, _Actions]:
    s = schedule
    step = np.zeros(len(s.round), dtype=np.int64)
    receive = point_to_point("irecv", s.sender, s.size_bytes)
    send = point_to_point("isend", s.receiver, s.size_bytes)
    return (
        _Actions(s.receiver, s.round, step + _RECEIVE, receive),
        _Actions(s.sender, s.round, step + _SEND, send),
    )


def _waits(schedule: Schedule) -> _Actions:
    """One ``waitall`` per node and round in which it sends or receives."""
    s = schedule
    ends = np.concatenate((s.sender, s.receiver)) * s.num_rounds + np.concatenate((s.round, s.round))
    key, count = np.unique(ends, return_counts=True)
    rank, turn = np.divmod(key, s.num_rounds)
    return _Actions(rank, turn, np.full(len(key), _WAIT), np.char.add("waitall ", count.astype(np.str_)))


def _computations(schedule: Schedule, work_flop: Sequence[float]) -> _Actions:
    p, rounds = schedule.num_nodes, schedule.num_rounds
    share = np.asarray(work_flop, dtype=np.float64) / schedule.all_rounds
    text = np.char.add("compute ", share.astype(np.str_))
    ranks, turns = np.repeat(np.arange(p), rounds), np.tile(np.arange(rounds), p)
    return _Actions(ranks, turns, np.full(p * rounds, _COMPUTE), np.repeat(text, rounds))


def _operation(item: Operation, p: int, num_rounds: int) -> _Actions:
    words = {
        "bcast": f"bcast {item.size_bytes} {item.root} {_BYTE}",
        "reduce": f"reduce {item.size_bytes} 0 {item.root} {_BYTE}",
        "allreduce": f"allreduce {item.size_bytes} 0 {_BYTE}",
    }
    turns = np.arange(item.count) * num_rounds // item.count
    ranks = np.repeat(np.arange(p), item.count)
    # Sorting is stable: several collectives of a round keep the same order on all ranks.
    step = np.full(len(ranks), _COLLECTIVE)
    return _Actions(ranks, np.tile(turns, p), step, np.full(len(ranks), words[item.kind]))
