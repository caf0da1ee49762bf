"""``commanalyzer diff``: what changed between two results, with an exit code for continuous integration."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.foundation.errors import EXIT_WORSE


@click.command()
@click.argument("before", type=options.FILE)
@click.argument("after", type=options.FILE)
@click.option("--nodes", type=options.nodes, help="Node counts: 4,16; all that both have if left out.")
@options.model_option
@click.option(
    "--method",
    "methods",
    nargs=2,
    default=("", ""),
    metavar="BEFORE AFTER",
    help="Decompositions, the best of each if left out; two of one result: diff R R --method A B.",
)
@click.option(
    "--fail-above",
    "limit",
    type=options.fraction,
    metavar="PERCENT",
    help="End with status 5 if bytes grow by more than this on any node count: 5%.",
)
@output_options("Only the table.")
def command(before: Path, after: Path, limit: float | None, out: Outputs, **given: options.Raw) -> None:
    """Compare two saved results: BEFORE and AFTER a change of program, input or division."""
    out.check()
    from commanalyzer.report.result import difference_text as shown
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.comparison.difference import differences

    text_of = shown.texts_in((Path(), before.parent, after.parent))
    found = differences(load(before), load(after), text_of=text_of, **given)  # options are its arguments
    out.emit(
        lambda: shown.differences_json(found),
        lambda console: shown.show_differences(found, console, quiet=out.quiet),
    )
    if found[0].left_out:
        click.echo(found[0].left_out, err=True)
    worst = max(found, key=lambda item: item.comm_bytes.ratio)
    if limit is not None and worst.comm_bytes.ratio > 1 + limit:
        why = shown.worse_text(worst)
        click.echo(f"worse than allowed (--fail-above {100 * limit:g}%): {why}", err=True)
        click.get_current_context().exit(EXIT_WORSE)
