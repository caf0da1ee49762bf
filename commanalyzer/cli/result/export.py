"""``commanalyzer export``: a saved result in the format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.foundation.files import require_writable

FORMATS = (
    *("csv", "dot", "extrap", "graphml", "hatchet", "hmetis"),
    *("json", "matrixmarket", "metis", "partition"),
)


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("-o", "--output", type=options.FILE, required=True, help="File to write.")
@options.node_count_option
@options.model_option
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
    model: str,
    parameters: tuple[tuple[str, float], ...],
    force: bool,
) -> None:
    """Write the saved RESULT (*.cmz) for another tool.

    \b
    csv, matrixmarket           communication matrix of one node count
    dot, graphml                the same as a graph of nodes (Graphviz, networkx)
    hatchet                     bytes per function and source line (GraphFrame.from_literal)
    metis, hmetis               value graph as graph or hypergraph
    partition                   owner of each value, one per line
    extrap                      measurements over node counts for Extra-P (JSON Lines)
    json                        the document commanalyzer.analysis/2
    """  # noqa: D301 the backspace is click's mark for preformatted text
    require_writable(output, force)
    from commanalyzer.report.result.exports import export_result
    from commanalyzer.result.artifacts import load

    export_result(load(result), form, output, nodes=nodes, model=model, parameters=dict(parameters))
    click.echo(f"wrote {output}")
