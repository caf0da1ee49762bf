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
@options.with_default("--element", default="int", help="Type of its data: int, double, ...")
@click.option("--command", default="", help="Time a command instead: './filter {n}'.")
@options.with_default(
    "--sizes",
    type=options.nodes,
    metavar="SIZES",
    default="1024..262144x2",
    help="Sizes n: 1024..262144x2 (doubling), 1024-262144:1024 or a list.",
)
@options.with_default("--repetitions", type=click.IntRange(2), default=256, help="Samples of every size.")
@options.with_default("--cflags", "flags", type=options.flags, default="-O2", help="Flags of the compiler.")
@options.with_default(
    "--timeout", "timeout_s", type=options.seconds, default="10min", help="Limit of it all."
)
@click.option("-o", "--output", type=options.FILE, help="Save times and law (JSON), for compose.")
@output_options("Only the law.")
@together(asked="commanalyzer.kernels.composition.measurement:BlockRequest")
def command(output: Path | None, out: Outputs, asked: BlockRequest) -> None:
    """Measure the run time of a function of the SOURCEs, or of a command, and fit a law to it.

    Every call sees fresh data of a fixed random sequence. Measure on an idle machine.
    """
    out.check(output)
    from commanalyzer.kernels.composition.measurement import block_json, measure_block, save_block
    from commanalyzer.report.kernels.composition_text import show_block

    block = measure_block(asked)
    if output is not None:
        save_block(block, output, force=out.force)
    out.emit(
        lambda: block_json(block),
        lambda console: show_block(block, console, quiet=out.quiet),
        saved=(output,),
    )
