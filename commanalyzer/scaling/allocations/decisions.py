"""Which allocation to ask for: all nodes x processes per node, their times and costs, and what to choose.

The front (Pareto) holds the configurations that no other one beats in both cores and time. Its fastest point
is the fastest of all; beyond it scalability breaks: more cores are in no point of the front (paper
Section 4).

Computes and communicates: a workload and a machine -> times of all nodes x processes per node.

Computation is a roofline of the node: a process computes at the measured throughput R of one process, unless
the PPN processes of a node together want more bytes per second than its memory gives; then memory is shared
equally (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.simulation.routes import Int64
from commanalyzer.scaling.allocations.metrics import Flags, PhaseModel
from commanalyzer.scaling.allocations.workload import Ranks, RunDemand, Workload
from commanalyzer.scaling.laws.terms import Floats

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """Nodes x processes per node with their times; arrays over configurations."""

    nodes: Int64  # [n], N
    processes: Int64  # [n], PPN
    compute_s: Floats  # [n], computation of the whole run, seconds
    comm_s: Floats  # [n], communication, seconds; NaN where no model holds
    serial_s: float  # time of one process with all work T_1, seconds
    node_bytes: Floats  # [n], memory that a node needs, bytes; NaN where not known
    is_beyond: Flags  # [n], some phase lies outside of what the model was trained on, or a law's data
    is_clamped: Flags  # [n], some formula was below zero
    is_memory_bound: Flags  # [n], computation is limited by the node's memory bandwidth

    @property
    def cores(self) -> Int64:
        """int64[n], processes of all nodes."""
        return np.asarray(self.nodes * self.processes)

    @property
    def time_s(self) -> Floats:
        """float64[n], computation and communication, which do not overlap here."""
        return np.asarray(self.compute_s + self.comm_s)

    @property
    def efficiency(self) -> Floats:
        """float64[n], T_1 / (cores T)."""
        return np.asarray(self.serial_s / (self.cores * self.time_s))

    def core_hours(self, cores_per_node: int = 0) -> Floats:
        """float64[n], of the cores that are used, or of whole nodes of so many cores."""
        charged = self.nodes * cores_per_node if cores_per_node else self.cores
        return np.asarray(charged * self.time_s / SECONDS_PER_HOUR)


@dataclass(frozen=True, slots=True)
class AllocationLimits:
    """What an allocation must keep to; ``None`` for no limit."""

    memory_bytes: float | None = None  # memory of a node
    most_nodes: int | None = None  # of the queue
    least_nodes: int = 1  # of the queue
    most_s: float | None = None  # time limit of the queue, or a deadline, seconds
    budget_core_hours: float | None = None  # core-hours to spend
    # Charge whole nodes of so many cores; 0 charges the cores that are used, as the paper
    cores_per_node: int = 0

    def reasons(self, found: Configurations) -> tuple[tuple[str, ...], ...]:
        """Why each configuration is not allowed; nothing where it is."""

        def above(values: Floats | Int64, limit: float | None) -> Flags:
            return np.asarray(values > (np.inf if limit is None else limit))

        checks = {
            "memory": above(found.node_bytes, self.memory_bytes),
            "queue": (found.nodes < self.least_nodes) | above(found.nodes, self.most_nodes),
            "time": above(found.time_s, self.most_s),
            "budget": above(found.core_hours(self.cores_per_node), self.budget_core_hours),
            "no model": ~np.isfinite(found.time_s),
        }
        return tuple(
            tuple(name for name, is_broken in checks.items() if is_broken[k]) for k in range(len(found.nodes))
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """What to ask for; indices of configurations, ``None`` where none fulfils it."""

    front: tuple[int, ...]  # cores against time, cores increasing
    fastest: int | None  # least time
    cheapest: int | None  # fewest core-hours
    largest: int | None  # most cores with ``least_efficiency``
    least_efficiency: float  # what was asked for
    # Cores of the last point of the front where more were considered: beyond it no configuration is faster;
    # ``None`` where the front goes to the end
    break_cores: int | None
    # Why each configuration is not allowed
    reasons: tuple[tuple[str, ...], ...] = field(default_factory=tuple)


def decide(
    found: Configurations, limits: AllocationLimits | None = None, least_efficiency: float = 0.5
) -> Decision:
    """Choices among the configurations that keep to the limits; ``ConfigError`` if there are none at all."""
    if not len(found.nodes):
        raise ConfigError("expected at least one configuration, found none")
    limits = limits or AllocationLimits()
    reasons = limits.reasons(found)
    allowed = np.array([not why for why in reasons])
    front = pareto_front(found.cores, found.time_s, allowed)
    hours = np.where(allowed, found.core_hours(limits.cores_per_node), np.inf)
    by_cores = np.lexsort((found.time_s, -found.cores))
    efficient = by_cores[(allowed & (found.efficiency >= least_efficiency))[by_cores]]
    most = int(found.cores[allowed].max(initial=0))
    last = int(found.cores[front[-1]]) if front else 0
    return Decision(
        front=front,
        fastest=front[-1] if front else None,
        cheapest=int(np.argmin(hours)) if front else None,
        largest=int(efficient[0]) if len(efficient) else None,
        least_efficiency=least_efficiency,
        break_cores=last if front and last < most else None,
        reasons=reasons,
    )


def pareto_front(cores: Int64, time_s: Floats, allowed: Flags | None = None) -> tuple[int, ...]:
    """Configurations that no other beats: fewer cores or less time; cores increasing; of equals the first.

    ``cores``: int64[n]; ``time_s``: float64[n], NaN is no point; ``allowed``: bool[n], which may be chosen.
    """
    usable = np.isfinite(time_s) if allowed is None else np.isfinite(time_s) & allowed
    index = np.flatnonzero(usable)
    order = index[np.lexsort((time_s[index], cores[index]))]
    best = np.minimum.accumulate(time_s[order])
    before = np.concatenate(([np.inf], best[:-1])) if len(order) else best
    return tuple(order[time_s[order] < before].tolist())


JOB_SYSTEMS = {
    "Slurm": ("#SBATCH ", "--nodes={n}", "--ntasks-per-node={p}", "--time={h:02d}:{m:02d}:{s:02d}"),
    "PBS": ("#PBS ", "-l select={n}:ncpus={p}:mpiprocs={p}", "-l walltime={h:02d}:{m:02d}:{s:02d}"),
    "LSF": ("#BSUB ", "-n {ranks}", '-R "span[ptile={p}]"', "-W {h:02d}:{m:02d}"),
}
"""What begins a line, and options, by batch system; LSF rounds to minutes."""


def sbatch_lines(found: Configurations, index: int, *, system: str = "Slurm") -> tuple[str, ...]:
    """Lines of a job script that ask for a configuration; ``system`` is one of :data:`JOB_SYSTEMS`."""
    seconds = max(60, int(np.ceil(found.time_s[index] * 1.5)))  # a job that is late is killed
    if system == "LSF":
        seconds = -(-seconds // 60) * 60
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    nodes, processes = int(found.nodes[index]), int(found.processes[index])
    asked = {"n": nodes, "p": processes, "ranks": nodes * processes, "h": hours, "m": minutes, "s": seconds}
    start, *options = JOB_SYSTEMS[system]
    return tuple(start + option.format(**asked) for option in options)


@dataclass(frozen=True, slots=True)
class ComputeRates:
    """What computes on a node."""

    process_flops: float  # throughput of one process R, Flop/s
    memory_bandwidth: float = float("inf")  # of the node, B/s; infinite where not known

    def seconds(self, demand: RunDemand, num_nodes: int, ranks_per_node: int) -> tuple[float, bool]:
        """Time of the computation of a demand of all processes, seconds, and whether memory limits it."""
        arithmetic_s = demand.work_flop / (num_nodes * ranks_per_node * self.process_flops)
        memory_s = demand.memory_bytes / (num_nodes * self.memory_bandwidth)
        return max(arithmetic_s, memory_s), memory_s > arithmetic_s


def rates_of(machine: MachineParameters) -> ComputeRates:
    """Rates of a machine, its throughput is of one process here; ``MachineModelError`` if it has none."""
    if machine.throughput is None:
        raise MachineModelError(
            "expected the throughput of one process, found none",
            hint="give --throughput 3.2GFlop/s, or: commanalyzer machine measure --program RESULT -- COMMAND",
        )
    memory = machine.memory_bandwidth
    return ComputeRates(machine.throughput.value, memory.value if memory is not None else float("inf"))


def configurations(
    workload: Workload,
    nodes: Sequence[int],
    processes: Sequence[int],
    model: PhaseModel,
    rates: ComputeRates,
    site: Ranks,
) -> Configurations:
    """Times of all nodes x processes per node on which the program can run.

    Raises ``ConfigError`` if it can run on none of them; ``FitError`` if a metric that the model needs is not
    known.
    """
    rows, demands = [], []
    for n, ppn in product(sorted(set(nodes)), sorted(set(processes))):  # a step per configuration
        demand = workload.demand(n, ppn, site)
        if demand is None:
            continue
        predicted = model.predict(demand.metrics)
        compute_s, is_memory_bound = rates.seconds(demand, n, ppn)
        comm_s = float((predicted.time_s * demand.repetitions).sum())
        beyond = bool(predicted.is_beyond.any()) or demand.is_beyond
        rows.append((n, ppn, compute_s, comm_s, demand.resident_bytes / n))
        demands.append((beyond, bool(predicted.is_clamped.any()), is_memory_bound))
    if not rows:
        raise ConfigError(
            f"expected nodes and processes per node that {workload.title} can run on, found none",
            hint="results know the numbers of processes they were divided among; grids need a point each",
        )
    one = workload.demand(1, 1, site)
    serial_s = rates.seconds(one, 1, 1)[0] if one is not None else float("nan")
    num_nodes, per_node, compute, comm, held = np.array(rows).T
    whole = (num_nodes.astype(np.int64), per_node.astype(np.int64))
    flags = np.array(demands, dtype=np.bool_).T
    return Configurations(*whole, compute, comm, serial_s, held, *flags)
