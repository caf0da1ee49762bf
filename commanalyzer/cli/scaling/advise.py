"""``commanalyzer advise``: efficiency, time and cost of larger problems on more nodes, from laws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.allocation_options import (
    AllocationQuestion,
    Common,
    advise_allocations,
    allocation_options,
)
from commanalyzer.cli.parameters.machine_options import efficiency_option, machine_and_latency_options
from commanalyzer.cli.parameters.output import (
    check_outputs,
    emit_document,
    force_option,
    json_option,
    quiet_option,
)
from commanalyzer.machine.parameters import MachineParameters, Parameter

if TYPE_CHECKING:
    from commanalyzer.scaling.laws.projection import Division


def _nodes_up_to(text: str | tuple[int, ...]) -> tuple[int, ...]:
    """Node counts, ``..1024`` being the powers of two up to there; a default passes through."""
    if isinstance(text, str) and text.startswith(".."):
        text = f"1{text}x2"
    return options.nodes(text)


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar="LAWS|RESULT|HALO")
@click.option(
    "--param", "sizes", type=options.setting, multiple=True, help="Size to run: n=4096; repeatable."
)
@click.option(
    "--nodes",
    type=_nodes_up_to,
    metavar="NODES",
    default="..1024",
    show_default=True,
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
@click.option(
    "--cores", type=click.IntRange(1), default=1, show_default=True, help="Cores per node, for core-hours."
)
@machine_and_latency_options
@click.option("--gap", type=options.latency, help="Least time between two messages of a node: 0.5us.")
@json_option
@force_option
@quiet_option("Only the advice.")
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
    json_output: str | None,
    force: bool,
    quiet: bool,
    is_allocations: bool,
    **asked: Any,
) -> None:
    """Say how many nodes to ask for, from the LAWS that fit -o has saved.

    With --allocations: how many nodes and processes per node, with predicted times. Else all numbers are
    bounds from communication: no program with this communication is faster. Strong scaling keeps the problem;
    weak scaling grows one parameter so that the work per node stays.
    """
    check_outputs(None, json_output, force)
    if not 0.0 < efficiency < 1.0:
        raise click.BadParameter("expected an efficiency between 0 and 1", param_hint="--efficiency")
    if is_allocations:
        common = Common(
            source, dict(sizes), nodes, efficiency, division, deadline, machine, json_output, force
        )
        advise_allocations(common, AllocationQuestion(**asked))
        return
    from commanalyzer.report.scaling.projection_text import projection_json, show_projection
    from commanalyzer.scaling.laws.document import load_laws
    from commanalyzer.scaling.laws.projection import advise, gain_of_best, project

    document = load_laws(source)
    known_gap = None if gap is None else Parameter(gap, "s", "given", note="command line")
    machine = machine.updated(gap=known_gap)
    curves = [
        project(document.laws, machine, nodes, dict(sizes), weak_parameter=weak, division=division)
        for weak in dict.fromkeys(("", weak_parameter))
    ]
    advice = advise(curves[0], efficiency, deadline)
    gain = gain_of_best(document.laws, machine, curves[0]) if division is None else None
    emit_document(
        lambda: projection_json(document, machine, curves, advice, cores, gain),
        lambda console: show_projection(
            document, machine, curves, advice, cores, console, gain=gain, quiet=quiet
        ),
        json_output,
        force=force,
        quiet=quiet,
    )
