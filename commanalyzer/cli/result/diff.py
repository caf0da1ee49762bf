"""``commanalyzer diff``: what changed between two results, with an exit code for continuous integration."""

from __future__ import annotations

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
from commanalyzer.foundation.errors import EXIT_WORSE
from commanalyzer.request import MODELS


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--model", type=click.Choice(MODELS), help="Communication model; the leading one if left out.")
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
@json_option
@force_option
@quiet_option("Only the table.")
@click.pass_context
def command(
    ctx: click.Context,
    before: Path,
    after: Path,
    model: str | None,
    methods: tuple[str, str],
    limit: float | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Compare two saved results: BEFORE and AFTER a change of program, input or division."""
    check_outputs(None, json_output, force)
    from commanalyzer.report.result.difference_text import change_text, differences_json, show_differences
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.comparison.difference import differences

    found = differences(load(before), load(after), model=model or "", methods=methods)
    emit_document(
        lambda: differences_json(found),
        lambda console: show_differences(found, console, quiet=quiet),
        json_output,
        force=force,
        quiet=quiet,
    )
    worst = max(found, key=lambda item: item.comm_bytes.ratio)
    if limit is not None and worst.comm_bytes.ratio > 1 + limit:
        grown = change_text(worst.comm_bytes)
        click.echo(
            f"worse than allowed: {grown} bytes on {worst.nodes} nodes (--fail-above {limit:.3%})", err=True
        )
        ctx.exit(EXIT_WORSE)
