"""Messages of communication phases: halos by formula, collectives, predicted and counted matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.flows import Messages
from commanalyzer.machine.simulation.routes import Int64
from commanalyzer.machine.simulation.schedule import make_schedule
from commanalyzer.scaling.laws.terms import most_cubic_grid

Neighbours = Literal["faces", "all"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of communication of a program.

    Attributes:
        messages: What is sent.
        repetitions: How often it happens in the program.
    """

    messages: Messages
    repetitions: float


@dataclass(frozen=True, slots=True)
class Halo:
    """Exchange of borders of blocks of a grid: what a stencil on p processes sends in a step.

    Attributes:
        domain: Points of the grid along each dimension.
        point_bytes: Bytes of one point.
        width: Layers of points that are exchanged.
        neighbours: ``faces`` only (2 d neighbours), or also across edges and corners (``all``, 3^d - 1).
        periodic: Whether the ends of each dimension are neighbours.

    Raises:
        ConfigError: If a number is not positive.
    """

    domain: tuple[int, ...]
    point_bytes: int = 8
    width: int = 1
    neighbours: Neighbours = "faces"
    periodic: bool = False

    def __post_init__(self) -> None:
        if not self.domain or min(*self.domain, self.point_bytes, self.width) < 1:
            raise ConfigError(f"expected positive extents, bytes and width of a halo, found {self}")

    def grid(self, num_ranks: int) -> tuple[int, ...]:
        """Processes along each dimension: most cubic, more where the domain is longer."""
        grid = sorted(most_cubic_grid(num_ranks, len(self.domain)))
        longest = np.argsort(np.argsort(self.domain, kind="stable"), kind="stable")
        return tuple(grid[k] for k in longest.tolist())

    def messages(self, num_ranks: int) -> Messages:
        """Messages of one exchange; ranks count along the last dimension first.

        Raises:
            ConfigError: If a process would have less than one point along a dimension.
        """
        grid = self.grid(num_ranks)
        if any(points < parts for points, parts in zip(self.domain, grid, strict=True)):
            raise ConfigError(
                f"expected at least a point per process along each dimension, found "
                f"{' x '.join(map(str, self.domain))} points for {' x '.join(map(str, grid))} processes"
            )
        rank = np.arange(num_ranks).reshape(grid)
        parts = [_parts(points, number) for points, number in zip(self.domain, grid, strict=True)]
        found = [
            self._towards(rank, parts, offset)
            for offset in product((-1, 0, 1), repeat=len(grid))
            if any(offset) and (self.neighbours == "all" or sum(map(abs, offset)) == 1)
        ]
        return joined_messages(found)

    def _towards(self, rank: Int64, parts: Sequence[Int64], offset: Sequence[int]) -> Messages:
        """What every rank sends to its neighbour in one direction."""
        size = np.full(rank.shape, self.point_bytes)
        exists = np.ones(rank.shape, dtype=np.bool_)
        target = rank
        for axis, step in enumerate(offset):
            shape = [-1 if k == axis else 1 for k in range(rank.ndim)]
            size = size * (self.width if step else parts[axis].reshape(shape))
            if step:
                target = np.roll(target, -step, axis=axis)
                place = np.arange(rank.shape[axis]).reshape(shape) + step
                inside = (place >= 0) & (place < rank.shape[axis])
                exists &= inside if not self.periodic else rank.shape[axis] > 1
        return Messages(rank[exists], target[exists], size[exists])


def joined_messages(parts: Sequence[Messages]) -> Messages:
    """Messages of several exchanges as one phase."""
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return Messages(nothing, nothing, nothing)
    return Messages(
        np.concatenate([part.sender for part in parts]),
        np.concatenate([part.receiver for part in parts]),
        np.concatenate([part.size_bytes for part in parts]),
    )


def allreduce_phases(num_ranks: int, size_bytes: int) -> tuple[Messages, ...]:
    """Rounds of an allreduce of few numbers by recursive doubling, one phase each.

    Ranks beyond the largest power of two hand their number to a partner before, and get the result after.

    Reference: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in
    MPICH, IJHPCA 19(1), 2005.
    """
    if num_ranks < 2:
        return ()
    core = 1 << (num_ranks.bit_length() - 1)
    rest = np.arange(core, num_ranks)
    rounds = []
    if len(rest):
        rounds.append(Messages(rest, rest - core, np.full(len(rest), size_bytes)))
    rank = np.arange(core)
    rounds += [
        Messages(rank, rank ^ (1 << k), np.full(core, size_bytes)) for k in range(core.bit_length() - 1)
    ]
    if len(rest):
        rounds.append(Messages(rest - core, rest, np.full(len(rest), size_bytes)))
    return tuple(rounds)


def matrix_phases(communication: Communication, steps: int) -> tuple[Phase, ...]:
    """Phases of a predicted or counted matrix.

    Args:
        communication: Matrix of bytes and messages; collectives and phases of a step are used where known.
        steps: Phases that the program has, such as its time steps.

    Raises:
        ConfigError: If ``steps`` is not positive.
    """
    schedule = make_schedule(communication, steps)
    first = schedule.round < max(schedule.num_rounds // steps, 1)
    found = []
    for turn in np.unique(schedule.round[first]).tolist():
        chosen = schedule.round == turn
        sizes = schedule.size_bytes[chosen]
        messages = Messages(schedule.sender[chosen], schedule.receiver[chosen], sizes)
        found.append(Phase(messages, float(steps)))
    p = communication.num_parts
    for item in schedule.operations:
        rounds = allreduce_phases(p, item.size_bytes)
        # A broadcast or a reduction alone has half the messages of an allreduce; as many rounds.
        count = item.count * schedule.scale
        found += [Phase(messages, count) for messages in rounds]
    return tuple(found)


def _parts(points: int, number: int) -> Int64:
    """int64[number], points of each block: as equal as possible."""
    ends = np.arange(number + 1) * points // number
    return np.diff(ends)


def grid_points(domain: Sequence[int]) -> int:
    """Points of a grid."""
    return math.prod(domain)
