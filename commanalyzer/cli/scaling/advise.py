"""``commanalyzer advise``: efficiency, time and cost of larger problems on more nodes, from laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import efficiency_option, given, machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options, together
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.parameters import MachineParameters

if TYPE_CHECKING:
    from commanalyzer.scaling.allocations.workload import Ranks, Workload
    from commanalyzer.scaling.laws.projection import Division


def _nodes_up_to(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """Node counts, ``..1024`` being the powers of two up to there; a default passes through."""
    if isinstance(text, str) and text.startswith(".."):
        text = f"1{text}x2"
    return options.nodes(text)


allocation_options = options.all_of(
    click.option(
        "--allocations",
        "is_allocations",
        is_flag=True,
        help="All nodes x processes per node, with the time of communication phases. SOURCE may also be a "
        "result (*.cmz) or a halo file (*.toml).",
    ),
    click.option(
        "--ppn",
        type=options.nodes,
        help="Processes per node to consider: 1..16x2; 1 to all cores if left out.",
    ),
    click.option(
        "--steps",
        default="",
        metavar="NAME|NUMBER",
        help="Communication phases of the run: a --param, or a number.",
    ),
    options.with_default(
        "--model",
        "phase_model",
        type=click.Choice(["machine", "max-rate"]),
        default="machine",
        help="Time of a phase: the machine's areas (max-rate without any), or the max-rate model.",
    ),
    options.with_default(
        "--order",
        type=click.Choice(["blocks", "round-robin", "near"]),
        default="blocks",
        help="Ranks on the nodes; near: partners together, of a result (*.cmz).",
    ),
    click.option("--network", type=options.NETWORK, help="Network with known routes, for models with LT."),
    click.option(
        "--memory-traffic", type=float, default=0.0, metavar="B/FLOP", help="Bytes from memory per operation."
    ),
    click.option("--memory", type=options.size, help="Memory of the program: 200GB; else as measured."),
    click.option("--least-nodes", type=click.IntRange(1), default=1, help="Fewest nodes of the queue."),
    click.option("--most-nodes", type=click.IntRange(1), help="Most nodes of the queue."),
    click.option("--budget", type=float, help="Core-hours to spend at most."),
    click.option("--whole-nodes", is_flag=True, help="Core-hours count all cores of a node."),
    click.option("--all", "every", is_flag=True, help="Show all configurations, not only the front."),
)


@dataclass(frozen=True, slots=True)
class AllocationQuestion:
    """Options of the command line that only allocations have; the names are those of the options."""

    ppn: tuple[int, ...] | None
    steps: str
    phase_model: str
    order: Literal["blocks", "round-robin", "near"]
    network: str | None
    memory_traffic: float
    memory: float | None
    least_nodes: int
    most_nodes: int | None
    budget: float | None
    whole_nodes: bool
    every: bool


@dataclass(frozen=True, slots=True)
class Common:
    """Options that ``advise`` has in both forms."""

    source: Path
    sizes: tuple[tuple[str, float], ...]
    nodes: tuple[int, ...]
    efficiency: float
    division: Division | None
    deadline: float | None
    machine: MachineParameters
    out: Outputs


@click.command()
@click.argument("source", type=options.FILE, metavar="LAWS|RESULT|HALO")
@click.option(
    "--param", "sizes", type=options.setting, multiple=True, help="Size to run: n=4096; repeatable."
)
@options.with_default(
    "--nodes",
    type=_nodes_up_to,
    metavar="NODES",
    default="..1024",
    help="Node counts to consider: ..1024 (powers of two), 16,24,32 or 8-64:8.",
)
@click.option(
    "--weak", "weak_parameter", default="", metavar="NAME", help="The parameter that weak scaling grows."
)
@efficiency_option
@click.option(
    "--division",
    type=click.Choice(["best", "regular"]),
    help="Laws of what a programmer would write (the default where it has laws), or of the best found.",
)
@allocation_options
@click.option("--deadline", type=options.seconds, help="The run must be done by then: 2h, 30min.")
@options.with_default("--cores", type=click.IntRange(1), default=1, help="Cores per node, for core-hours.")
@machine_and_latency_options
@click.option("--gap", type=options.latency, help="Least time between two messages of a node: 0.5us.")
@output_options("Only the advice.")
@together(common=Common, asked=AllocationQuestion)
def command(
    common: Common,
    weak_parameter: str,
    cores: int,
    gap: float | None,
    is_allocations: bool,
    asked: AllocationQuestion,
) -> None:
    """Say how many nodes to ask for, from the LAWS that fit -o has saved.

    With --allocations: how many nodes and processes per node, with predicted times. Else all numbers are
    bounds from communication: no program with this communication is faster. Strong scaling keeps the problem;
    weak scaling grows one parameter so that the work per node stays.
    """
    common.out.check()
    if not 0.0 < common.efficiency < 1.0:
        raise click.BadParameter("expected an efficiency between 0 and 1", param_hint="--efficiency")
    if is_allocations:
        advise_allocations(common, asked)
        return
    from commanalyzer.report.scaling.laws_text import project_laws, projection_json, show_projection
    from commanalyzer.scaling.laws.document import load_laws

    report = project_laws(
        load_laws(common.source),
        common.machine.updated(gap=given(gap, "s")),
        common.nodes,
        dict(common.sizes),
        weak=weak_parameter,
        division=common.division,
        efficiency=common.efficiency,
        deadline_s=common.deadline,
        cores=cores,
    )
    common.out.emit(
        lambda: projection_json(report),
        lambda console: show_projection(report, console, quiet=common.out.quiet),
    )


def advise_allocations(common: Common, asked: AllocationQuestion) -> None:
    """Find, show and write the allocations."""
    from commanalyzer.report.scaling.allocations_text import (
        AllocationReport,
        allocations_json,
        show_allocations,
    )
    from commanalyzer.scaling.allocations.decisions import (
        AllocationLimits,
        configurations,
        decide,
        phase_model,
        rates_of,
    )
    from commanalyzer.scaling.allocations.metrics import injection_of

    machine = common.machine
    _check(asked, common)
    workload = _workload(common, asked)
    model = injection_of(machine) if asked.phase_model == "max-rate" else phase_model(machine)
    cores = int(machine.cores.value) if machine.cores is not None else 1
    if asked.whole_nodes and machine.cores is None:
        raise ConfigError(
            "expected the cores of a node to charge whole nodes, found none", where="--whole-nodes"
        )
    found = configurations(
        workload, common.nodes, asked.ppn or _powers(cores), model, rates_of(machine), _site(asked, common)
    )
    limits = AllocationLimits(
        memory_bytes=machine.memory.value if machine.memory is not None else None,
        most_nodes=asked.most_nodes,
        least_nodes=asked.least_nodes,
        most_s=common.deadline,
        budget_core_hours=asked.budget,
        cores_per_node=cores if asked.whole_nodes else 0,
    )
    decision = decide(found, limits, common.efficiency)
    report = AllocationReport(workload.title, machine.name, model.title, found, limits, decision)
    common.out.emit(
        lambda: allocations_json(report), lambda console: show_allocations(report, console, every=asked.every)
    )


def _check(asked: AllocationQuestion, common: Common) -> None:
    """Raise where an option would be without effect, or ask for what a node does not have."""
    cores, most = common.machine.cores, max(asked.ppn or (1,))
    if cores is not None and most > cores.value:
        raise ConfigError(
            f"expected at most the {cores.value:g} cores of a node, found {most}", where="--ppn"
        )
    if asked.memory is None:
        return
    if common.source.suffix == ".toml":
        raise ConfigError(
            "expected the memory of a grid in its file, found the option",
            where="--memory",
            hint="resident_bytes_per_point = 16",
        )
    if common.machine.memory is None:
        raise ConfigError(
            "expected a machine whose memory is known, found none: no node count would be refused",
            where="--memory",
            hint='add to the machine file: memory = "64GB"',
        )


def _site(asked: AllocationQuestion, common: Common) -> Ranks:
    from commanalyzer.machine.simulation.routes import make_network
    from commanalyzer.scaling.allocations.metrics import units_of
    from commanalyzer.scaling.allocations.workload import Ranks

    network = make_network(asked.network, max(common.nodes)) if asked.network else None
    units = common.machine.units or (units_of(network) if network is not None else ())
    return Ranks(units, network, asked.order)


def _workload(common: Common, asked: AllocationQuestion) -> Workload:
    memory = math.nan if asked.memory is None else asked.memory
    sizes = dict(common.sizes)
    if common.source.suffix == ".toml":
        from commanalyzer.scaling.allocations.workload import read_halo

        return read_halo(common.source)
    steps = _steps(asked.steps, sizes)
    if common.source.suffix == ".cmz":
        from commanalyzer.result.artifacts import load
        from commanalyzer.scaling.allocations.workload import ResultWorkload

        return ResultWorkload(load(common.source), max(1, round(steps)), asked.memory_traffic, memory)
    from commanalyzer.scaling.allocations.workload import LawsWorkload
    from commanalyzer.scaling.laws.document import load_laws
    from commanalyzer.scaling.laws.projection import usual_division

    document = load_laws(common.source)
    division = common.division or usual_division(document.laws)
    return LawsWorkload(document.program, document.laws, sizes, steps, asked.memory_traffic, memory, division)


def _steps(text: str, sizes: dict[str, float]) -> float:
    try:
        found = sizes[text] if text in sizes else float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise ConfigError(
            f"expected the number of communication phases of the run, found {text!r}",
            where="--steps",
            hint="a number, or the name of a --param: one exchange per time step is usual",
        )
    return found


def _powers(most: int) -> Sequence[int]:
    """1, 2, 4, ... and ``most`` itself."""
    return sorted({most, *(1 << k for k in range(most.bit_length()) if 1 << k <= most)})
