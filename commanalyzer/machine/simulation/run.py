"""Simulated time of a predicted decomposition on a platform, beside the bounds on that platform.

    matrix, collectives --spread--> rounds --write--> traces --replay--> time

The parameters of the bounds are measured on the simulated platform itself, as on a real machine: throughput,
latency, bandwidth of a free link and of random matchings.

Effective bandwidth and latency of a simulated platform, measured on it by replayed benchmarks.

Method as on a real machine: random perfect matchings in which every pair exchanges messages in both
directions at the same time.

Reference: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are not crossbars: effects of static
routing in high-performance networks, Cluster 2008 (effective bisection bandwidth).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import Progress
from commanalyzer.machine.measuring.kernels import IDLE, random_matchings
from commanalyzer.machine.parameters import Curve, MachineParameters, Parameter
from commanalyzer.machine.roofline.bound import BoundPoint, scaling_bound
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.machine.simulation.routes import HostOrder, place
from commanalyzer.machine.simulation.schedule import (
    BARRIER,
    Action,
    Actions,
    Schedule,
    joined,
    make_schedule,
    replay,
    schedule_traces,
    transfers,
)
from commanalyzer.result.results import AnalysisResult, Decomposition

MESSAGE_BYTES = 1_000_000
MATCHINGS = 50
_LONG_MESSAGE_BYTES = 1_000_000_000


def matching_bandwidth(
    platform: Platform,
    num_ranks: int,
    *,
    seed: int,
    timeout_s: float,
    count: int = MATCHINGS,
    message_bytes: int = MESSAGE_BYTES,
) -> float:
    """Effective bisection bandwidth per node, B/s: message size over mean time of all ranks and matchings.

    Ranks are on its first hosts, at least 2; ``timeout_s`` is a wall-clock limit, ``count`` that of
    matchings. Raises ``ConfigError`` if there are fewer than two ranks, or no SimGrid; ``TargetRunError`` if
    the simulation failed.
    """
    if num_ranks < 2:
        raise ConfigError(f"expected at least two nodes to measure a network, found {num_ranks}")
    partner = random_matchings(num_ranks, count, seed).targets
    turn, rank = np.nonzero(partner != IDLE)
    every = (np.tile(np.arange(num_ranks), count), np.repeat(np.arange(count), num_ranks))
    exchanged = transfers(rank, partner[turn, rank], turn, np.full(len(rank), message_bytes))
    traces = joined(num_ranks, [Actions(*every, BARRIER, "barrier"), *exchanged])
    return message_bytes / float(_times(replay(platform, traces, timeout_s), num_ranks).mean())


def pair_bandwidth(platform: Platform, *, timeout_s: float) -> float:
    """Bandwidth per node, B/s, when the first two hosts exchange messages and all others are silent.

    Nothing that a program does is faster where all nodes send at once and links are alike. Raises
    ``ConfigError`` if there is no SimGrid, or one host only; ``TargetRunError`` if the simulation failed.
    """
    return matching_bandwidth(
        platform, 2, seed=0, timeout_s=timeout_s, count=1, message_bytes=_LONG_MESSAGE_BYTES
    )


def _times(actions: list[Action], num_ranks: int) -> NDArray[np.float64]:
    """From the end of each barrier to that of the rank's wait after it."""
    found = []
    for rank in range(num_ranks):
        mine = [action for action in actions if action.rank == rank]
        ends = np.array([action.end_s for action in mine])
        waits = np.array([k for k, action in enumerate(mine) if action.kind == "waitall"], dtype=np.int64)
        starts = np.array([k for k, action in enumerate(mine) if action.kind == "barrier"], dtype=np.int64)
        if len(waits):
            found.append(ends[waits] - ends[starts[np.searchsorted(starts, waits) - 1]])
    return np.concatenate(found)


