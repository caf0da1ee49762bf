"""When messages are sent: a communication matrix spread over rounds, with work between them.

A result knows bytes and messages per pair of nodes for the whole region, not their order. The order assumed
here is that of an iterative program: in every round a node receives and sends what is due, waits for all of
it, and computes its share. The busiest pair of nodes sends one message in each round, so there are as many
rounds as it has messages; pairs with fewer messages send in rounds at even distances, first in the first one.
Bytes of a pair are divided evenly among its messages.

Where a step is known to have several phases that wait for each other, each is a round of its own: the
messages of phase k are sent in the k-th round of a step, and a node computes the same share in each.

Values that nearly everybody reads or contributes to (hubs) are collective operations at the ends of rounds.

Time-independent traces of SMPI: one text file per rank that ``smpirun -replay`` executes.

    0 init
    0 irecv 1 0 4096 6        from rank 1, tag 0, 4096 elements of type 6 (one byte)
    0 isend 1 0 4096 6
    0 waitall 2
    0 allreduce 8 0 6         8 bytes, no flops for the reduction
    0 compute 1250000.0       floating-point operations
    0 finalize

Reference: F. Desprez, G. Markomanolis, M. Quinson, F. Suter, Assessing the performance of MPI applications
through time-independent trace replay, PSTI 2011.

Runs SimGrid's ``smpirun`` as a subprocess and reads its clock.

SimGrid (LGPL) is a separate program, not a Python dependency: ``apt-get install libsimgrid-dev``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.foundation.errors import ConfigError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.program.frontend.toolchain import run_tool

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Operation:
    """A collective operation of all nodes that is repeated."""

    kind: Literal["bcast", "reduce", "allreduce"]
    root: int  # node that the values belong to (any one for an allreduce)
    size_bytes: int  # bytes per operation, >= 1
    count: int  # operations, >= 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """Messages in rounds."""

    num_nodes: int  # node count p
    num_rounds: int  # rounds that are simulated
    all_rounds: int  # rounds of the program; more than ``num_rounds`` if only its first part is simulated
    round: Int64  # [M], round of each message
    sender: Int64  # [M], node
    receiver: Int64  # [M], node
    size_bytes: Int64  # [M]
    operations: tuple[Operation, ...] = ()  # collective operations, counted for the simulated rounds

    @property
    def scale(self) -> float:
        """Time of the program over time of its simulated part."""
        return self.all_rounds / self.num_rounds


def make_schedule(communication: Communication, most_rounds: int = 500) -> Schedule:
    """Spread the messages of a decomposition over rounds.

    Of programs with more rounds than ``most_rounds`` the same share of every pair's bytes is kept, in
    messages of the size they have, or a smaller one where it is less than that; of collectives likewise.
    Raises ``ConfigError`` if ``most_rounds`` is not positive.
    """
    if most_rounds < 1:
        raise ConfigError(f"expected at least one round to simulate, found {most_rounds}")
    size_bytes, counted = exchanges(communication)
    phases = len(size_bytes)
    operations = collective_operations(communication.collectives or ())
    phase, sender, receiver = np.nonzero(size_bytes)
    total_bytes = size_bytes[phase, sender, receiver]
    # Bytes need a message; messages are counted by arrays, and none may be counted for a lone value.
    messages = np.maximum(counted[phase, sender, receiver], 1)
    all_steps = max(int(messages.max(initial=1)), max((item.count for item in operations), default=1))
    steps = min(all_steps, max(most_rounds // phases, 1))
    kept = np.maximum(np.rint(messages * (steps / all_steps)), 1).astype(np.int64)
    kept_bytes = np.maximum(np.rint(total_bytes * (steps / all_steps)), 1).astype(np.int64)
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


def exchanges(communication: Communication) -> tuple[Int64, Int64]:
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


def _shortened(item: Operation, num_rounds: int, all_rounds: int) -> Operation:
    count = max(round(item.count * num_rounds / all_rounds), 1)
    size_bytes = round(item.size_bytes * item.count * num_rounds / (all_rounds * count))
    return Operation(item.kind, item.root, max(size_bytes, 1), count)


# Order within a round.
BARRIER, _RECEIVE, _SEND, _WAIT, _COLLECTIVE, COMPUTE = range(6)
_BYTE = 6  # SMPI's number of a datatype of one byte

Words = NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Actions:
    """Lines of traces: rank and round of each, their place within the round, and text."""

    rank: Int64
    round: Int64
    step: int
    text: Words | str  # of each, or of all


def schedule_traces(schedule: Schedule, work_flop: Sequence[float]) -> list[str]:
    """Text of each rank's trace; ``work_flop``: float[p], operations of each node in the whole region."""
    s = schedule
    actions = [*transfers(s.sender, s.receiver, s.round, s.size_bytes), _computations(s, work_flop)]
    return joined(
        s.num_nodes, [*actions, *(_operation(item, s.num_nodes, s.num_rounds) for item in s.operations)]
    )


