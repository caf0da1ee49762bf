"""``commanalyzer measure-block``: run time of a sequential block over a range of sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options, together

if TYPE_CHECKING:
    from commanalyzer.kernels.composition.measurement import BlockRequest


@click.command("measure-block")
@click.argument("sources", nargs=-1, type=options.FILE, metavar="[SOURCE...]")
@click.option("--function", default="", help="Function to time: void NAME(int *data, size_t n).")
@click.option("--element", default="int", show_default=True, help="Type of its data: int, double, ...")
@click.option("--command", default="", help="Time a command instead: './filter {n}'.")
@click.option(
    "--sizes",
    type=options.nodes,
    metavar="SIZES",
    default="1024..262144x2",
    show_default=True,
    help="Sizes n: 1024..262144x2 (doubling), 1024-262144:1024 or a list.",
)
@click.option(
    "--repetitions", type=click.IntRange(2), default=256, show_default=True, help="Samples of every size."
)
@click.option(
    "--cflags", "flags", type=options.flags, default="-O2", show_default=True, help="Flags of the compiler."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=options.seconds,
    default="10min",
    show_default=True,
    help="Limit of it all.",
)
@click.option("-o", "--output", type=options.FILE, help="Save times and law (JSON), for compose.")
@output_options("Only the law.")
@together(asked="commanalyzer.kernels.composition.measurement:BlockRequest")
def command(output: Path | None, out: Outputs, asked: BlockRequest) -> None:
    """Measure the run time of a function of the SOURCEs, or of a command, and fit a law to it.

    Every call sees fresh data of a fixed random sequence. Measure on an idle machine.
    """
    out.check(output)
    from commanalyzer.kernels.composition.measured import block_json, save_block
    from commanalyzer.kernels.composition.measurement import measure_block
    from commanalyzer.report.kernels.composition_text import show_block

    block = measure_block(asked)
    if output is not None:
        save_block(block, output, force=out.force)
    out.emit(
        lambda: block_json(block),
        lambda console: show_block(block, console, quiet=out.quiet),
        saved=(output,),
    )