_MEASURED_FLOP = 1e9


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How to simulate."""

    seed: int = 1  # of random placements and matchings
    placement: HostOrder = "order"
    most_rounds: int = 500  # rounds of a long program that are simulated
    timeout_s: float = 600.0  # wall-clock limit of one simulation, seconds
    # Folder for platform, hosts and traces, one folder per node count in it; ``None`` for none
    keep: Path | None = None
    message_overhead_s: float = 0.0  # o of the bounds, seconds; a platform does not say it


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One decomposition on a platform."""

    decomposition: Decomposition
    serial_s: float  # time of one node with all work T_1, seconds
    parallel_s: float  # simulated time of p nodes T_p, seconds
    rounds: int  # rounds that were simulated
    all_rounds: int  # rounds of the program
    collectives: int  # collective operations of the program
    bound: BoundPoint = field(repr=False)  # bounds for this decomposition on this platform

    @property
    def efficiency(self) -> float:
        """Simulated parallel efficiency T_1 / (p T_p)."""
        return self.serial_s / (self.decomposition.nodes * self.parallel_s)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Decompositions on a platform, in the order asked for, and what was measured on the platform."""

    machine: MachineParameters = field(repr=False)
    runs: tuple[SimulatedRun, ...]


def simulate(
    result: AnalysisResult,
    decompositions: Sequence[Decomposition],
    platform: Platform,
    options: SimulationOptions,
    progress: Progress,
) -> Simulation:
    """Simulate decompositions of a prediction on a platform with at least as many hosts as nodes.

    Raises ``ConfigError`` if there is no SimGrid, too few hosts, or the result is a counted run;
    ``MachineModelError`` if the program does no work; ``TargetRunError`` if a simulation failed or took too
    long.
    """
    if result.counted is not None:
        raise ConfigError("expected a prediction, found a counted run: it has no work", where=result.program)
    if not result.work.amount:
        raise MachineModelError("expected operations on values to simulate, found none", where=result.program)
    progress.stage("measure the platform")
    placed = {
        item.nodes: place(platform, options.placement, options.seed, item.communication.comm_bytes)
        for item in decompositions
    }
    machine = measured_machine(platform, placed, options)
    progress.stage("simulate", len(decompositions))
    runs = []
    for item in decompositions:
        runs.append(_simulate(result, item, placed[item.nodes], machine, options))
        progress.advance()
    return Simulation(machine, tuple(runs))


def measured_machine(
    platform: Platform, placed: Mapping[int, Platform], options: SimulationOptions
) -> MachineParameters:
    """Parameters of the bounds, measured on the platform by replayed benchmarks.

    Latency and the bandwidth of a free link (which stands for two nodes) are those between the first two
    hosts in the order of the platform, wherever ranks are placed; random matchings use the hosts of the
    ranks.

    ``placed``: the platform with hosts in the order of the ranks, by node count. Raises ``ConfigError`` if
    there is no SimGrid, or too few hosts; ``TargetRunError`` if a simulation failed or took too long.
    """
    limit_s = options.timeout_s

    def time_s(*traces: str) -> float:
        return max(action.end_s for action in replay(platform, traces, limit_s))

    throughput = _MEASURED_FLOP / time_s(f"0 init\n0 compute {_MEASURED_FLOP}\n0 finalize\n")
    found = MachineParameters(
        platform.name, throughput=Parameter(throughput, "Flop/s", "measured", note="simulated")
    )
    if len(platform.hosts) < 2:
        # One node alone sends nothing: any network will do for its bounds.
        return found.updated(bandwidth=Parameter(1e9, "B/s", "assumed", note="one host, not used"))
    counts = sorted(count for count in placed if count > 2)
    values = [
        pair_bandwidth(platform, timeout_s=limit_s),
        *(matching_bandwidth(placed[p], p, seed=options.seed, timeout_s=limit_s) for p in counts),
    ]
    overhead_s = options.message_overhead_s
    empty = ("0 init\n0 send 1 0 0 6\n0 finalize\n", "1 init\n1 recv 0 0 0 6\n1 finalize\n")
    return found.updated(
        bandwidth=Parameter(
            *(values[-1], "B/s", "measured"),
            note="simulated random matchings; two nodes: alone in the network",
            curve=Curve((2.0, *map(float, counts)), (), tuple(values)),
        ),
        latency=Parameter(time_s(*empty), "s", "measured", note="simulated, first two hosts"),
        message_overhead=Parameter(overhead_s, "s", "given") if overhead_s else None,
    )


def replayed_time(
    schedule: Schedule,
    work_flop: Sequence[float],
    platform: Platform,
    timeout_s: float,
    keep: Path | None = None,
) -> float:
    """Simulated time of a schedule on a platform, seconds; of the whole program where it is a part of it.

    ``work_flop``: float[p], work of each node in all rounds of the program; ``timeout_s``: wall-clock limit;
    ``keep``: folder for platform, hosts, traces and ``timeline.json``. Raises ``ConfigError`` if there is no
    SimGrid, or too few hosts; ``TargetRunError`` if the simulation failed.
    """
    actions = replay(platform, schedule_traces(schedule, work_flop), timeout_s, keep)
    if keep is not None:
        write_text(keep / "timeline.json", _timeline(actions), force=True)
    return max(action.end_s for action in actions) * schedule.scale


def _timeline(actions: Sequence[Action]) -> str:
    """One row per rank, in the trace event format that chrome://tracing and ui.perfetto.dev show."""
    began_s: dict[int, float] = {}  # an action of a rank begins where the one before ended
    events: list[dict[str, object]] = []
    for a in actions:
        start_s = began_s.get(a.rank, 0.0)
        began_s[a.rank] = a.end_s
        kind = "computation" if a.kind == "compute" else "communication"
        times = {"ph": "X", "ts": start_s * 1e6, "dur": (a.end_s - start_s) * 1e6}  # in microseconds
        place = {"pid": 0, "tid": a.rank, "args": {"bytes": a.sent_bytes}}
        events.append({"name": a.kind, "cat": kind, **times, **place})
    names = ({"pid": 0, "tid": rank, "args": {"name": f"rank {rank}"}} for rank in sorted(began_s))
    named = [{"name": "thread_name", "ph": "M", **place} for place in names]
    return json.dumps({"traceEvents": [*named, *events]}) + "\n"


def _simulate(
    result: AnalysisResult,
    item: Decomposition,
    platform: Platform,
    machine: MachineParameters,
    options: SimulationOptions,
) -> SimulatedRun:
    p = item.nodes
    schedule = make_schedule(item.communication, options.most_rounds)
    # All nodes get the work of the most loaded one, which sets the pace.
    imbalance = item.imbalance if math.isfinite(item.imbalance) else 1.0
    work_flop = [result.work.amount / p * imbalance] * p
    keep = None if options.keep is None else options.keep / f"{p}-nodes"
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    parallel_s = replayed_time(schedule, work_flop, platform, options.timeout_s, keep)
    found = [(item.method, item.communication)]
    points = scaling_bound(result.work.amount, found, machine, imbalances=[imbalance]).points
    return SimulatedRun(
        decomposition=item,
        serial_s=points[-1].serial_s,
        parallel_s=parallel_s,
        rounds=schedule.num_rounds,
        all_rounds=schedule.all_rounds,
        collectives=sum(operation.count for operation in schedule.operations),
        bound=points[-1],
    )
