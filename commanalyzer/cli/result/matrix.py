"""``commanalyzer matrix``: the communication matrix of a saved result."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters import options


@click.command()
@click.argument("result", type=options.FILE)
@options.node_count_option
@options.model_option
@click.option("--method", default="", help="Decomposition; the cheapest if left out.")
@options.with_default(
    "--format", "form", type=click.Choice(["text", "csv"]), default="text", help="Output form."
)
@click.option("--messages", is_flag=True, help="Messages instead of bytes (csv).")
def command(result: Path, nodes: int | None, model: str, method: str, form: str, messages: bool) -> None:
    """Print who sends how many bytes to whom in the saved RESULT."""
    from commanalyzer.result.artifacts import load

    loaded = load(result)
    count = nodes if nodes is not None else max(loaded.nodes, default=1)
    item = loaded.decomposition(count, model, method)
    if form == "csv":
        matrix = item.communication.messages if messages else item.communication.comm_bytes
        for row in matrix.tolist():
            sys.stdout.write(",".join(map(str, row)) + "\n")
    else:
        from commanalyzer.report.result.text import matrix_lines

        for line in (repr(item), *matrix_lines(item.communication, full=True)):
            click.echo(line)
