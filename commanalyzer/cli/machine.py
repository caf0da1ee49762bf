"""Machines: ``bound``, ``machine``, ``model``, ``simulate``."""

from __future__ import annotations

import datetime
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import (
    Outputs,
    force_option,
    output_options,
    quiet_option,
    shown_progress,
    together,
)
from commanalyzer.foundation.errors import (
    EXIT_USER_ERROR,
    ArtifactError,
    CommAnalyzerError,
    ConfigError,
    MachineModelError,
)
from commanalyzer.foundation.files import require_writable, write_text
from commanalyzer.foundation.quantities import Bytes, Flop, FlopPerSecond, format_percent, format_seconds
from commanalyzer.machine.parameters import MachineParameters

if TYPE_CHECKING:
    from commanalyzer.machine.measuring.job import MeasurementRequest
    from commanalyzer.machine.measuring.samples import MeasurementPlan
    from commanalyzer.machine.simulation.platforms import Platform
    from commanalyzer.machine.simulation.run import SimulationOptions
    from commanalyzer.result.results import AnalysisResult, Decomposition


@click.command()
@click.argument("result", type=options.FILE)
@click.option(
    "--nodes", type=options.nodes, help="Analysed node counts to show: 4,16 or 2..64x2; all if left out."
)
@options.machine_and_latency_options
@options.model_option
@click.option("--method", default="", help="Only this decomposition; the best of all if left out.")
@options.with_default(
    "--placement",
    type=click.Choice(["best", "random"]),
    default="best",
    help="Parts that exchange much are close in the network, or anywhere (mean of random placements).",
)
@options.file("--profile", help="Predict the throughput of each node count's share of this (*.pisa).")
@options.file("--processor", help="Core and caches (TOML), with --profile.")
@options.efficiency_option
@output_options("Only the table.")
def bound_command(
    result: Path,
    machine: MachineParameters,
    profile: Path | None,
    processor: Path | None,
    efficiency: float,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Show the efficiency and the time that RESULT (analyze -o) allows at best on a machine.

    Beside the paper's bound (bytes over bandwidth, Eq. 4) stands one that also knows messages, latency and
    collectives; it is the highest of all decompositions in RESULT.
    """
    out.check()
    if not 0.0 < efficiency < 1.0:
        raise click.BadParameter("expected an efficiency between 0 and 1", param_hint="--efficiency")
    from commanalyzer.report.machine import bound_text, show_bound
    from commanalyzer.result.artifacts import load

    if (profile is None) != (processor is None):
        raise ConfigError("expected --profile and --processor together, found one of them")
    if profile is not None and click.get_current_context().params.get("throughput") is not None:
        raise ConfigError("expected --throughput or --profile, found both: each is the speed of a node")
    loaded = load(result)
    if profile is not None and processor is not None:
        from commanalyzer.profiles.ranks import load_processor, throughput_of

        machine = machine.updated(throughput=throughput_of(profile, load_processor(processor), loaded))
    found = loaded.bound(machine, **given)  # options that are called like its arguments
    out.emit(
        lambda: bound_text(found, loaded, efficiency),
        lambda console: show_bound(found, loaded, efficiency, console, quiet=out.quiet),
    )


@click.command()
@click.option("--comm-bytes", type=options.size, help="Communication C of all nodes: 12MB.")
@click.option("--flops", type=float, help="Work W in floating-point operations: 3.2e9.")
@click.option("--intensity", type=float, help="Intensity I_c in bytes per flop, instead of C and W.")
@click.option("--nodes", type=click.IntRange(1), help="Node count p, for the parallel time and B_c(p).")
@options.machine_options
def model_command(
    comm_bytes: float | None,
    flops: float | None,
    intensity: float | None,
    nodes: int | None,
    machine: MachineParameters,
) -> None:
    """Compute the upper bound of parallel efficiency."""
    from commanalyzer.machine.roofline.equations import (
        communication_intensity,
        machine_bound,
        parallel_time_lower_bound,
        serial_time,
    )

    if not machine.is_complete:
        raise MachineModelError(
            "expected a bandwidth and a throughput, found at least one missing",
            hint="give --bandwidth and --throughput, or --machine FILE",
        )
    if intensity is None:
        if comm_bytes is None or flops is None:
            raise click.UsageError("give --intensity, or both --comm-bytes and --flops")
        intensity = communication_intensity(Bytes(comm_bytes), Flop(flops))
    bound = machine_bound(intensity, machine, nodes=nodes)
    if bound is None:
        raise MachineModelError("expected some work, found 0 floating-point operations", where="--flops")
    click.echo(f"communication intensity  {intensity:.6g} bytes/flop")
    click.echo(f"efficiency bound         {format_percent(bound)}")
    if flops is not None and machine.throughput is not None:
        serial_s = serial_time(Flop(flops), FlopPerSecond(machine.throughput.value))
        click.echo(f"single-node time         {format_seconds(serial_s)}")
        if nodes is not None:
            shortest_s = parallel_time_lower_bound(serial_s, nodes, bound)
            click.echo(f"shortest time, {nodes} nodes  {format_seconds(shortest_s)}")


@click.command()
@click.argument("result", type=options.FILE)
@click.option(
    "--platform",
    required=True,
    metavar="|".join((*options.NETWORK.choices, "FILE.xml")),
    help="Network: a topology made of the machine's parameters, or a platform file of SimGrid.",
)
@click.option("--nodes", type=options.nodes, help="Node counts of the result; all if left out.")
@options.machine_and_latency_options
@click.option(
    "--platform-nodes",
    type=click.IntRange(1),
    help="Nodes of a generated platform; the largest node count if left out.",
)
@options.file("--hosts", help="Hosts of a platform file to use, one per line.")
@options.with_default(
    "--placement",
    type=click.Choice(["order", "random", "near"]),
    default="order",
    help="Hosts of the ranks: in order, random, or partners near each other (generated platforms).",
)
@options.model_option
@click.option("--method", default="", help="Decomposition; the cheapest if left out.")
@options.with_default(
    "--rounds", "most_rounds", type=click.IntRange(1), default=500, help="Rounds that are simulated at most."
)
@options.with_default("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Seed.")
@options.with_default(
    "--timeout", "timeout_s", type=options.seconds, default="10min", help="Limit of one simulation."
)
@options.file("--keep", help="New folder for platform, hosts and traces.")
@output_options("Only the table; no progress.")
def simulate_command(
    result: Path,
    platform: str,
    hosts: Path | None,
    platform_nodes: int | None,
    nodes: tuple[int, ...] | None,
    machine: MachineParameters,
    model: str,
    method: str,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Simulate the decompositions of RESULT on a cluster that you do not have.

    Writes one trace per rank (rounds of messages with the predicted bytes, work, collective operations) and
    replays them with SimGrid, which must be installed (Debian: libsimgrid-dev). Shows simulated time and
    efficiency beside the bound.
    """
    out.check()
    _check_keep(given["keep"], out.force)
    from commanalyzer.machine.simulation.platforms import (
        check_topology,
        link_parameters,
        make_platform,
        read_platform,
    )
    from commanalyzer.machine.simulation.run import SimulationOptions
    from commanalyzer.result.artifacts import load

    found = load(result)
    chosen = [found.decomposition(count, model, method) for count in nodes or found.nodes]
    if platform not in options.NETWORK.choices and ("." in platform or "/" in platform):
        network = read_platform(Path(platform), hosts)
    else:
        check_topology(platform)  # before what else it needs is asked for
        most = max((item.nodes for item in chosen), default=1)
        # What the analysis knows of the machine (the measured throughput) completes what is given here.
        link = link_parameters(found.machine.replaced_by(machine))
        network = make_platform(platform, max(most, platform_nodes or 0), link)
    if not out.quiet:
        if machine.overlap is not None:
            click.echo("the overlap of the machine is not used: replayed programs do not overlap", err=True)
        unused = [name for name in ("bandwidth", "latency", "throughput") if name in machine.parameters]
        if unused and network.name not in options.NETWORK.choices:
            click.echo(f"{', '.join(unused)}: not used, the platform file says them", err=True)
    overhead = machine.message_overhead
    how = SimulationOptions(message_overhead_s=overhead.value if overhead else 0.0, **given)
    _simulate(found, chosen, network, how, out)


def _check_keep(keep: Path | None, force: bool) -> None:
    if keep is None:
        return
    if keep.exists() and not keep.is_dir():
        raise ArtifactError("expected a folder, found a file", where=str(keep))
    if keep.is_dir() and any(keep.iterdir()) and not force:
        raise ArtifactError(
            "expected a new or empty folder, found files", where=str(keep), hint="overwrite them with --force"
        )


def _simulate(
    found: AnalysisResult,
    chosen: list[Decomposition],
    network: Platform,
    how: SimulationOptions,
    out: Outputs,
) -> None:
    from commanalyzer.machine.simulation.run import simulate
    from commanalyzer.machine.simulation.schedule import smpi_version
    from commanalyzer.report.machine import SimulationReport, show_simulation, simulation_text
    from commanalyzer.result.provenance import collect_provenance

    version = smpi_version()
    with shown_progress(out.quiet) as progress:
        simulation = simulate(found, chosen, network, how, progress)
    provenance = collect_provenance(compiler=version, flags=(), input_hashes=(), seed=how.seed)
    report = SimulationReport(found.program, network.name, version, how, simulation, provenance)
    out.present(report, simulation_text, show_simulation, (how.keep,))


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
def machine_command() -> None:
    """Measure this machine, show machine files, list the published ones."""


@machine_command.command("phases")
@click.argument("table", type=options.FILE)
@options.file("-o", "--output", required=True, help="Machine file to write (TOML).")
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


@machine_command.command("list")
def list_machines() -> None:
    """List the published machines that --machine knows by name."""
    from commanalyzer.machine.machine_file import published_machines
    from commanalyzer.machine.parameters import read_machine
    from commanalyzer.report.machine import show_machines
    from commanalyzer.report.result.text import make_console

    machines = {name: read_machine(path) for name, path in published_machines().items()}
    show_machines(machines, make_console(sys.stdout))


@machine_command.command("show")
@click.argument("machine", metavar="NAME|FILE")
@options.flag("--all", "every", help="Also the values over node counts and message sizes.")
def show(machine: str, every: bool) -> None:
    """Print a published machine or a machine file."""
    from commanalyzer.machine.machine_file import load_machine
    from commanalyzer.report.machine import show_machine
    from commanalyzer.report.result.text import make_console

    show_machine(load_machine(machine), make_console(sys.stdout), every=every)


class _WithRun(WithProgramArguments):
    """The command after ``--`` is a plain run of the program."""

    usage, launcher = "[OPTIONS] [-- PROGRAM ARGUMENTS...]", "mpiexec -n RANKS "


@machine_command.command("measure", cls=_WithRun)
@options.file("-o", "--output", help="Machine file to write (TOML).")
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
@options.file(
    "--program",
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
@options.flag(
    "--range-mappers",
    "range_mappers",
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
@options.file(
    "--campaign",
    metavar="TABLE",
    help="Measure communication phases instead, into this table (CSV); goes on where it was.",
)
@click.option(
    "--nodes", type=options.nodes, help="Nodes of the campaign, else 8..128x2; of --topology, else 16."
)
@click.option("--ppn", type=options.nodes, default=(1,), help="Processes per node of the campaign; else 1.")
@options.with_default("--allocation", default="1", help="Name of this job's nodes in the campaign.")
@options.file("--slurm", metavar="SCRIPT", help="Only write a script of the campaign.")
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
    _measure(request, out.quiet)


def _measure(request: MeasurementRequest, quiet: bool) -> None:
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
