"""``commanalyzer machine``: measure this machine, show machine files, list the published ones.

``machine measure --campaign`` and ``machine phases``: the time of communication phases.
"""

from __future__ import annotations

import datetime
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import Outputs, force_option, quiet_option, together
from commanalyzer.foundation.errors import EXIT_USER_ERROR, CommAnalyzerError, ConfigError
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from commanalyzer.machine.measuring.job import MeasurementRequest
    from commanalyzer.machine.measuring.samples import MeasurementPlan


@dataclass(frozen=True, slots=True)
class _Campaign:
    """Communication phases to measure; the names are those of the options."""

    campaign: Path | None
    nodes: tuple[int, ...] | None
    sizes: tuple[int, ...] | None
    ppn: tuple[int, ...]
    allocation: str
    slurm: Path | None


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of range mappers to measure; the names are those of the options."""

    range_mappers: bool
    elements: int
    topology: str | None
    base: str


@dataclass(frozen=True, slots=True)
class _Timed:
    """Runs of an analysed program that tell the throughput; the names are those of the options."""

    program: Path | None
    runs: int

    def flops(self) -> float:
        """Operations of the analysed program; 0 without one."""
        if self.program is None:
            return 0.0
        from commanalyzer.result.artifacts import load

        result = load(self.program)
        if result.regions or not result.work.amount:
            found = f"one of the region {', '.join(result.regions)}" if result.regions else "one without any"
            raise ConfigError(
                f"expected a result with work of the whole program, found {found}",
                where=str(self.program),
                hint="analyse without --region: a plain run can only be timed as a whole",
            )
        return float(result.work.amount)


def _measure_campaign(asked: _Campaign, table: Path, *, force: bool) -> None:
    """Measure what is missing in the table, or write a Slurm script that does."""
    from commanalyzer.machine.measuring.mpi import launcher_rank
    from commanalyzer.machine.measuring.phase_campaign import (
        SIZES_BYTES,
        campaign_points,
        campaign_script,
        run_campaign,
    )

    script, nodes = asked.slurm, asked.nodes or (8, 16, 32, 64, 128)
    if script is not None:
        text = campaign_script(
            script=script,
            table=table,
            tool=(sys.executable, "-m", "commanalyzer"),
            nodes=nodes,
            processes=asked.ppn,
        )
        write_text(script, text, force=force)
        click.echo(f"wrote {script}; submit with: bash {script}")
        return
    try:
        points = campaign_points(nodes, asked.ppn, sizes=asked.sizes or SIZES_BYTES)
        done = run_campaign(
            table, points, asked.allocation, lambda text: click.echo(f"note: {text}", err=True)
        )
    except CommAnalyzerError:
        if launcher_rank():
            click.get_current_context().exit(EXIT_USER_ERROR)  # rank 0 says what is wrong, once
        raise
    if launcher_rank() == 0:
        click.echo(f"measured {done} of {len(points)} points of allocation {asked.allocation}: {table}")


@click.group()
def command() -> None:
    """Measure this machine, show machine files, list the published ones."""


@command.command("phases")
@click.argument("table", type=options.FILE)
@click.option("-o", "--output", required=True, type=options.FILE, help="Machine file to write (TOML).")
@click.option("--name", default="", help="What to call the machine.")
@click.option(
    "--base", default="", metavar="NAME|FILE", help="Machine whose other parameters and units are kept."
)
@click.option(
    "--areas", default="", help="Bounds of the areas: 'S <= 4096 and NT <= 131072'; found if left out."
)
@click.option(
    "--network",
    type=options.NETWORK,
    help="Network with known routes: busiest link and longest way are metrics.",
)
@click.option(
    "--network-nodes", type=click.IntRange(1), help="Nodes of --network; else as many as the places need."
)
@force_option
def phases(
    table: Path,
    output: Path,
    name: str,
    base: str,
    areas: str,
    network: str | None,
    network_nodes: int | None,
    force: bool,
) -> None:
    """Fit models of communication phases to a campaign (TABLE of machine measure --campaign).

    Switches and racks are metrics where the base says how many nodes they have ([[units]]), or of --network.
    """
    from commanalyzer.machine.machine_file import load_machine, write_machine
    from commanalyzer.machine.measuring.phase_campaign import read_points
    from commanalyzer.machine.parameters import MachineParameters
    from commanalyzer.machine.phase_times import parse_condition
    from commanalyzer.machine.simulation.routes import make_network
    from commanalyzer.report.machine import show_machine
    from commanalyzer.report.result.text import make_console
    from commanalyzer.scaling.allocations.campaign import machine_of_campaign

    if network_nodes and not network:
        raise click.UsageError("--network-nodes belongs to --network")
    found = read_points(table)
    start = load_machine(base) if base else MachineParameters(name or output.stem)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    places = 1 + max((place for point in found for place in point.positions), default=0)
    routes = make_network(network, network_nodes or places) if network else None
    bounds = parse_condition(areas) or None
    machine, _ = machine_of_campaign(found, start, bounds=bounds, date=today, network=routes)
    machine = replace(machine, name=name or machine.name)
    write_machine(output, machine, {"campaign": str(table), "points": len(found)}, force=force)
    show_machine(machine, make_console(sys.stdout))
    click.echo(f"wrote {output}")


@command.command("list")
def list_machines() -> None:
    """List the published machines that --machine knows by name."""
    from commanalyzer.machine.machine_file import published_machines
    from commanalyzer.machine.parameters import read_machine
    from commanalyzer.report.machine import show_machines
    from commanalyzer.report.result.text import make_console

    machines = {name: read_machine(path) for name, path in published_machines().items()}
    show_machines(machines, make_console(sys.stdout))


@command.command("show")
@click.argument("machine", metavar="NAME|FILE")
@click.option("--all", "every", is_flag=True, help="Also the values over node counts and message sizes.")
def show(machine: str, every: bool) -> None:
    """Print a published machine or a machine file."""
    from commanalyzer.machine.machine_file import load_machine
    from commanalyzer.report.machine import show_machine
    from commanalyzer.report.result.text import make_console

    show_machine(load_machine(machine), make_console(sys.stdout), every=every)


class _WithRun(WithProgramArguments):
    """The command after ``--`` is a plain run of the program."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Mention the program."""
        formatter.write_usage(
            ctx.command_path, "[OPTIONS] [-- PROGRAM ARGUMENTS...]", "Usage: mpiexec -n RANKS "
        )


