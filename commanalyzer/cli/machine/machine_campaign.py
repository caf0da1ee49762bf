"""``machine measure --campaign`` and ``machine phases``: the time of communication phases."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import force_option
from commanalyzer.foundation.errors import EXIT_USER_ERROR, CommAnalyzerError
from commanalyzer.foundation.files import write_text

DEFAULT_NODES = (8, 16, 32, 64, 128)


def measure_campaign(
    ctx: click.Context,
    table: Path,
    nodes: tuple[int, ...],
    processes: tuple[int, ...],
    allocation: str,
    script: Path | None,
    sizes: tuple[int, ...] | None,
    *,
    force: bool,
) -> None:
    """Measure what is missing in the table, or write a Slurm script that does."""
    from commanalyzer.machine.measuring.campaign_job import campaign_script, run_campaign
    from commanalyzer.machine.measuring.mpi import launcher_rank
    from commanalyzer.machine.measuring.phase_campaign import SIZES_BYTES, campaign_points

    if script is not None:
        text = campaign_script(
            script=script,
            table=table,
            tool=(sys.executable, "-m", "commanalyzer"),
            nodes=nodes,
            processes=processes,
        )
        write_text(script, text, force=force)
        click.echo(f"wrote {script}; submit with: bash {script}")
        return
    points = campaign_points(nodes, processes, sizes=sizes or SIZES_BYTES)
    try:
        done = run_campaign(table, points, allocation, lambda text: click.echo(f"note: {text}", err=True))
    except CommAnalyzerError:
        if launcher_rank():
            ctx.exit(EXIT_USER_ERROR)  # rank 0 says what is wrong, once
        raise
    if launcher_rank() == 0:
        click.echo(f"measured {done} of {len(points)} points of allocation {allocation}: {table}")


@click.command("phases")
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Machine file to write (TOML)."
)
@click.option("--name", default="", help="What to call the machine.")
@click.option(
    "--base", default="", metavar="NAME|FILE", help="Machine whose other parameters and units are kept."
)
@click.option(
    "--areas", default="", help="Bounds of the areas: 'S <= 4096 and NT <= 131072'; found if left out."
)
@force_option
def phases(table: Path, output: Path, name: str, base: str, areas: str, force: bool) -> None:
    """Fit models of communication phases to a campaign (TABLE of machine measure --campaign).

    Switches and racks are metrics where the base says how many nodes they have ([[units]]).
    """
    from dataclasses import replace

    from commanalyzer.machine.catalog import find_machine
    from commanalyzer.machine.machine_file import write_machine
    from commanalyzer.machine.measuring.phase_campaign import read_points
    from commanalyzer.machine.parameters import MachineParameters
    from commanalyzer.machine.phase_times import parse_condition
    from commanalyzer.report.machine.machine_text import show_machine
    from commanalyzer.report.result.text import make_console
    from commanalyzer.scaling.allocations.campaign import machine_of_campaign

    found = read_points(table)
    start = find_machine(base) if base else MachineParameters(name or output.stem)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    bounds = parse_condition(areas) if areas else None
    machine, _ = machine_of_campaign(found, start, bounds=bounds, date=today)
    machine = replace(machine, name=name or machine.name)
    write_machine(output, machine, {"campaign": str(table), "points": len(found)}, force=force)
    show_machine(machine, make_console(sys.stdout))
    click.echo(f"wrote {output}")


campaign_options = (
    click.option(
        "--campaign",
        type=click.Path(path_type=Path),
        metavar="TABLE",
        help="Measure communication phases instead, into this table (CSV); goes on where it was.",
    ),
    click.option(
        "--nodes", type=options.nodes, help="Nodes of the campaign, else 8..128x2; of --topology, else 16."
    ),
    click.option(
        "--ppn", type=options.nodes, default=(1,), help="Processes per node of the campaign; else 1."
    ),
    click.option(
        "--allocation", default="1", show_default=True, help="Name of this job's nodes in the campaign."
    ),
    click.option(
        "--slurm",
        type=click.Path(path_type=Path),
        metavar="SCRIPT",
        help="Only write a script of the campaign.",
    ),
)
