"""``commanalyzer show``: a saved result as text or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.output import check_outputs, emit


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@click.option(
    "--json", "json_output", metavar="PATH|-", help="Write the JSON document; - for standard output."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("-q", "--quiet", is_flag=True, help="Only the table.")
def command(result: Path, every: bool, json_output: str | None, force: bool, quiet: bool) -> None:
    """Print the saved RESULT (*.cmz)."""
    from commanalyzer.artifacts import load

    check_outputs(None, json_output, force)
    emit(load(result), None, json_output, force=force, every=every, quiet=quiet)
