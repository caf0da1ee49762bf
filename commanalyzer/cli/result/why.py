"""``commanalyzer why``: variables, values and source lines behind a division or one pair of its nodes."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options


@click.command()
@click.argument("result", type=options.FILE)
@click.argument("pair", type=click.IntRange(0), nargs=-1, metavar="[SENDER RECEIVER]")
@options.node_count_option
@click.option("--method", default="", help="Decomposition; the best if left out.")
@output_options("Only the largest variable and line.")
def command(result: Path, pair: tuple[int, ...], nodes: int | None, method: str, out: Outputs) -> None:
    """Say why the nodes of the saved RESULT communicate.

    With SENDER and RECEIVER, what one node sends to another. Bytes of a value that several lines read are
    shared among them, so that the bytes of all lines are those of the matrix.
    """
    if len(pair) not in (0, 2):
        raise click.UsageError("expected two nodes, SENDER and RECEIVER, or none")
    out.check()
    from commanalyzer.report.result.causes_text import causes_json, show_causes
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.causes import causes_of

    found = causes_of(load(result), nodes, (pair[0], pair[1]) if pair else None, method=method)
    out.emit(lambda: causes_json(found), lambda console: show_causes(found, console, quiet=out.quiet))
