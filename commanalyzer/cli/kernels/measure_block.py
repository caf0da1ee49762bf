"""``commanalyzer measure-block``: run time of a sequential block over a range of sizes."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import (
    check_outputs,
    emit_document,
    force_option,
    json_option,
    quiet_option,
)


def _sizes(text: str | tuple[int, ...]) -> tuple[int, ...]:
    return options.nodes(text)


@click.command("measure-block")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="[SOURCE...]")
@click.option("--function", default="", help="Function to time: void NAME(int *data, size_t n).")
@click.option("--element", default="int", show_default=True, help="Type of its data: int, double, ...")
@click.option("--command", "words", default="", help="Time a command instead: './filter {n}'.")
@click.option(
    "--sizes",
    type=_sizes,
    default="1024..262144x2",
    show_default=True,
    help="Sizes n: 1024..262144x2 (doubling), 1024-262144:1024 or a list.",
)
@click.option(
    "--repetitions", type=click.IntRange(2), default=256, show_default=True, help="Samples of every size."
)
@click.option("--cflags", default="-O2", show_default=True, help="Flags of the compiler.")
@click.option("--timeout", type=options.seconds, default="10min", show_default=True, help="Limit of it all.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Save times and law (JSON), for compose."
)
@json_option
@force_option
@quiet_option("Only the law.")
def command(
    sources: tuple[Path, ...],
    function: str,
    element: str,
    words: str,
    sizes: tuple[int, ...],
    repetitions: int,
    cflags: str,
    timeout: float,
    output: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Measure the run time of a function of the SOURCEs, or of a command, and fit a law to it.

    Every call sees fresh data of a fixed random sequence. Measure on an idle machine.
    """
    check_outputs(output, json_output, force)
    from commanalyzer.kernels.composition.measured import block_json, save_block
    from commanalyzer.kernels.composition.measurement import BlockRequest, measure_block
    from commanalyzer.report.kernels.composition_text import show_block

    request = BlockRequest(
        sources=sources,
        function=function,
        element=element,
        command=words,
        sizes=sizes,
        repetitions=repetitions,
        flags=tuple(shlex.split(cflags)),
        timeout_s=timeout,
    )
    block = measure_block(request)
    if output is not None:
        save_block(block, output, force=force)
    emit_document(
        lambda: block_json(block),
        lambda console: show_block(block, console, quiet=quiet),
        json_output,
        saved=(output,),
        force=force,
        quiet=quiet,
    )
