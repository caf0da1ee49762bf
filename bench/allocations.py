"""Predicted communication time and allocations on simulated networks: makes workloads/ALLOCATIONS.md.

    python -m bench.allocations [--only torus,dragonfly] [--keep DIR] [-o FILE]

With --keep, what was simulated of a network is kept in DIR and taken from there; networks can so be simulated
by several processes.

Phase models are fitted to a campaign on up to 128 nodes of networks with 1,024, and tested on the halos of
stencil3d, hydro3d and cg on up to 1,024 nodes x 8 processes. Truth is the flow model of
bench.flow_model; where SimGrid is installed, the flow model is compared with it on 64
processes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.allocations_document import document
from bench.flow_model import phase_time
from commanalyzer.machine.measuring.phase_campaign import CampaignPoint, campaign_points
from commanalyzer.machine.phase_times import conditions_text
from commanalyzer.machine.placement import Placement, on_nodes
from commanalyzer.machine.simulation.platforms import LinkParameters
from commanalyzer.machine.simulation.routes import Floats, Int64, Messages, Topology, make_network
from commanalyzer.scaling.allocations.campaign import CampaignData, fit_areas, pattern_messages
from commanalyzer.scaling.allocations.decisions import ComputeRates, Configurations
from commanalyzer.scaling.allocations.metrics import (
    AreaModel,
    InjectionModel,
    PhaseModel,
    fit_injection,
    in_columns,
    phase_metrics,
    units_of,
)
from commanalyzer.scaling.allocations.workload import Halo, HaloWorkload, Phase, Ranks
from tests.simgrid.phases import allocated

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ("fat-tree", "torus", "dragonfly", "hypercube")
HOSTS = 1024
LINK = LinkParameters(bandwidth=1e9, latency_s=2e-6, throughput=4e9, message_overhead_s=3e-7)
RATES = ComputeRates(process_flops=4e9, memory_bandwidth=8e10)
TRAIN_NODES, TRAIN_PROCESSES = (8, 32, 128), (1, 2, 4, 8)
TRAIN_SIZES = (64, 1024, 16384, 262144, 4194304)
MODELS = ("areas with routes", "areas, metrics of the paper", "max-rate")


@dataclass(frozen=True, slots=True)
class Scope:
    """What is tested: nodes, processes per node, extents of the grids."""

    nodes: tuple[int, ...]
    processes: tuple[int, ...]
    extents: tuple[int, ...]


FULL = Scope((16, 64, 256, 512, 1024), (1, 2, 4, 8), (96, 192, 384))
QUICK = Scope((16, 64, 256, 1024), (1, 4, 8), (96, 384))


def programs(extents: tuple[int, ...]) -> tuple[HaloWorkload, ...]:
    """Halos of three workloads.

    stencil3d: faces of doubles. hydro3d: three components at nodes, over edges and corners too, and one
    minimum per step. cg: 7-point matrix, two sums per iteration. Work and memory traffic per point are those
    of the loops.
    """
    found: list[HaloWorkload] = []
    for n in extents:
        found += [
            HaloWorkload(f"stencil3d {n}^3", Halo((n,) * 3), 100, 8, 16),
            HaloWorkload(f"hydro3d {n}^3", Halo((n,) * 3, 24, 1, "all"), 100, 1500, 1000, allreduces=1),
            HaloWorkload(f"cg {n}^3", Halo((n,) * 3), 100, 26, 180, allreduces=2),
        ]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Row:
    """One program on all configurations of one network; arrays over configurations.

    Attributes:
        network: Topology.
        program: Program and size.
        truth: Simulated.
        predicted: By each model.
    """

    network: str
    program: str
    truth: Configurations
    predicted: Mapping[str, Configurations]


def main() -> None:
    """Simulate, fit, compare and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(NETWORKS), help="topologies")
    parser.add_argument("--quick", action="store_true", help="fewer configurations and sizes")
    parser.add_argument("--keep", type=Path, help="directory of simulated networks")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "workloads" / "ALLOCATIONS.md")
    options = parser.parse_args()
    console = Console()
    rows: list[Row] = []
    formulas: dict[str, str] = {}
    for topology in options.only.split(","):
        kept = options.keep / f"{topology}.json" if options.keep else None
        if kept is not None and kept.exists():
            mine, formulas[topology] = decoded(json.loads(kept.read_text()))
        else:
            mine, formulas[topology] = simulated(topology, QUICK if options.quick else FULL)
            if kept is not None:
                kept.parent.mkdir(exist_ok=True)
                kept.write_text(
                    json.dumps({"rows": [encoded(r) for r in mine], "formula": formulas[topology]})
                )
        rows += mine
        console.print(f"{topology}: done")
    options.output.write_text(document(rows, formulas), encoding="utf-8")
    console.print(f"wrote {options.output}")


def simulated(topology: str, scope: Scope) -> tuple[list[Row], str]:
    """Rows of a network, and the fitted formulas."""
    network = make_network(topology, HOSTS)
    models = fitted(network)
    areas = models[0].times.areas
    text = "; ".join(f"{a.name} ({conditions_text(a.where) or 'all'}): {a.formula}" for a in areas)
    return list(tested(network, dict(zip(MODELS, models, strict=True)), scope)), text


def encoded(row: Row) -> dict[str, Any]:
    """A row as JSON."""
    table = np.column_stack(
        (row.truth.nodes, row.truth.processes, row.truth.compute_s, row.truth.is_memory_bound)
    )
    comm = {key: found.comm_s.tolist() for key, found in row.predicted.items()}
    return {"network": row.network, "program": row.program, "table": table.tolist(),
            "truth": row.truth.comm_s.tolist(), "predicted": comm}  # fmt: skip