def joined(num_ranks: int, actions: Sequence[Actions]) -> list[str]:
    """Trace of each rank: its lines, ordered by round, place within it, and as they are given."""
    rank = np.concatenate([a.rank for a in actions])
    step = np.repeat([a.step for a in actions], [len(a.rank) for a in actions])
    place = np.lexsort((step, np.concatenate([a.round for a in actions]), rank))
    words = np.concatenate([np.broadcast_to(a.text, a.rank.shape) for a in actions])[place].tolist()
    ends = np.searchsorted(rank[place], np.arange(num_ranks + 1)).tolist()
    return [
        "\n".join(f"{r} {line}" for line in ("init", *words[ends[r] : ends[r + 1]], "finalize")) + "\n"
        for r in range(num_ranks)
    ]


def transfers(sender: Int64, receiver: Int64, turn: Int64, size_bytes: Int64) -> tuple[Actions, ...]:
    """Messages, int64[M] each: all are posted at the begin of their round, and awaited by one call."""
    ranks = int(max(sender.max(initial=0), receiver.max(initial=0))) + 1
    ends = np.concatenate((turn, turn)) * ranks + np.concatenate((sender, receiver))
    key, count = np.unique(ends, return_counts=True)
    return (
        Actions(receiver, turn, _RECEIVE, _point_to_point("irecv", sender, size_bytes)),
        Actions(sender, turn, _SEND, _point_to_point("isend", receiver, size_bytes)),
        Actions(key % ranks, key // ranks, _WAIT, np.char.add("waitall ", count.astype(np.str_))),
    )


def _point_to_point(kind: str, partner: Int64, size_bytes: Int64) -> Words:
    """Actions ``irecv`` or ``isend`` with tag 0."""
    head = np.char.add(np.char.add(f"{kind} ", partner.astype(np.str_)), " 0 ")
    return np.char.add(np.char.add(head, size_bytes.astype(np.str_)), f" {_BYTE}")


def _computations(schedule: Schedule, work_flop: Sequence[float]) -> Actions:
    p, rounds = schedule.num_nodes, schedule.num_rounds
    share = np.asarray(work_flop, dtype=np.float64) / schedule.all_rounds
    text = np.char.add("compute ", share.astype(np.str_))
    ranks, turns = np.repeat(np.arange(p), rounds), np.tile(np.arange(rounds), p)
    return Actions(ranks, turns, COMPUTE, np.repeat(text, rounds))


def _operation(item: Operation, p: int, num_rounds: int) -> Actions:
    words = {
        "bcast": f"bcast {item.size_bytes} {item.root} {_BYTE}",
        "reduce": f"reduce {item.size_bytes} 0 {item.root} {_BYTE}",
        "allreduce": f"allreduce {item.size_bytes} 0 {_BYTE}",
    }
    turns = np.arange(item.count) * num_rounds // item.count
    ranks = np.repeat(np.arange(p), item.count)
    # Sorting is stable: several collectives of a round keep the same order on all ranks.
    return Actions(ranks, np.tile(turns, p), _COLLECTIVE, words[item.kind])


_INSTALL = "install SimGrid, on Debian and Ubuntu: apt-get install libsimgrid-dev"
# Time of the simulation in seconds and message; the default shows only six decimals.
_FORMAT = "%.12r|%m%n"
_EVENT = re.compile(r"^\s*(\d+\.\d+)\|(.*)$", re.MULTILINE)
_LAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Action:
    """A replayed action of one rank."""

    end_s: float  # simulated time at its end, seconds
    rank: int
    kind: str  # ``compute``, ``isend``, ``waitall`` ...
    # Bytes that it sends; those of a collective as its root and members send them at least
    sent_bytes: int = 0


def find_smpirun() -> Path:
    """The ``smpirun`` on the search path; ``ConfigError`` if there is none."""
    found = shutil.which("smpirun")
    if found is None:
        raise ConfigError("expected SimGrid's smpirun on the search path, found none", hint=_INSTALL)
    return Path(found)


def smpi_version() -> str:
    """First line of ``smpirun -version``, empty if none; ``ConfigError`` if there is no SimGrid."""
    done = run_tool([str(find_smpirun()), "-version"], timeout_s=60.0)
    return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0]


