"""When messages are sent: a communication matrix spread over rounds, with work between them.

A result knows bytes and messages per pair of nodes for the whole region, not their order. The order assumed
here is that of an iterative program: in every round a node receives and sends what is due, waits for all of
it, and computes its share. The busiest pair of nodes sends one message in each round, so there are as many
rounds as it has messages; pairs with fewer messages send in rounds at even distances, first in the first one.
Bytes of a pair are divided evenly among its messages.

Where a step is known to have several phases that wait for each other, each is a round of its own: the
messages of phase k are sent in the k-th round of a step, and a node computes the same share in each.

Values that nearly everybody reads or contributes to (hubs) are collective operations at the ends of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import ConfigError

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Operation:
    """A collective operation of all nodes that is repeated.

    Attributes:
        kind: MPI operation.
        root: Node that the values belong to (any one for an allreduce).
        size_bytes: Bytes per operation, >= 1.
        count: Operations, >= 1.
    """

    kind: Literal["bcast", "reduce", "allreduce"]
    root: int
    size_bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Messages in rounds.

    Attributes:
        num_nodes: Node count p.
        num_rounds: Rounds that are simulated.
        all_rounds: Rounds of the program; more than ``num_rounds`` if only its first part is simulated.
        round: int64[M], round of each message.
        sender: int64[M], node.
        receiver: int64[M], node.
        size_bytes: int64[M].
        operations: Collective operations, counted for the simulated rounds.
    """

    num_nodes: int
    num_rounds: int
    all_rounds: int
    round: Int64
    sender: Int64
    receiver: Int64
    size_bytes: Int64
    operations: tuple[Operation, ...] = ()

    @property
    def scale(self) -> float:
        """Time of the program over time of its simulated part."""
        return self.all_rounds / self.num_rounds


def make_schedule(communication: Communication, most_rounds: int = 500) -> Schedule:
    """Spread the messages of a decomposition over rounds.

    Args:
        communication: Matrix of bytes and messages, and collectives where they are known.
        most_rounds: Simulate no more rounds than this; of longer programs the same share of every pair's
            messages is kept, of the size they have.

    Raises:
        ConfigError: If ``most_rounds`` is not positive.
    """
    if most_rounds < 1:
        raise ConfigError(f"expected at least one round to simulate, found {most_rounds}")
    size_bytes, counted = _exchanges(communication)
    phases = len(size_bytes)
    operations = collective_operations(communication.collectives or ())
    phase, sender, receiver = np.nonzero(size_bytes)
    total_bytes = size_bytes[phase, sender, receiver]
    # Bytes need a message; messages are counted by arrays, and none may be counted for a lone value.
    messages = np.maximum(counted[phase, sender, receiver], 1)
    all_steps = max(int(messages.max(initial=1)), max((item.count for item in operations), default=1))
    steps = min(all_steps, max(most_rounds // phases, 1))
    kept = _share(messages, steps, all_steps)
    kept_bytes = np.rint(total_bytes * (kept / messages)).astype(np.int64)
    pair = np.repeat(np.arange(len(kept)), kept)
    number = np.arange(int(kept.sum())) - np.repeat(np.cumsum(kept) - kept, kept)
    whole, count = kept_bytes[pair], kept[pair]
    return Schedule(
        communication.num_parts,
        steps * phases,
        all_steps * phases,
        number * steps // count * phases + phase[pair],
        sender[pair],
        receiver[pair],
        whole * (number + 1) // count - whole * number // count,
        tuple(_shortened(item, steps, all_steps) for item in operations),
    )


def _exchanges(communication: Communication) -> tuple[Int64, Int64]:
    """int64[K, p, p], bytes and messages of each phase; what is in none travels with the first one."""
    c = communication
    everything = c.comm_bytes if c.peer_bytes is None else c.peer_bytes
    if c.phase_bytes is None or c.phase_messages is None:
        messages = c.messages if c.peer_messages is None else c.peer_messages
        return everything[None], messages[None]
    found = c.phase_bytes.copy()
    found[0] += everything - found.sum(axis=0)
    return found, c.phase_messages


def collective_operations(found: Sequence[Collective]) -> tuple[Operation, ...]:
    """Operations of all nodes for the hub values of each array.

    As single messages of their owner, hub values would take p - 1 latencies one after another; a program uses
    a collective operation. Values that are contributed to and read by others are an allreduce, as often as
    both happen.
    """
    reduced = {(item.name, item.root): item for item in found if item.kind == "reduce"}
    result = []
    for item in found:
        other = reduced.get((item.name, item.root)) if item.kind == "bcast" else None
        both = 0
        if other is not None:
            del reduced[item.name, item.root]
            both = min(item.rounds, other.rounds)
            size = max(_size(item), _size(other))
            result.append(Operation("allreduce", item.root, size, max(both, 1)))
            if other.rounds > both:
                result.append(Operation("reduce", item.root, _size(other), other.rounds - both))
        if item.kind == "bcast" and item.rounds > both:
            result.append(Operation("bcast", item.root, _size(item), item.rounds - both))
    result += [Operation("reduce", item.root, _size(item), item.rounds) for item in reduced.values()]
    return tuple(result)


def _size(item: Collective) -> int:
    return max(int(np.ceil(item.round_bytes)), 1)


def _share(count: Int64, num_rounds: int, all_rounds: int) -> Int64:
    """Events of ``num_rounds`` of ``all_rounds`` rounds, at least one."""
    return np.asarray(np.maximum(np.rint(count * (num_rounds / all_rounds)), 1), dtype=np.int64)


def _shortened(item: Operation, num_rounds: int, all_rounds: int) -> Operation:
    count = int(_share(np.array([item.count]), num_rounds, all_rounds)[0])
    return Operation(item.kind, item.root, item.size_bytes, count)
