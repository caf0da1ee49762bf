"""MPI programs, predictions and bounds on simulated clusters: makes workloads/SIMULATION.md.

    python -m bench.simulated [--results DIR] [--only heat2d,hydro3d] [-o FILE]

Run from the checkout; needs SimGrid (Debian: libsimgrid-dev) and a C++ compiler. The workloads are analysed
first (minutes), or results of an earlier run are taken from DIR. Everything after that is deterministic.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

import commanalyzer as ca
from bench.simulated_document import Row, document
from commanalyzer.communication.matrix import Communication
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import BoundPoint, scaling_bound
from commanalyzer.machine.simulation.platforms import TOPOLOGIES, LinkParameters, Platform, make_platform
from commanalyzer.machine.simulation.routes import HostOrder, place
from commanalyzer.machine.simulation.run import SimulationOptions, measured_machine, replayed_time
from commanalyzer.machine.simulation.schedule import make_schedule, smpi_version
from tests.simgrid.programs import CASES, ROOT, Case, build, own_communication, prediction, step_time

PLATFORM_NODES = 64
SEED = 1
_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A machine and where ranks are placed on it."""

    name: str
    link: LinkParameters
    placement: HostOrder


LARGE = LinkParameters(bandwidth=1e8, latency_s=1e-7, throughput=1e9)
SETTINGS = (
    Setting("large messages", LARGE, "near"),
    Setting("large messages, random placement", LARGE, "random"),
    Setting("cluster", LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9), "near"),
    Setting("Gigabit Ethernet", LinkParameters(bandwidth=1.25e8, latency_s=5e-5, throughput=4e9), "near"),
)


class Placements:
    """Hosts of ranks, found once for all machines with the same network."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[str, str, bytes], tuple[str, ...]] = {}

    def place(self, platform: Platform, placement: HostOrder, item: Communication) -> Platform:
        """As :func:`commanalyzer.machine.simulation.placement.place`."""
        key = (platform.name, placement, item.comm_bytes.tobytes())
        if key not in self._hosts:
            self._hosts[key] = place(platform, placement, SEED, item.comm_bytes).hosts
        return replace(platform, hosts=self._hosts[key])


def rows(case: Case, found: ca.AnalysisResult, scratch: Path) -> Iterator[Row]:
    """All rows of a workload."""
    programs = {
        nodes: build(case, nodes, found.work.flops / case.analysed_steps, scratch) for nodes in case.grids
    }
    own = {nodes: own_communication(case, found, nodes) for nodes in case.grids}
    placements = Placements()
    for setting in SETTINGS:
        for topology in TOPOLOGIES:
            platform = make_platform(topology, PLATFORM_NODES, setting.link)
            yield from rows_on(platform, case, found, own, programs, setting, placements)


def rows_on(
    platform: Platform,
    case: Case,
    found: ca.AnalysisResult,
    own: Mapping[int, Communication],
    programs: Mapping[int, Path],
    setting: Setting,
    placements: Placements,
) -> Iterator[Row]:
    """Rows of a workload on one platform, for all node counts."""
    placed = {nodes: placements.place(platform, setting.placement, item) for nodes, item in own.items()}
    machine = measured_machine(platform, placed, SimulationOptions(seed=SEED, timeout_s=_TIMEOUT_S))
    for nodes, item in own.items():
        best = found.best(nodes)
        on = placements.place(platform, setting.placement, best.communication)
        step_s = step_time(case, programs[nodes], nodes, placed[nodes])
        serial_s = found.work.flops / setting.link.throughput
        candidates = [d for d in found.decompositions if (d.nodes, d.model) == (nodes, "volume")]
        point = bound(found, [d.communication for d in candidates], machine)
        own_point = bound(found, [item], machine)
        yield Row(
            setting=setting.name,
            workload=case.title,
            platform=platform.name,
            nodes=nodes,
            message_ratio=(item.mean_message_bytes or 0.0)
            / (setting.link.latency_s * setting.link.bandwidth),
            bandwidth_share=point.network.bandwidth / setting.link.bandwidth,
            program=serial_s / case.analysed_steps / (nodes * step_s),
            replay_own=replayed_efficiency(found, item, 1.0, placed[nodes], serial_s),
            replay_best=replayed_efficiency(found, best.communication, best.imbalance, on, serial_s),
            expected=point.expected_efficiency,
            paper_bound=point.paper_efficiency,
            found_bound=point.efficiency,
            own_bound=own_point.efficiency,
            binds=own_point.times.limit,
        )


def bound(found: ca.AnalysisResult, items: Sequence[Communication], machine: MachineParameters) -> BoundPoint:
    """Bounds for the best of the divisions."""
    return scaling_bound(found.work.flops, [("", item) for item in items], machine).points[-1]


def replayed_efficiency(
    found: ca.AnalysisResult, item: Communication, imbalance: float, platform: Platform, serial_s: float
) -> float:
    """Efficiency of a replayed prediction whose most loaded node has ``imbalance`` times the mean work."""
    p = item.num_parts
    work_flop = [found.work.flops / p * imbalance] * p
    return serial_s / (p * replayed_time(make_schedule(item), work_flop, platform, _TIMEOUT_S))


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
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        results = arguments.results or Path(folder)
        for case in CASES:
            if names and case.name not in names:
                continue
            console.print(f"{case.title}: analysing")
            for item in rows(case, prediction(case, results), Path(folder)):
                console.print(str(item), soft_wrap=True)
                found.append(item)
    settings = [(s.name, s.link, s.placement) for s in SETTINGS]
    arguments.output.write_text(document(found, settings, smpi_version(), PLATFORM_NODES), encoding="utf-8")
    console.print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