def decoded(document: dict[str, Any]) -> tuple[list[Row], str]:
    """Rows that :func:`encoded` made."""
    rows = []
    for item in document["rows"]:
        table = np.insert(np.array(item["table"]), 3, 0.0, axis=1)
        predicted = {k: _configurations(table, np.array(v)) for k, v in item["predicted"].items()}
        truth = _configurations(table, np.array(item["truth"]))
        rows.append(Row(item["network"], item["program"], truth, predicted))
    return rows, document["formula"]


def simulated_campaign(
    points: Sequence[CampaignPoint],
    network: Topology,
    link: LinkParameters,
    allocations: Sequence[int] = (0, 1),
) -> Iterator[tuple[Messages, Placement, float]]:
    """Messages, placement and time (seconds) of every point in every allocation, see :func:`allocated`."""
    for point in points:
        messages = pattern_messages(point)
        for number in allocations:
            place = allocated(network, point.num_nodes, number)
            placement = on_nodes(point.num_nodes, point.ranks_per_node, position=place)
            yield messages, placement, phase_time(messages, placement.rank_position, network, link)


def fitted(network: Topology) -> tuple[AreaModel, AreaModel, InjectionModel]:
    """The models of a campaign on a network, in the order of ``MODELS``."""
    points = campaign_points(TRAIN_NODES, TRAIN_PROCESSES, sizes=TRAIN_SIZES)
    units = units_of(network)
    metrics, times = [], []
    for messages, placement, time_s in simulated_campaign(points, network, LINK):
        metrics.append(phase_metrics(messages, placement, units, network))
        times.append(time_s)
    table, seconds = in_columns(metrics), np.array(times)
    plain = {name: values for name, values in table.items() if name not in ("LT", "D")}
    shape = [unit.name for unit in units]
    return (
        fit_areas(CampaignData(table, seconds), shape),
        fit_areas(CampaignData(plain, seconds), shape),
        fit_injection(table, seconds),
    )


def tested(network: Topology, models: Mapping[str, PhaseModel], scope: Scope) -> Iterator[Row]:
    """All programs on a network, on consecutive nodes and on fragments."""
    for number in (0, 1):
        truth_of_sums: dict[tuple[int, int], tuple[float, dict[str, float]]] = {}
        # Fragments of one size only: they make another way to the same nodes.
        for program in programs(scope.extents[1:2] if number else scope.extents):
            name = f"{program.title}{', fragments' if number else ''}"
            yield _row(name, program, network, models, (number, scope), truth_of_sums)


def _row(
    name: str,
    program: HaloWorkload,
    network: Topology,
    models: Mapping[str, PhaseModel],
    where: tuple[int, Scope],
    sums: dict[tuple[int, int], tuple[float, dict[str, float]]],
) -> Row:
    number, scope = where
    site = Ranks(units_of(network), network)
    rows: list[tuple[float, ...]] = []
    comm: dict[str, list[float]] = {key: [] for key in models}
    for n in scope.nodes:
        for ppn in scope.processes:
            phases = program.phases(n * ppn)
            one, each = _times(phases[:1], n, ppn, network, models, number)
            if len(phases) > 1:
                # Rounds of a sum are the same for all programs.
                if (n, ppn) not in sums:
                    sums[n, ppn] = _times(phases[1:], n, ppn, network, models, number)
                one += sums[n, ppn][0] * program.allreduces
                each = {k: v + sums[n, ppn][1][k] * program.allreduces for k, v in each.items()}
            demand = program.demand(n, ppn, site)
            assert demand is not None
            compute_s, is_memory_bound = RATES.seconds(demand, n, ppn)
            rows.append((n, ppn, compute_s, one * program.steps, is_memory_bound))
            for key in models:
                comm[key].append(each[key] * program.steps)
    table = np.array(rows)
    truth = _configurations(table, table[:, 3])
    predicted = {key: _configurations(table, np.array(values)) for key, values in comm.items()}
    return Row(network.topology, name, truth, predicted)


def _times(
    phases: tuple[Phase, ...],
    n: int,
    ppn: int,
    network: Topology,
    models: Mapping[str, PhaseModel],
    number: int,
) -> tuple[float, dict[str, float]]:
    """Simulated and predicted time of phases, one after another, seconds."""
    placement = on_nodes(n, ppn, position=_place(network, n, number))
    messages = [phase.messages for phase in phases]
    true_s = sum(phase_time(m, placement.rank_position, network, LINK) for m in messages)
    columns = in_columns([phase_metrics(m, placement, units_of(network), network) for m in messages])
    return true_s, {key: float(model.predict(columns).time_s.sum()) for key, model in models.items()}


@cache
def _place(network: Topology, n: int, number: int) -> Int64:
    # Other fragments than those of the campaign.
    return allocated(network, n, 7 * number)


def _configurations(table: Floats, comm_s: Floats) -> Configurations:
    nothing = np.zeros(len(table), dtype=np.bool_)
    return Configurations(
        table[:, 0].astype(np.int64),
        table[:, 1].astype(np.int64),
        table[:, 2],
        comm_s,
        float(table[0, 2] * table[0, 0] * table[0, 1]),
        np.full(len(table), np.nan),
        nothing,
        nothing,
        table[:, 4] > 0,
    )


if __name__ == "__main__":
    main()
