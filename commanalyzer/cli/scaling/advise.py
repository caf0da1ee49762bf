"""``commanalyzer advise``: efficiency, time and cost of larger problems on more nodes, from laws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import efficiency_option, given, machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options, together
from commanalyzer.machine.parameters import MachineParameters

if TYPE_CHECKING:
    from commanalyzer.scaling.allocations.advice import AllocationOptions
    from commanalyzer.scaling.laws.projection import Division


@click.command()
@click.argument("source", type=options.FILE, metavar="LAWS|RESULT|HALO")
@click.option(
    "--param", "sizes", type=options.setting, multiple=True, help="Size to run: n=4096; repeatable."
)
@options.with_default(
    "--nodes",
    type=options.nodes,
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
@click.option(
    "--allocations",
    "is_allocations",
    is_flag=True,
    help="All nodes x processes per node, with the time of communication phases. SOURCE may also be a "
    "result (*.cmz) or a halo file (*.toml).",
)
@click.option(
    "--ppn", type=options.nodes, help="Processes per node to consider: 1..16x2; 1 to all cores if left out."
)
@click.option(
    "--steps",
    default="",
    metavar="NAME|NUMBER",
    help="Communication phases of the run: a --param, or a number.",
)
@options.with_default(
    "--model",
    type=click.Choice(["machine", "max-rate"]),
    default="machine",
    help="Time of a phase: the machine's areas (max-rate without any), or the max-rate model.",
)
@options.with_default(
    "--order",
    type=click.Choice(["blocks", "round-robin", "near"]),
    default="blocks",
    help="Ranks on the nodes; near: partners together, of a result (*.cmz).",
)
@click.option("--network", type=options.NETWORK, help="Network with known routes, for models with LT.")
@click.option(
    "--memory-traffic", type=float, default=0.0, metavar="B/FLOP", help="Bytes from memory per operation."
)
@click.option("--memory", type=options.size, help="Memory of the program: 200GB; else as measured.")
@click.option("--least-nodes", type=click.IntRange(1), default=1, help="Fewest nodes of the queue.")
@click.option("--most-nodes", type=click.IntRange(1), help="Most nodes of the queue.")
@click.option("--budget", type=float, help="Core-hours to spend at most.")
@click.option("--whole-nodes", is_flag=True, help="Core-hours count all cores of a node.")
@click.option("--all", "every", is_flag=True, help="Show all configurations, not only the front.")
@click.option("--deadline", type=options.seconds, help="The run must be done by then: 2h, 30min.")
@options.with_default("--cores", type=click.IntRange(1), default=1, help="Cores per node, for core-hours.")
@machine_and_latency_options
@click.option("--gap", type=options.latency, help="Least time between two messages of a node: 0.5us.")
@output_options("Only the advice.")
@together(asked="commanalyzer.scaling.allocations.advice:AllocationOptions")
def command(
    source: Path,
    sizes: tuple[tuple[str, float], ...],
    nodes: tuple[int, ...],
    weak_parameter: str,
    efficiency: float,
    division: Division | None,
    deadline: float | None,
    cores: int,
    machine: MachineParameters,
    gap: float | None,
    is_allocations: bool,
    asked: AllocationOptions,
    every: bool,
    out: Outputs,
) -> None:
    """Say how many nodes to ask for, from the LAWS that fit -o has saved.

    With --allocations: how many nodes and processes per node, with predicted times. Else all numbers are
    bounds from communication: no program with this communication is faster. Strong scaling keeps the problem;
    weak scaling grows one parameter so that the work per node stays.
    """
    out.check()
    if not 0.0 < efficiency < 1.0:
        raise click.BadParameter("expected an efficiency between 0 and 1", param_hint="--efficiency")
    run = (machine.updated(gap=given(gap, "s")), nodes, dict(sizes))
    if is_allocations:
        from commanalyzer.report.scaling.allocations_text import allocations_json, show_allocations
        from commanalyzer.scaling.allocations.advice import find_allocations

        of = find_allocations(source, *run, asked, efficiency, deadline, division)
        out.emit(lambda: allocations_json(of), lambda console: show_allocations(of, console, every=every))
        return
    from commanalyzer.report.scaling.laws_text import project_laws, projection_json, show_projection
    from commanalyzer.scaling.laws.document import load_laws

    report = project_laws(
        load_laws(source),
        *run,
        weak=weak_parameter,
        division=division,
        efficiency=efficiency,
        deadline_s=deadline,
        cores=cores,
    )
    out.emit(lambda: projection_json(report), lambda to: show_projection(report, to, quiet=out.quiet))
