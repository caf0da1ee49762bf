"""``commanalyzer explain``: dynamic slice and value-flow chain of one source line (paper Figure 5).

Instead, ``--loops`` tells for each loop whether a recording runs it at native speed when it repeats.
"""

from __future__ import annotations

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, interpreted_options
from commanalyzer.request import AnalysisRequest


@click.command(cls=WithProgramArguments)
@click.option("--line", type=click.IntRange(1), help="Source line of the store to explain.")
@click.option(
    "--loops", is_flag=True, help="Instead, list the loops: which repeat without hooks, which do not, why."
)
@options.with_default(
    "--occurrence", type=click.IntRange(1), default=1, help="Which execution of the line, from 1."
)
@interpreted_options
def command(request: AnalysisRequest, line: int | None, loops: bool, occurrence: int) -> None:
    """Show how the value stored by a line of SOURCES came about; interpreted, so use a small problem."""
    if (line is None) != loops:
        raise click.UsageError("give either --line or --loops")
    from commanalyzer.pipeline import explain, explain_loops

    if line is None:
        click.echo(explain_loops(request))
    else:
        click.echo(explain(request, line=line, occurrence=occurrence))
