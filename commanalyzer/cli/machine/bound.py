"""``commanalyzer bound``: bounds of efficiency and time per node count on a machine."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import efficiency_option, machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.parameters import MachineParameters


@click.command()
@click.argument("result", type=options.FILE)
@click.option(
    "--nodes", type=options.nodes, help="Analysed node counts to show: 4,16 or 2..64x2; all if left out."
)
@machine_and_latency_options
@options.model_option
@click.option("--method", default="", help="Only this decomposition; the best of all if left out.")
@options.with_default(
    "--placement",
    type=click.Choice(["best", "random"]),
    default="best",
    help="Parts that exchange much are close in the network, or anywhere (mean of random placements).",
)
@click.option(
    "--profile", type=options.FILE, help="Predict the throughput of each node count's share of this (*.pisa)."
)
@click.option("--processor", type=options.FILE, help="Core and caches (TOML), with --profile.")
@efficiency_option
@output_options("Only the table.")
def command(
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
        from commanalyzer.profiles.throughput import load_processor, throughput_of

        machine = machine.updated(throughput=throughput_of(profile, load_processor(processor), loaded))
    found = loaded.bound(machine, **given)  # options that are called like its arguments
    out.emit(
        lambda: bound_text(found, loaded, efficiency),
        lambda console: show_bound(found, loaded.program, efficiency, console, quiet=out.quiet),
    )
