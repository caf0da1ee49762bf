"""``commanalyzer compare``: predicted and counted communication side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.output import check_outputs
from commanalyzer.files import write_text
from commanalyzer.request import MODELS


@click.command()
@click.argument("predicted", type=click.Path(path_type=Path))
@click.argument("counted", type=click.Path(path_type=Path))
@click.option("--model", type=click.Choice(MODELS), help="Communication model; the leading one if left out.")
@click.option("--method", default="", help="Predicted decomposition; the cheapest if left out.")
@click.option("--region", default="", metavar="NAME", help="Marked region of the counted run.")
@click.option(
    "--json", "json_output", metavar="PATH|-", help="Write the JSON document; - for standard output."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Only the totals.")
def command(
    predicted: Path,
    counted: Path,
    model: str | None,
    method: str,
    region: str,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Compare the result PREDICTED (analyze -o) with the result COUNTED (count -o) of an MPI run.

    Accuracy is 1 - |predicted - counted| / counted. Parts of a prediction have no natural numbers: the
    matrices are compared under the numbering that agrees best.
    """
    check_outputs(None, json_output, force)
    from commanalyzer.artifacts import load
    from commanalyzer.comparison.compare import compare
    from commanalyzer.report.comparison_text import comparison_text, show_comparison
    from commanalyzer.report.text import make_console

    found = compare(load(predicted), load(counted), model=model or "", method=method, region=region)
    if json_output == "-":
        sys.stdout.write(comparison_text(found))
        return
    if json_output is not None:
        write_text(Path(json_output), comparison_text(found), force=force)
    show_comparison(found, make_console(sys.stdout), quiet=quiet)
    if json_output is not None and not quiet:
        click.echo(f"wrote {json_output}")
