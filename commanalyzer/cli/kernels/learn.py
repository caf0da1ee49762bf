"""``commanalyzer learn``: train a model of speed-up on a table of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options, together

if TYPE_CHECKING:
    from rich.console import Console

    from commanalyzer.kernels.learning.training import TrainingOptions

_KINDS = ("forest", "neighbours", "svr")
_TARGETS = ("speedup", "efficiency", "residual")
_SETS = ("all", "static", "runtime")


@click.command()
@click.argument("table", type=options.FILE)
@click.option("-o", "--output", type=options.FILE, required=True, help="Model to write (*.npz).")
@click.option("--machine", default="", help="Only runs of this machine, where the table has several.")
@options.with_default("--model", "kind", type=click.Choice(_KINDS), default="forest")
@options.with_default(
    "--target",
    type=click.Choice(_TARGETS),
    default="efficiency",
    help="What is learned: the speed-up, the efficiency, or what physics (a column) leaves over.",
)
@options.with_default("--features", type=click.Choice(_SETS), default="all")
@click.option(
    "--pca", "components", type=click.IntRange(0), default=0, help="Principal components; the paper takes 6."
)
@click.option(
    "--no-search",
    "search",
    is_flag=True,
    callback=lambda _context, _option, is_left_out: not is_left_out,
    help="Take the default parameters, no grid search.",
)
@click.option("--insight", is_flag=True, help="Also distances of kernels, ranked features, ablation.")
@output_options("Only say nothing but errors.")
@together(how="commanalyzer.kernels.learning.training:TrainingOptions")
def command(
    table: Path, output: Path, machine: str, insight: bool, out: Outputs, how: TrainingOptions
) -> None:
    """Train a model on TABLE (CSV or JSON Lines): per run a kernel, its features and the speed-up or time.

    Every kernel is left out once, which tells how far predictions of unseen kernels are off.
    """
    out.check(output)
    from commanalyzer.kernels.learning.model import save_model
    from commanalyzer.kernels.learning.runs import read_runs
    from commanalyzer.kernels.learning.training import train
    from commanalyzer.report.kernels.learning_text import model_json, show_insight, show_model

    runs = read_runs(table, machine)
    model = train(runs, how, machine)
    found = None
    if insight:
        from commanalyzer.kernels.learning.training import find_insight

        found = find_insight(runs, how)
    save_model(model, output, force=out.force)

    def show(console: Console) -> None:
        if not out.quiet:
            show_model(model, console)
            if found is not None:
                show_insight(found, console)

    out.emit(lambda: model_json(model, found), show, (output,))
