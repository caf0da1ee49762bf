"""What a program computes and sends in an allocation: from laws, a halo file, or a saved result.

A halo file is TOML, for programs on regular grids whose code need not exist::

    kind = "commanalyzer.halo"
    name = "Jacobi3D"
    domain = [512, 512, 512]       # points
    steps = 256                    # exchanges
    point_bytes = 8                # of a point in an exchange
    width = 1                      # layers of points
    neighbours = "faces"           # or "all", with edges and corners
    flops_per_point = 8            # work of a point in a step
    memory_bytes_per_point = 24    # traffic to memory of a point in a step
    resident_bytes_per_point = 16  # memory that a point takes
    allreduces = 0                 # sums over all processes in each step
    grid = [0, 0, 1]               # processes along each dimension, 0 for what MPI_Dims_create chooses

Messages of communication phases: halos by formula, collectives, predicted and counted matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.documents import Count, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.phase_times import Unit
from commanalyzer.machine.placement import Order, Placement, on_nodes
from commanalyzer.machine.simulation.routes import (
    Int64,
    Messages,
    Topology,
    near_placement,
    network_distances,
)
from commanalyzer.machine.simulation.schedule import collective_operations, exchanges
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.allocations.metrics import in_columns, phase_metrics, shape
from commanalyzer.scaling.laws.law import Law, law_of, require_whole
from commanalyzer.scaling.laws.projection import Division, imbalance_at
from commanalyzer.scaling.laws.terms import Floats, most_cubic_grid
from commanalyzer.scaling.sweep.table import footprint_bytes

Neighbours = Literal["faces", "all"]
RankOrder = Literal[Order, "near"]


@dataclass(frozen=True, slots=True)
class Phase:
    """What is sent in a phase of communication of a program, and how often it happens."""

    messages: Messages
    repetitions: float


@dataclass(frozen=True, slots=True)
class Halo:
    """Exchange of borders of blocks of a grid: what a stencil on p processes sends in a step.

    Raises ``ConfigError`` if a number is not positive.
    """

    domain: tuple[int, ...]  # points of the grid along each dimension
    point_bytes: int = 8
    width: int = 1  # layers of points that are exchanged
    # ``faces`` only (2 d neighbours), or also across edges and corners (``all``, 3^d - 1)
    neighbours: Neighbours = "faces"
    periodic: bool = False  # whether the ends of each dimension are neighbours
    # Processes along each dimension, 0 where ``MPI_Dims_create`` chooses; empty if it chooses all
    asked: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        asked = self.asked or self.domain
        if not self.domain or min(*self.domain, self.point_bytes, self.width, 1 + min(asked)) < 1:
            raise ConfigError(f"expected positive extents, bytes and width of a halo, found {self}")
        if len(asked) != len(self.domain):
            raise ConfigError(
                f"expected a grid of {len(self.domain)} numbers, found {list(asked)}", where="grid"
            )

    def grid(self, num_ranks: int) -> tuple[int, ...]:
        """Processes along each dimension: what ``MPI_Dims_create`` makes of those that were asked for.

        The others are as close to each other as possible, in non-increasing order, however long the domain
        is. Raises ``ConfigError`` if the processes do not fill such a grid.

        Reference: MPI 4.1, Section 8.5.2.
        """
        asked = self.asked or (0,) * len(self.domain)
        fixed, free = math.prod(filter(None, asked)), asked.count(0)
        if num_ranks % fixed or not (free or num_ranks == fixed):
            raise ConfigError(
                f"expected processes for the grid {' x '.join(map(str, asked))} (0: any), found {num_ranks}",
                where="grid",
            )
        chosen = iter(most_cubic_grid(num_ranks // fixed, free) if free else ())
        return tuple(number or next(chosen) for number in asked)

    def messages(self, num_ranks: int) -> Messages:
        """Messages of one exchange; ranks count along the last dimension first.

        Raises ``ConfigError`` if a process would have less than one point along a dimension.
        """
        grid = self.grid(num_ranks)
        if any(points < parts for points, parts in zip(self.domain, grid, strict=True)):
            raise ConfigError(
                f"expected at least a point per process along each dimension, found "
                f"{' x '.join(map(str, self.domain))} points for {' x '.join(map(str, grid))} processes"
            )
        rank = np.arange(num_ranks).reshape(grid)
        parts = [  # points of each block along each dimension, as equal as possible
            np.diff(np.arange(number + 1) * points // number)
            for points, number in zip(self.domain, grid, strict=True)
        ]
        most = len(grid) if self.neighbours == "all" else 1
        offsets = (o for o in product((-1, 0, 1), repeat=len(grid)) if 1 <= sum(map(abs, o)) <= most)
        found = [self._towards(rank, parts, offset) for offset in offsets]
        return Messages(*np.concatenate(found, axis=1))

    def _towards(self, rank: Int64, parts: Sequence[Int64], offset: Sequence[int]) -> Int64:
        """int64[3, M], what every rank sends to its neighbour in one direction."""
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
        return np.stack((rank[exists], target[exists], size[exists]))


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
    """Phases of a predicted or counted matrix; together they send its bytes.

    A pair of processes sends in as many steps as it has messages, in all ``steps`` (phases of the program,
    such as its time steps) if it has more: those of one step then go at the same time. Collectives and phases
    of a step are used where known. Raises ``ConfigError`` if ``steps`` is not positive.
    """
    if steps < 1:
        raise ConfigError(f"expected at least one step, found {steps}")
    found = []
    for comm_bytes, counted in zip(*exchanges(communication), strict=True):
        sender, receiver = np.nonzero(comm_bytes)
        messages = np.maximum(counted[sender, receiver], 1)
        turns = np.minimum(messages, steps)
        at_once = np.rint(messages / turns).astype(np.int64)
        size = np.rint(comm_bytes[sender, receiver] / (turns * at_once)).astype(np.int64)
        ends = np.unique(turns)  # pairs with fewer messages are silent from then on
        for end, repetitions in zip(ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            pair = np.repeat(np.arange(len(turns)), at_once * (turns >= end))
            found.append(Phase(Messages(sender[pair], receiver[pair], size[pair]), float(repetitions)))
    for item in collective_operations(communication.collectives or ()):
        rounds = allreduce_phases(communication.num_parts, item.size_bytes)
        # A broadcast or a reduction alone has half the messages of an allreduce; as many rounds.
        found += [Phase(messages, float(item.count)) for messages in rounds]
    return tuple(found)


_ALLREDUCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where processes run."""

    units: tuple[Unit, ...] = ()  # neighbourhoods of the network
    network: Topology | None = None  # routes, where they are known
    # Of the ranks on the nodes. ``near``: ranks that exchange much share a node, and nodes that exchange much
    # are near each other where routes are known
    order: RankOrder = "blocks"

    def place(self, num_nodes: int, ranks_per_node: int, comm_bytes: Int64 | None = None) -> Placement:
        """Equally many ranks on every node.

        ``comm_bytes``: int64[P, P], bytes from rank to rank; None where not known. Raises ``ConfigError`` if
        ranks shall be near their partners, and these are not known.
        """
        if self.order != "near":
            return on_nodes(num_nodes, ranks_per_node, self.order)
        if comm_bytes is None:
            raise ConfigError(
                "expected a result (*.cmz), found laws or a halo: they do not say who talks to whom",
                where="--order near",
                hint="--order blocks or round-robin",
            )
        distances = np.ones((num_nodes, num_nodes), dtype=np.int64)
        if self.network is not None:
            distances = network_distances(self.network, num_nodes)
        return near_placement(distances, comm_bytes, ranks_per_node, seed=1)


