"""``commanalyzer show``: a saved result as text or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters.output import check_outputs, emit, force_option, json_option, quiet_option


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@json_option
@force_option
@quiet_option("Only the table.")
def command(result: Path, every: bool, json_output: str | None, force: bool, quiet: bool) -> None:
    """Print the saved RESULT (*.cmz)."""
    from commanalyzer.result.artifacts import load

    check_outputs(None, json_output, force)
    emit(load(result), None, json_output, force=force, every=every, quiet=quiet)
