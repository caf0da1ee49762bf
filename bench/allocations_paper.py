"""Tables 6 to 9 of Papadopoulou et al. (2017), as far as what is printed allows.

The paper takes the measured computation time of Jacobi3D, which it does not print. One rate per machine is
taken instead: points per second and process, from the printed core-hours of the cheapest configuration of the
largest problem, less its predicted communication. All else follows from Tables 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from commanalyzer.machine.machine_file import load_machine
from commanalyzer.machine.placement import on_nodes
from commanalyzer.scaling.allocations.decisions import ComputeRates, configurations, decide
from commanalyzer.scaling.allocations.metrics import in_columns, model_of, phase_metrics
from commanalyzer.scaling.allocations.workload import Halo, HaloWorkload, Ranks

STEPS = 256
SIZES = (128, 256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class Printed:
    """What Tables 6 to 9 say of one machine.

    Attributes:
        machine: Name of the published machine.
        nodes: N that the paper measured (Table 3).
        processes: PPN.
        fastest: Measured fastest configuration of each size.
        cheapest: Measured cheapest configuration.
        core_hours: Of the cheapest.
    """

    machine: str
    nodes: tuple[int, ...]
    processes: tuple[int, ...]
    fastest: tuple[tuple[int, int], ...]
    cheapest: tuple[tuple[int, int], ...]
    core_hours: tuple[float, ...]


VILJE = Printed(
    "vilje",
    (16, 32, 64, 128, 256, 512),
    (1, 2, 4, 8, 16),
    ((512, 2), (512, 2), (512, 8), (512, 16), (512, 16)),
    ((32, 1), (16, 1), (16, 1), (32, 1), (32, 1)),
    (0.001524, 0.0115, 0.0907, 0.7168, 5.724),
)
DAINT = Printed(
    "piz-daint",
    (16, 32, 64, 128, 256, 512, 1024),
    (1, 2, 4, 8),
    ((128, 8), (1024, 8), (1024, 8), (1024, 4), (1024, 4)),
    ((16, 1), (32, 1), (256, 1), (1024, 1), (512, 1)),
    (0.000364, 0.00243, 0.02035, 0.1659, 1.3716),
)


def jacobi(n: int) -> HaloWorkload:
    """Jacobi3D: a step exchanges the faces of doubles; one operation per point, the rate counts points."""
    return HaloWorkload(f"Jacobi3D {n}^3", Halo((n, n, n)), STEPS, 1.0)


def points_per_second(printed: Printed) -> float:
    """Points that a process computes per second, from the largest problem."""
    (nodes, ppn), n = printed.cheapest[-1], SIZES[-1]
    machine = load_machine(printed.machine)
    messages = Halo((n, n, n)).messages(nodes * ppn)
    row = phase_metrics(messages, on_nodes(nodes, ppn), machine.units)
    comm_s = float(model_of(machine).predict(in_columns([row])).time_s[0]) * STEPS
    total_s = printed.core_hours[-1] * 3600.0 / (nodes * ppn)
    return float(n**3 * STEPS / (nodes * ppn) / (total_s - comm_s))


def rows(printed: Printed) -> Iterator[tuple[str, ...]]:
    """Size, fastest printed and found, cheapest printed and found, core-hours printed and found."""
    machine, rate = load_machine(printed.machine), points_per_second(printed)
    for n, fast, cheap, hours in zip(
        SIZES, printed.fastest, printed.cheapest, printed.core_hours, strict=True
    ):
        found = configurations(
            jacobi(n),
            printed.nodes,
            printed.processes,
            model_of(machine),
            ComputeRates(rate),
            Ranks(machine.units),
        )
        chosen = decide(found)
        names = [f"{found.nodes[k]} x {found.processes[k]}" for k in range(len(found.nodes))]
        assert chosen.fastest is not None
        assert chosen.cheapest is not None
        at = names.index(f"{cheap[0]} x {cheap[1]}")
        clamped = int(np.sum(found.is_clamped))
        yield (
            f"{n}^3",
            f"{fast[0]} x {fast[1]}",
            names[chosen.fastest],
            f"{cheap[0]} x {cheap[1]}",
            names[chosen.cheapest],
            f"{hours:g}",
            f"{found.core_hours()[at]:.4g}",
            f"{clamped} of {len(names)}",
        )