@command.command("measure", cls=_WithRun)
@click.option("-o", "--output", type=options.FILE, help="Machine file to write (TOML).")
@click.option("--name", default="", help="What to call the machine.")
@click.option(
    "--sizes", type=options.sizes, help="Message sizes: 8,4KiB,1MiB; default 8 B to 2 MiB in factors of 8."
)
@options.with_default(
    "--repetitions",
    "num_repetitions",
    type=click.IntRange(6),
    default=100,
    help="Most rounds of a measurement.",
)
@options.with_default(
    "--series-time",
    "series_s",
    type=options.seconds,
    default="1s",
    help="Time for one measurement; it has fewer rounds (at least 6) if they take longer.",
)
@options.with_default("--seed", type=int, default=1, help="Seed of the random patterns.")
@click.option(
    "--program",
    type=options.FILE,
    metavar="RESULT",
    help="Also the throughput of this analysed program (*.cmz), from runs of the command after --.",
)
@options.with_default("--runs", type=click.IntRange(1), default=5, help="Timed runs of the program.")
@click.option(
    "--base",
    default="",
    metavar="NAME|FILE",
    help="Machine whose parameters are kept where none is measured.",
)
@click.option(
    "--range-mappers",
    "range_mappers",
    is_flag=True,
    help="Instead: overhead of every pair of range mappers (JSON), for predict.",
)
@options.with_default(
    "--elements", type=click.IntRange(2), default=2048, help="Side of the matrix of --range-mappers."
)
@click.option(
    "--topology",
    type=click.Choice(("star", "fat-tree", "torus", "dragonfly")),
    help="--range-mappers on a simulated network of the machine of --base.",
)
@click.option(
    "--campaign",
    type=options.FILE,
    metavar="TABLE",
    help="Measure communication phases instead, into this table (CSV); goes on where it was.",
)
@click.option(
    "--nodes", type=options.nodes, help="Nodes of the campaign, else 8..128x2; of --topology, else 16."
)
@click.option("--ppn", type=options.nodes, default=(1,), help="Processes per node of the campaign; else 1.")
@options.with_default("--allocation", default="1", help="Name of this job's nodes in the campaign.")
@click.option("--slurm", type=options.FILE, metavar="SCRIPT", help="Only write a script of the campaign.")
@force_option
@quiet_option("Only say which files were written.")
@together(
    out=Outputs,
    timed=_Timed,
    plan="commanalyzer.machine.measuring.samples:MeasurementPlan",
    pairs=_Pairs,
    campaign=_Campaign,
)
def measure(
    output: Path | None,
    name: str,
    timed: _Timed,
    plan: MeasurementPlan,
    pairs: _Pairs,
    campaign: _Campaign,
    out: Outputs,
) -> None:
    """Measure network and node, write a machine file for --machine.

    Start it with one rank per node, pinned, on the nodes that the program would use; on one rank only the
    throughput is measured. Raw timings are kept beside the machine file (*.samples.json.gz).
    With --campaign, all ranks take part, and the table is for machine phases.
    """
    if campaign.campaign is not None:
        _measure_campaign(campaign, campaign.campaign, force=out.force)
        return
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    from commanalyzer.machine.measuring.job import MeasurementRequest

    run = program_arguments()
    if pairs.topology and not (pairs.range_mappers and pairs.base):
        raise click.UsageError("--topology belongs to --range-mappers and needs --base NAME|FILE")
    if pairs.range_mappers:
        called = name or pairs.base or output.stem
        _measure_pairs(pairs, output, called, plan.num_repetitions, campaign.nodes or (16,), out)
        return
    if (timed.program is None) == bool(run):
        raise click.UsageError("--program RESULT and a command after -- belong together")
    request = MeasurementRequest(
        output=output,
        name=name or output.stem,
        plan=replace(plan, message_bytes=campaign.sizes) if campaign.sizes else plan,
        base=pairs.base,
        command=run,
        flops=timed.flops,
        num_runs=timed.runs,
        force=out.force,
    )
    _run(request, out.quiet)