def replay(
    platform: Platform, traces: Sequence[str], timeout_s: float, folder: Path | None = None
) -> list[Action]:
    """Replay one trace per rank, rank i on the i-th host of ``platform``.

    ``timeout_s`` is a wall-clock limit; platform, hosts and traces are kept in ``folder`` where it is given.
    Returns what the ranks did, in the order in which it ended. Raises ``ConfigError`` if there is no SimGrid,
    or too few hosts; ``TargetRunError`` if the simulation failed or took too long.
    """
    with scratch_directory() as scratch:
        place = Path(scratch) if folder is None else folder
        names = [f"rank-{rank}.trace" for rank in range(len(traces))]
        for name, text in zip((*names, "traces.txt"), (*traces, "\n".join((*names, ""))), strict=True):
            (place / name).write_text(text, encoding="utf-8")
        options = ["-replay", "traces.txt", "--log=smpi_replay.thres:verbose", f"--log=root.fmt:{_FORMAT}"]
        text = smpirun(platform, len(traces), options, timeout_s, place)
    found = [(float(time), line.split()) for time, line in _EVENT.findall(text)]
    return [
        Action(end_s, int(words[0]), words[1], _sent_bytes(words, len(traces)))
        for end_s, words in found
        if len(words) > 1 and words[0].isdigit()
    ]


def _sent_bytes(words: Sequence[str], num_ranks: int) -> int:
    match words:
        case [_, "isend", _, _, size, *_]:
            return int(size)
        case [rank, "bcast", size, root, *_]:
            return int(size) * (num_ranks - 1) if rank == root else 0
        case [rank, "reduce", size, _, root, *_]:
            return 0 if rank == root else int(size)
        case [rank, "allreduce", size, *_]:  # to the first, and back
            return int(size) * (num_ranks - 1 if rank == "0" else 1)
    return 0


def smpirun(platform: Platform, num_ranks: int, words: Sequence[str], timeout_s: float, folder: Path) -> str:
    """Run ``smpirun`` and return its output, standard error included.

    ``words`` say what to run, with paths relative to ``folder``, where platform and hosts are written. Raises
    ``ConfigError`` if there is no SimGrid, or too few hosts; ``TargetRunError`` if the simulation failed or
    took too long.
    """
    if num_ranks > len(platform.hosts):
        raise ConfigError(
            f"expected a platform of at least {num_ranks} hosts, found {len(platform.hosts)}",
            where=platform.name,
        )
    (folder / "platform.xml").write_text(platform.xml, encoding="utf-8")
    hosts = "".join(f"{name}\n" for name in platform.hosts[:num_ranks])
    (folder / "hosts.txt").write_text(hosts, encoding="utf-8")
    command = [
        *(str(find_smpirun()), "-np", str(num_ranks), "-platform", "platform.xml", "-hostfile", "hosts.txt"),
        *words,
    ]
    with scratch_directory() as scratch:
        return _output(command, timeout_s, folder, Path(scratch))


def _output(command: Sequence[str], timeout_s: float, folder: Path, scratch: Path) -> str:
    """Output of a command that starts children of its own, which end with it."""
    done = run_tool(command, timeout_s=timeout_s, environment={"TMPDIR": str(scratch)}, directory=folder)
    if done.exit_status is None:
        raise TargetRunError(f"expected the simulation to end within {timeout_s:g} s", hint="raise --timeout")
    text = done.stdout + done.stderr
    if not done.ok:
        raise TargetRunError(
            f"expected the simulation to succeed, found exit status {done.exit_status}:\n"
            + "\n".join(text.strip().splitlines()[-_LAST_LINES:]),
            where="smpirun",
        )
    return text
