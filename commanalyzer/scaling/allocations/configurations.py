"""Computes and communicates: a workload and a machine -> times of all nodes x processes per node.

Computation is a roofline of the node: a process computes at the measured throughput R of one process, unless
the PPN processes of a node together want more bytes per second than its memory gives; then memory is shared
equally (S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.scaling.allocations.decisions import Configurations
from commanalyzer.scaling.allocations.injection import injection_of
from commanalyzer.scaling.allocations.model import PhaseModel, model_of
from commanalyzer.scaling.allocations.workload import Demand, Site, Workload


@dataclass(frozen=True, slots=True)
class ComputeRates:
    """What computes on a node.

    Attributes:
        process_flops: Throughput of one process R, Flop/s.
        memory_bandwidth: Of the node, B/s; infinite where not known.
    """

    process_flops: float
    memory_bandwidth: float = float("inf")

    def seconds(self, demand: Demand, num_nodes: int, ranks_per_node: int) -> tuple[float, bool]:
        """Time of the computation, and whether memory limits it.

        Args:
            demand: Of all processes.
            num_nodes: N.
            ranks_per_node: PPN.
        """
        arithmetic_s = demand.work_flop / (num_nodes * ranks_per_node * self.process_flops)
        memory_s = demand.memory_bytes / (num_nodes * self.memory_bandwidth)
        return max(arithmetic_s, memory_s), memory_s > arithmetic_s


def rates_of(machine: MachineParameters) -> ComputeRates:
    """Rates of a machine; its throughput is that of one process here.

    Raises:
        MachineModelError: If it has no throughput.
    """
    if machine.throughput is None:
        raise MachineModelError(
            "expected the throughput of one process, found none",
            hint="give --throughput 3.2GFlop/s, or measure it: machine measure --program RESULT -- COMMAND",
        )
    memory = machine.memory_bandwidth
    return ComputeRates(machine.throughput.value, memory.value if memory is not None else float("inf"))


def phase_model(machine: MachineParameters) -> PhaseModel:
    """Areas where the machine has some, else the max-rate model of its parameters.

    Raises:
        MachineModelError: If it has neither.
    """
    return model_of(machine) if machine.phase_times is not None else injection_of(machine)


def configurations(
    workload: Workload,
    nodes: Sequence[int],
    processes: Sequence[int],
    model: PhaseModel,
    rates: ComputeRates,
    site: Site,
) -> Configurations:
    """Times of all nodes x processes per node on which the program can run.

    Args:
        workload: The program.
        nodes: N to consider.
        processes: PPN to consider.
        model: Time of phases.
        rates: What computes.
        site: Where.

    Raises:
        ConfigError: If it can run on none of them.
        FitError: If a metric that the model needs is not known.
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
