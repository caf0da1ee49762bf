"""``commanalyzer simulate``: a predicted decomposition on a simulated cluster (SimGrid)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options, shown_progress
from commanalyzer.foundation.errors import ArtifactError

if TYPE_CHECKING:
    from commanalyzer.machine.parameters import MachineParameters
    from commanalyzer.machine.simulation.platforms import Platform
    from commanalyzer.machine.simulation.run import SimulationOptions
    from commanalyzer.result.results import AnalysisResult, Decomposition


@click.command()
@click.argument("result", type=options.FILE)
@click.option(
    "--platform",
    required=True,
    metavar="|".join((*options.NETWORK.choices, "FILE.xml")),
    help="Network: a topology made of the machine's parameters, or a platform file of SimGrid.",
)
@click.option("--nodes", type=options.nodes, help="Node counts of the result; all if left out.")
@machine_and_latency_options
@click.option(
    "--platform-nodes",
    type=click.IntRange(1),
    help="Nodes of a generated platform; the largest node count if left out.",
)
@click.option("--hosts", type=options.FILE, help="Hosts of a platform file to use, one per line.")
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
@click.option("--keep", type=options.FILE, help="New folder for platform, hosts and traces.")
@output_options("Only the table; no progress.")
def command(
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
    _run(found, chosen, network, how, out)


def _check_keep(keep: Path | None, force: bool) -> None:
    if keep is None:
        return
    if keep.exists() and not keep.is_dir():
        raise ArtifactError("expected a folder, found a file", where=str(keep))
    if keep.is_dir() and any(keep.iterdir()) and not force:
        raise ArtifactError(
            "expected a new or empty folder, found files", where=str(keep), hint="overwrite them with --force"
        )


def _run(
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
    out.emit(
        lambda: simulation_text(report),
        lambda console: show_simulation(report, console, quiet=out.quiet),
        saved=(how.keep,),
    )
