"""``commanalyzer model``: the efficiency roofline from numbers given by hand (paper Eq. 1 to 5)."""

from __future__ import annotations

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import machine_options
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import (
    Bytes,
    Flop,
    FlopPerSecond,
    format_percent,
    format_seconds,
)
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.equations import (
    communication_intensity,
    machine_bound,
    parallel_time_lower_bound,
    serial_time,
)


@click.command()
@click.option("--comm-bytes", type=options.size, help="Communication C of all nodes: 12MB.")
@click.option("--flops", type=float, help="Work W in floating-point operations: 3.2e9.")
@click.option("--intensity", type=float, help="Intensity I_c in bytes per flop, instead of C and W.")
@click.option("--nodes", type=click.IntRange(1), help="Node count p, for the parallel time and B_c(p).")
@machine_options
def command(
    comm_bytes: float | None,
    flops: float | None,
    intensity: float | None,
    nodes: int | None,
    machine: MachineParameters,
) -> None:
    """Compute the upper bound of parallel efficiency."""
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
