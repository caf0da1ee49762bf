"""MPI programs, predictions and bounds on simulated clusters: makes workloads/SIMULATION.md.

    python -m tests.bench.simulated [--results DIR] [--only heat2d,hydro3d] [-o FILE]

Run from the checkout; needs SimGrid (Debian: libsimgrid-dev) and a C++ compiler. The workloads are analysed
first (minutes), or results of an earlier run are taken from DIR. Everything after that is deterministic.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import commanalyzer as ca
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.roofline.bound import scaling_bound
from commanalyzer.simulation.platforms import TOPOLOGIES, LinkParameters, Platform, make_platform
from commanalyzer.simulation.run import SimulationOptions, measured_machine, replayed_time, shuffled
from commanalyzer.simulation.schedule import make_schedule
from commanalyzer.simulation.smpirun import smpi_version
from tests.bench.simulated_document import Row, document
from tests.bench.simulated_programs import CASES, ROOT, Case, build, prediction, step_time

PLATFORM_NODES = 64
SEED = 1
NODES = sorted({count for case in CASES for count in case.grids})
_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A machine and where ranks are placed on it."""

    name: str
    link: LinkParameters
    is_shuffled: bool = False


SETTINGS = (
    Setting("large messages", LinkParameters(1e8, 1e-7, 1e9)),
    Setting("large messages, random placement", LinkParameters(1e8, 1e-7, 1e9), is_shuffled=True),
    Setting("cluster", LinkParameters(1e9, 2e-6, 4e9)),
    Setting("Gigabit Ethernet", LinkParameters(1.25e8, 5e-5, 4e9)),
)


def rows(case: Case, found: ca.AnalysisResult, machines: Machines, scratch: Path) -> Iterator[Row]:
    """All rows of a workload."""
    flops_per_step = found.work.flops / case.analysed_steps
    for nodes in case.grids:
        program = build(case, nodes, flops_per_step, scratch)
        for setting, platform, machine in machines:
            placed = shuffled(platform, SEED) if setting.is_shuffled else platform
            serial_s = flops_per_step / setting.link.throughput
            step_s = step_time(case, program, nodes, placed)
            yield row(case, found, nodes, setting, placed, machine, serial_s / (nodes * step_s))


def row(
    case: Case,
    found: ca.AnalysisResult,
    nodes: int,
    setting: Setting,
    placed: Platform,
    machine: MachineParameters,
    program_efficiency: float,
) -> Row:
    """One workload on one platform and node count."""
    best = found.best(nodes)
    candidates = [d for d in found.decompositions if (d.nodes, d.model) == (nodes, "volume")]
    point = scaling_bound(
        found.work.flops, [(d.method, d.communication) for d in candidates], machine
    ).points[-1]
    work_flop = [found.work.flops / nodes * best.imbalance] * nodes
    replayed_s = replayed_time(make_schedule(best.communication), work_flop, placed, _TIMEOUT_S)
    latency_bytes = setting.link.latency_s * setting.link.bandwidth
    return Row(
        setting=setting.name,
        workload=case.title,
        platform=placed.name,
        nodes=nodes,
        message_ratio=(best.communication.mean_message_bytes or 0.0) / latency_bytes,
        bandwidth_share=point.network.bandwidth / setting.link.bandwidth,
        program=program_efficiency,
        replay=found.work.flops / setting.link.throughput / (nodes * replayed_s),
        paper_bound=point.paper_efficiency,
        bound=point.efficiency,
        binds=point.times.limit,
    )


Machines = list[tuple[Setting, Platform, MachineParameters]]


def measured_machines() -> Machines:
    """Every setting on every topology, with the parameters measured there."""
    found = []
    for setting in SETTINGS:
        options = SimulationOptions(seed=SEED, is_shuffled=setting.is_shuffled, timeout_s=_TIMEOUT_S)
        for topology in TOPOLOGIES:
            platform = make_platform(topology, PLATFORM_NODES, setting.link)
            found.append((setting, platform, measured_machine(platform, NODES, options)))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Run all cases and write the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, help="folder of results that are kept")
    parser.add_argument("--only", default="", help="workloads")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "workloads" / "SIMULATION.md")
    arguments = parser.parse_args(argv)
    names = set(filter(None, arguments.only.split(",")))
    console = Console()
    machines = measured_machines()
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        results = arguments.results or Path(folder)
        for case in CASES:
            if names and case.name not in names:
                continue
            console.print(f"{case.title}: analysing")
            for item in rows(case, prediction(case, results), machines, Path(folder)):
                console.print(str(item), soft_wrap=True)
                found.append(item)
    settings = [(s.name, s.link, s.is_shuffled) for s in SETTINGS]
    arguments.output.write_text(document(found, settings, smpi_version(), PLATFORM_NODES), encoding="utf-8")
    console.print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