def _run(request: MeasurementRequest, quiet: bool) -> None:
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.machine.measuring.job import run_job
    from commanalyzer.machine.measuring.mpi import launcher_rank
    from commanalyzer.report.machine import show_machine, show_remarks
    from commanalyzer.report.progress import LineProgress
    from commanalyzer.report.result.text import make_console

    progress = SilentProgress() if quiet or launcher_rank() else LineProgress(sys.stderr)
    bug = "  this is a bug of commanalyzer, please report it"
    try:
        done = run_job(request, progress, lambda text: click.echo(f"internal error: {text}\n{bug}", err=True))
    except CommAnalyzerError:
        if launcher_rank():
            click.get_current_context().exit(EXIT_USER_ERROR)  # rank 0 says what is wrong, once
        raise
    if done is None:
        return
    console = make_console(sys.stdout)
    if not quiet:
        show_machine(done.machine, console, every=True)
    show_remarks(done.remarks, console)
    for path in done.files:
        click.echo(f"wrote {path}")


def _measure_pairs(
    asked: _Pairs, output: Path, name: str, repetitions: int, nodes: tuple[int, ...], out: Outputs
) -> None:
    """Measure all pairs of range mappers on the ranks of this job, or on a simulated network."""
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.kernels.learning.range_benchmark import save_overheads
    from commanalyzer.report.kernels.learning_text import show_overheads
    from commanalyzer.report.progress import LineProgress
    from commanalyzer.report.result.text import make_console

    if asked.topology is None:
        from commanalyzer.kernels.learning.range_benchmark import measure_on_ranks
        from commanalyzer.machine.measuring.mpi import launcher_rank, world

        if is_first := launcher_rank() == 0:
            require_writable(output, out.force)
        progress = SilentProgress() if out.quiet or not is_first else LineProgress(sys.stderr)
        table = measure_on_ranks(world(), asked.elements, repetitions, progress, name)
    else:
        require_writable(output, out.force)
        from commanalyzer.kernels.learning.range_benchmark import measure_on_platform
        from commanalyzer.machine.machine_file import load_machine
        from commanalyzer.machine.simulation.platforms import link_parameters, make_platform

        link = link_parameters(load_machine(asked.base))
        platform = make_platform(asked.topology, max(nodes), link)
        tables = [measure_on_platform(platform, p, asked.elements, link.throughput, 600.0) for p in nodes]
        pairs = tuple(pair for one in tables for pair in one.pairs)
        table = replace(tables[0], machine=f"{name}, {asked.topology}", pairs=pairs)
    if table is None:
        return
    save_overheads(table, output, force=out.force)
    if not out.quiet:
        show_overheads(table, make_console(sys.stdout))
    click.echo(f"wrote {output}")