@dataclass(frozen=True, slots=True)
class RunDemand:
    """What one configuration does in the whole run."""

    metrics: Mapping[str, Floats]
    repetitions: Floats  # [phases], how often each happens
    work_flop: float  # of all processes
    memory_bytes: float = 0.0  # traffic to memory of all processes; 0 where not known
    resident_bytes: float = math.nan  # memory of all processes; NaN where not known
    is_beyond: bool = False  # a law was used outside its data


@dataclass(frozen=True, slots=True)
class HaloWorkload:
    """A program on a grid; the numbers are those of a halo file."""

    title: str
    halo: Halo
    steps: float
    flops_per_point: float
    memory_bytes_per_point: float = 0.0
    resident_bytes_per_point: float = math.nan
    allreduces: float = 0.0

    def phases(self, num_ranks: int) -> tuple[Phase, ...]:
        """Phases on so many processes; ``ConfigError`` if a dimension has fewer points than processes."""
        exchange = Phase(self.halo.messages(num_ranks), self.steps)
        sums = allreduce_phases(num_ranks, _ALLREDUCE_BYTES) if self.allreduces else ()
        return (exchange, *(Phase(m, self.steps * self.allreduces) for m in sums))

    def demand(self, num_nodes: int, ranks_per_node: int, site: Ranks) -> RunDemand | None:
        """What it does there; ``None`` where it cannot run or nothing is known of so many processes."""
        try:
            phases = self.phases(num_nodes * ranks_per_node)
        except ConfigError:
            return None
        points = float(math.prod(self.halo.domain))
        # The process with the most points sets the pace.
        grid = self.halo.grid(num_nodes * ranks_per_node)
        most = math.prod(-(-n // g) for n, g in zip(self.halo.domain, grid, strict=True))
        slowest = most * num_nodes * ranks_per_node / points
        return replace(
            _of_phases(phases, site.place(num_nodes, ranks_per_node), site),
            work_flop=points * self.steps * self.flops_per_point * slowest,
            memory_bytes=points * self.steps * self.memory_bytes_per_point * slowest,
            resident_bytes=points * self.resident_bytes_per_point,
        )


@dataclass(frozen=True, slots=True)
class LawsWorkload:
    """A program whose bytes, messages and work are known as laws of the number of processes.

    Bytes between processes follow from the law at P = N PPN, bytes between nodes from the law at N: the
    processes of a node then own together what one of N would own, which the best division of a division is.
    Messages between nodes are as large as those between processes. The busiest node sends what its law says
    at N; the mean, where there is no such law. Likewise the work of the process with the most, at P.
    """

    title: str
    laws: tuple[Law, ...]
    sizes: Mapping[str, float]
    steps: float  # phases of communication in the run
    memory_bytes_per_flop: float = 0.0  # memory traffic per operation; 0 where not known
    # Memory of the program; else what was measured (:func:`held_bytes`), NaN without a law
    resident_bytes: float = math.nan
    division: Division = "best"  # ``best``, or ``regular`` for plain blocks

    def __post_init__(self) -> None:
        require_whole(self.laws, self.sizes)

    def demand(self, num_nodes: int, ranks_per_node: int, site: Ranks) -> RunDemand | None:
        """As :meth:`HaloWorkload.demand`."""
        ranks = num_nodes * ranks_per_node
        prefix = "" if self.division == "best" else "regular_"
        names = (f"{prefix or 'comm_'}bytes", f"{prefix}messages", "work_flops")
        traffic, count, work = used = [law_of(self.laws, name) for name in names]
        more = ("footprint_bytes", f"{prefix}node_bytes")
        footprints, busiest = ([law for law in self.laws if law.metric == name] for name in more)
        used += [*busiest, *(footprints if math.isnan(self.resident_bytes) else ())]

        def at(law: Law, p: int) -> float:
            if p == 1 and law in (traffic, count):
                return 0.0
            return float(law.predict({**self.sizes, "p": float(p)})[0])

        sent, messages = at(traffic, ranks) / self.steps, at(count, ranks) / self.steps
        crossing = min(at(traffic, num_nodes) / self.steps, sent)
        size = sent / messages if messages else 0.0
        own = [min(at(law, num_nodes) / self.steps, crossing) for law in busiest if num_nodes > 1]
        injected = max([crossing / num_nodes, *own])
        placement = site.place(num_nodes, ranks_per_node)
        row = {
            "S": size,
            "M": messages / ranks,
            "PT": sent / ranks,
            "N": float(num_nodes),
            "PPN": float(ranks_per_node),
            "NT": injected,
            "NI": injected / size if size else 0.0,
            "V": crossing,
            "VI": crossing / size if size else 0.0,
        } | shape(placement, site.units)
        point = {**self.sizes, "p": float(ranks)}
        flop = at(work, 1) * float(imbalance_at(self.laws, self.division, np.array([ranks]))[0])
        return RunDemand(
            in_columns([row]),
            np.array([self.steps]),
            flop,
            flop * self.memory_bytes_per_flop,
            held_bytes(self.resident_bytes, at(footprints[0], ranks) if footprints else math.nan, sent),
            any(law.is_beyond(point) for law in used),
        )


@dataclass(frozen=True, slots=True)
class ResultWorkload:
    """A predicted program: its matrices, for the numbers of processes that it was divided among.

    Raises ``ConfigError`` if the result has no work, as counted MPI runs have none: nothing would take time.
    """

    result: AnalysisResult
    steps: int  # phases of communication in the run
    memory_bytes_per_flop: float = 0.0  # memory traffic per operation; 0 where not known
    resident_bytes: float = math.nan  # memory of the program; NaN: what was measured (:func:`held_bytes`)
    _touched: float = field(init=False, default=math.nan)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_touched", float(footprint_bytes(self.result)))
        if not self.result.work.amount:
            raise ConfigError(
                "expected a result with the operations of the program, found none",
                where=self.result.program,
                hint="an analysis of the sequential program (commanalyzer analyze -o) has them",
            )

    @property
    def title(self) -> str:
        """What to call it."""
        return self.result.program

    def demand(self, num_nodes: int, ranks_per_node: int, site: Ranks) -> RunDemand | None:
        """As :meth:`HaloWorkload.demand`."""
        ranks = num_nodes * ranks_per_node
        if ranks != 1 and ranks not in self.result.nodes:
            return None
        # The process with the most work sets the pace.
        work, slowest = float(self.result.work.amount), 1.0
        phases: tuple[Phase, ...] = ()
        sent = 0.0
        placement = on_nodes(num_nodes, ranks_per_node)
        if ranks > 1:
            division = self.result.decomposition(ranks)
            traffic = division.communication
            slowest = division.imbalance if math.isfinite(division.imbalance) else 1.0
            sent = traffic.total_bytes / self.steps
            phases = matrix_phases(traffic, self.steps)
            placement = site.place(num_nodes, ranks_per_node, traffic.comm_bytes)
        return replace(
            _of_phases(phases, placement, site),
            work_flop=work * slowest,
            memory_bytes=work * slowest * self.memory_bytes_per_flop,
            resident_bytes=held_bytes(self.resident_bytes, self._touched, sent),
        )


Workload: TypeAlias = HaloWorkload | LawsWorkload | ResultWorkload  # that can be asked for any allocation


def held_bytes(given: float, footprint: float, sent: float) -> float:
    """Memory of all processes: what was given, else what the program touches and copies in one phase.

    Bytes; NaN for what is not known. What a phase sends (``sent``), the receivers hold a second time.
    """
    return footprint + sent if math.isnan(given) else given


def _of_phases(phases: Sequence[Phase], placement: Placement, site: Ranks) -> RunDemand:
    empty = np.zeros(0, dtype=np.int64)
    used = phases or (Phase(Messages(empty, empty, empty), 1.0),)
    rows = [phase_metrics(phase.messages, placement, site.units, site.network) for phase in used]
    return RunDemand(in_columns(rows), np.array([phase.repetitions for phase in used]), 0.0)


_Amount = Annotated[float, msgspec.Meta(ge=0)]


class _HaloFile(msgspec.Struct, forbid_unknown_fields=True):
    """Keys of a halo file; see the module."""

    kind: Literal["commanalyzer.halo"]
    domain: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1, max_length=3)]
    steps: _Amount
    flops_per_point: _Amount
    name: str = ""
    point_bytes: int = 8
    width: int = 1
    neighbours: Neighbours = "faces"
    periodic: bool = False
    memory_bytes_per_point: _Amount = 0.0
    resident_bytes_per_point: _Amount = math.nan
    allreduces: _Amount = 0.0
    grid: tuple[int, ...] = ()


def read_halo(path: Path) -> HaloWorkload:
    """Halo of a TOML file; ``ConfigError`` if it cannot be read, lacks something, or has unknown keys."""
    hint = "docs/reference/allocations.md lists the keys"
    with reading(path, "a halo file (TOML)", hint=hint, error=ConfigError):
        own = typed(parse_toml(path.read_text(encoding="utf-8")), _HaloFile)
        halo = Halo(own.domain, own.point_bytes, own.width, own.neighbours, own.periodic, own.grid)
    return HaloWorkload(
        own.name or path.stem, halo, own.steps, own.flops_per_point,
        own.memory_bytes_per_point, own.resident_bytes_per_point, own.allreduces,
    )  # fmt: skip
