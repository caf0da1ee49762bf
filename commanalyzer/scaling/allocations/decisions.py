"""Which allocation to ask for: all nodes x processes per node, their times and costs, and what to choose.

The front (Pareto) holds the configurations that no other one beats in both cores and time. Its fastest point
is the fastest of all; beyond it scalability breaks: more cores are in no point of the front (paper
Section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.routes import Int64
from commanalyzer.scaling.allocations.model import Flags
from commanalyzer.scaling.laws.terms import Floats

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """Nodes x processes per node with their times; arrays over configurations.

    Attributes:
        nodes: int64[n], N.
        processes: int64[n], PPN.
        compute_s: float64[n], computation of the whole run, seconds.
        comm_s: float64[n], communication, seconds; NaN where no model holds.
        serial_s: Time of one process with all work T_1, seconds.
        node_bytes: float64[n], memory that a node needs, bytes; NaN where not known.
        is_beyond: bool[n], some phase lies outside of what the model was trained on, or a law's data.
        is_clamped: bool[n], some formula was below zero.
        is_memory_bound: bool[n], computation is limited by the node's memory bandwidth.
    """

    nodes: Int64
    processes: Int64
    compute_s: Floats
    comm_s: Floats
    serial_s: float
    node_bytes: Floats
    is_beyond: Flags
    is_clamped: Flags
    is_memory_bound: Flags

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
class Limits:
    """What an allocation must keep to; ``None`` for no limit.

    Attributes:
        memory_bytes: Memory of a node.
        most_nodes: Of the queue.
        least_nodes: Of the queue.
        most_s: Time limit of the queue, or a deadline, seconds.
        budget_core_hours: Core-hours to spend.
        cores_per_node: Charge whole nodes of so many cores; 0 charges the cores that are used, as the paper.
    """

    memory_bytes: float | None = None
    most_nodes: int | None = None
    least_nodes: int = 1
    most_s: float | None = None
    budget_core_hours: float | None = None
    cores_per_node: int = 0

    def reasons(self, found: Configurations) -> tuple[tuple[str, ...], ...]:
        """Why each configuration is not allowed; nothing where it is."""
        checks = {
            "memory": found.node_bytes > (np.inf if self.memory_bytes is None else self.memory_bytes),
            "queue": (found.nodes < self.least_nodes)
            | (found.nodes > (np.inf if self.most_nodes is None else self.most_nodes)),
            "time": found.time_s > (np.inf if self.most_s is None else self.most_s),
            "budget": found.core_hours(self.cores_per_node)
            > (np.inf if self.budget_core_hours is None else self.budget_core_hours),
            "no model": ~np.isfinite(found.time_s),
        }
        return tuple(
            tuple(name for name, is_broken in checks.items() if is_broken[k]) for k in range(len(found.nodes))
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """What to ask for; indices of configurations, ``None`` where none fulfils it.

    Attributes:
        front: Cores against time, cores increasing.
        fastest: Least time.
        cheapest: Fewest core-hours.
        largest: Most cores with ``least_efficiency``.
        least_efficiency: What was asked for.
        break_cores: Cores of the last point of the front where more were considered: beyond it no
            configuration is faster; ``None`` where the front goes to the end.
        reasons: Why each configuration is not allowed.
    """

    front: tuple[int, ...]
    fastest: int | None
    cheapest: int | None
    largest: int | None
    least_efficiency: float
    break_cores: int | None
    reasons: tuple[tuple[str, ...], ...] = field(default_factory=tuple)


def decide(found: Configurations, limits: Limits | None = None, least_efficiency: float = 0.5) -> Decision:
    """Choices among the configurations that keep to the limits.

    Args:
        found: At least one.
        limits: What they must keep to.
        least_efficiency: Of the largest allocation to be named.

    Raises:
        ConfigError: If there are no configurations.
    """
    if not len(found.nodes):
        raise ConfigError("expected at least one configuration, found none")
    limits = limits or Limits()
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
    """Configurations that no other beats: fewer cores or less time; cores increasing.

    Of equally good ones the first is taken.

    Args:
        cores: int64[n].
        time_s: float64[n]; NaN is no point.
        allowed: bool[n], which ones may be chosen.
    """
    usable = np.isfinite(time_s) if allowed is None else np.isfinite(time_s) & allowed
    index = np.flatnonzero(usable)
    order = index[np.lexsort((time_s[index], cores[index]))]
    best = np.minimum.accumulate(time_s[order])
    before = np.concatenate(([np.inf], best[:-1])) if len(order) else best
    return tuple(order[time_s[order] < before].tolist())


def sbatch_lines(
    found: Configurations, index: int, margin: float = 1.5, extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """``#SBATCH`` lines that ask for a configuration.

    Args:
        found: Configurations.
        index: Which one.
        margin: Time to ask for over the predicted one; a job that is late is killed.
        extra: Further options of ``sbatch``.
    """
    seconds = max(60, int(np.ceil(found.time_s[index] * margin)))
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    options = (
        f"--nodes={found.nodes[index]}",
        f"--ntasks-per-node={found.processes[index]}",
        f"--time={hours:02d}:{minutes:02d}:{seconds:02d}",
        *extra,
    )
    return tuple(f"#SBATCH {option}" for option in options)
