"""Simulated time of a predicted decomposition on a platform, beside the bounds.

    graph + owners --charge--> transfers --split--> messages, collectives --spread--> rounds --replay--> time

The single-node time is simulated as well, so that host speeds of any platform file are taken as SimGrid reads
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from commanalyzer.communication.volume import charge_volume
from commanalyzer.decompose import volume_view
from commanalyzer.errors import ConfigError, MachineModelError
from commanalyzer.progress import Progress
from commanalyzer.quantities import Bytes, BytesPerSecond, Dimensionless, Flop, FlopPerSecond
from commanalyzer.results import AnalysisResult, Decomposition
from commanalyzer.roofline import communication_intensity, efficiency_upper_bound
from commanalyzer.simulation.collectives import Traffic, split_hubs
from commanalyzer.simulation.network_benchmark import matching_bandwidth, pair_bandwidth
from commanalyzer.simulation.platforms import Platform
from commanalyzer.simulation.schedule import Schedule, make_schedule
from commanalyzer.simulation.smpirun import replay
from commanalyzer.simulation.traces import schedule_traces
from commanalyzer.vcg.singletons import HIGH

_BIG_WORK_FLOP = 1e9


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How to simulate.

    Attributes:
        seed: Of random placements and matchings.
        is_shuffled: Put ranks on random hosts, as a batch system may; else in the order of the hosts.
        most_rounds: Rounds of a long program that are simulated.
        timeout_s: Wall-clock limit of one simulation, seconds.
        keep: Folder for platform, hosts and traces, one folder per node count in it; ``None`` for none.
        overlap: O_c of the bounds beside the simulated efficiency; simulated programs do not overlap.
    """

    seed: int = 1
    is_shuffled: bool = False
    most_rounds: int = 500
    timeout_s: float = 600.0
    keep: Path | None = None
    overlap: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One decomposition on a platform.

    Attributes:
        decomposition: What was simulated.
        serial_s: Simulated time of one node with all work T_1, seconds.
        parallel_s: Simulated time of p nodes T_p, seconds.
        rounds: Rounds that were simulated.
        all_rounds: Rounds of the program.
        collectives: Collective operations of the program.
        matching_bandwidth: B_c of random matchings on these nodes, B/s; ``None`` on one node.
        throughput: R of a node, Flop/s.
        bound: Paper Eq. 4 with the bandwidth of random matchings; ``None`` on one node.
        pair_bound: Paper Eq. 4 with the bandwidth of a pair that is alone in the network; ``None`` on one
            node.
    """

    decomposition: Decomposition
    serial_s: float
    parallel_s: float
    rounds: int
    all_rounds: int
    collectives: int
    matching_bandwidth: float | None
    throughput: float
    bound: float | None
    pair_bound: float | None

    @property
    def efficiency(self) -> float:
        """Simulated parallel efficiency T_1 / (p T_p)."""
        return self.serial_s / (self.decomposition.nodes * self.parallel_s)


def simulate(
    result: AnalysisResult,
    decompositions: Sequence[Decomposition],
    platform: Platform,
    options: SimulationOptions,
    progress: Progress,
) -> list[SimulatedRun]:
    """Simulate decompositions of a prediction on a platform.

    Args:
        result: The prediction.
        decompositions: Which of its decompositions.
        platform: Network with at least as many hosts as nodes.
        options: How.
        progress: Told about steps.

    Raises:
        ConfigError: If there is no SimGrid, or the result is a counted run.
        MachineModelError: If the program has no floating-point operations.
        TargetRunError: If a simulation failed or took too long.
    """
    if result.counted is not None:
        raise ConfigError("expected a prediction, found a counted run: it has no work", where=result.program)
    if not result.work.flops:
        raise MachineModelError(
            "expected floating-point operations to simulate, found none", where=result.program
        )
    placed = shuffled(platform, options.seed) if options.is_shuffled else platform
    throughput = host_throughput(placed, options.timeout_s)
    graph, hubs = volume_view(result.graph, HIGH)
    progress.stage("simulate", len(decompositions))
    found = []
    for item in decompositions:
        if item.model == "volume" and len(item.part) == graph.num_vertices:
            traffic = split_hubs(graph, charge_volume(graph, item.part, item.nodes, hubs), hubs)
        else:
            traffic = Traffic(item.communication)
        found.append(_simulate(result, item, traffic, placed, throughput, options))
        progress.advance()
    return found


def shuffled(platform: Platform, seed: int) -> Platform:
    """The platform with its hosts in random order."""
    order = np.random.default_rng(seed).permutation(len(platform.hosts))
    return replace(platform, hosts=tuple(platform.hosts[k] for k in order))


def host_throughput(platform: Platform, timeout_s: float) -> float:
    """Simulated throughput of the first host, Flop/s.

    Raises:
        ConfigError: If there is no SimGrid.
        TargetRunError: If the simulation failed.
    """
    trace = f"0 init\n0 compute {_BIG_WORK_FLOP}\n0 finalize\n"
    return _BIG_WORK_FLOP / max(action.end_s for action in replay(platform, [trace], timeout_s))


def replayed_time(
    schedule: Schedule, work_flop: Sequence[float], platform: Platform, timeout_s: float, keep: Path | None
) -> float:
    """Simulated time of a schedule on a platform, seconds; of the whole program where it is a part of it.

    Raises:
        ConfigError: If there is no SimGrid, or too few hosts.
        TargetRunError: If the simulation failed.
    """
    actions = replay(platform, schedule_traces(schedule, work_flop), timeout_s, keep)
    return max(action.end_s for action in actions) * schedule.scale


def _simulate(
    result: AnalysisResult,
    item: Decomposition,
    traffic: Traffic,
    platform: Platform,
    throughput: float,
    options: SimulationOptions,
) -> SimulatedRun:
    p = item.nodes
    schedule = make_schedule(traffic.messages, traffic.collectives, options.most_rounds)
    imbalance = item.imbalance if math.isfinite(item.imbalance) else 1.0
    work_flop = [result.work.flops / p * imbalance] * p
    parallel_s = replayed_time(schedule, work_flop, platform, options.timeout_s, _folder(options.keep, p))
    matching = bound = pair_bound = None
    if p > 1:
        matching = matching_bandwidth(platform, p, seed=options.seed, timeout_s=options.timeout_s)
        alone = pair_bandwidth(platform, timeout_s=options.timeout_s)
        bound = _bound(result, item, throughput, matching, options.overlap)
        pair_bound = _bound(result, item, throughput, alone, options.overlap)
    return SimulatedRun(
        decomposition=item,
        serial_s=result.work.flops / throughput,
        parallel_s=parallel_s,
        rounds=schedule.num_rounds,
        all_rounds=schedule.all_rounds,
        collectives=sum(collective.count for collective in traffic.collectives),
        matching_bandwidth=matching,
        throughput=throughput,
        bound=bound,
        pair_bound=pair_bound,
    )


def _bound(
    result: AnalysisResult, item: Decomposition, throughput: float, bandwidth: float, overlap: float
) -> float:
    intensity = communication_intensity(Bytes(item.comm_bytes), Flop(result.work.flops))
    return efficiency_upper_bound(
        intensity, FlopPerSecond(throughput), BytesPerSecond(bandwidth), Dimensionless(overlap)
    )


def _folder(keep: Path | None, nodes: int) -> Path | None:
    if keep is None:
        return None
    folder = keep / f"{nodes}-nodes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
