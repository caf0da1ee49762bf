"""``commanalyzer show``: a saved result as text or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, emit, output_options


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--nodes", type=options.nodes, help="Node counts to show: 4,16; all if left out.")
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@output_options("Only the table.")
def command(result: Path, nodes: tuple[int, ...] | None, every: bool, out: Outputs) -> None:
    """Print the saved RESULT (*.cmz)."""
    from commanalyzer.result.artifacts import load

    out.check()
    loaded = load(result)
    emit(loaded if nodes is None else loaded.on(nodes), None, out, every=every)
