"""``commanalyzer export``: a saved result in the format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.foundation.files import require_writable
from commanalyzer.request import MODELS

FORMATS = ("csv", "extrap", "graphml", "hmetis", "json", "matrixmarket", "metis", "partition")


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--nodes", type=click.IntRange(1), help="Node count; the largest analysed one if left out.")
@click.option("--model", type=click.Choice(MODELS), help="Communication model; the leading one if left out.")
@click.option(
    "--param",
    "parameters",
    type=options.setting,
    multiple=True,
    help="Further parameter of this run for Extra-P, such as n=256; repeatable.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(
    result: Path,
    form: str,
    output: Path,
    nodes: int | None,
    model: str | None,
    parameters: tuple[tuple[str, float], ...],
    force: bool,
) -> None:
    """Write the saved RESULT (*.cmz) for another tool.

    \b
    csv, matrixmarket, graphml  communication matrix of one node count
    metis, hmetis               value graph as graph or hypergraph
    partition                   owner of each value, one per line
    extrap                      measurements over node counts for Extra-P (JSON Lines)
    json                        the document commanalyzer.analysis/2
    """  # noqa: D301 the backspace is click's mark for preformatted text
    require_writable(output, force)
    from commanalyzer.report.result.exports import export_result
    from commanalyzer.result.artifacts import load

    export_result(load(result), form, output, nodes=nodes, model=model or "", parameters=dict(parameters))
    click.echo(f"wrote {output}")
