"""``commanalyzer learn``: train a model of speed-up on a table of runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters.output import check_outputs, force_option, json_option, quiet_option
from commanalyzer.foundation.files import write_text

_KINDS = ("forest", "neighbours", "svr")
_TARGETS = ("speedup", "efficiency", "residual")
_SETS = ("all", "static", "runtime")


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Model to write (*.npz)."
)
@click.option("--machine", default="", help="Only runs of this machine, where the table has several.")
@click.option("--model", "kind", type=click.Choice(_KINDS), default="forest", show_default=True)
@click.option(
    "--target",
    type=click.Choice(_TARGETS),
    default="efficiency",
    show_default=True,
    help="What is learned: the speed-up, the efficiency, or what physics (a column) leaves over.",
)
@click.option("--features", type=click.Choice(_SETS), default="all", show_default=True)
@click.option("--pca", type=click.IntRange(0), default=0, help="Principal components; the paper takes 6.")
@click.option("--no-search", is_flag=True, help="Take the default parameters, no grid search.")
@click.option("--insight", is_flag=True, help="Also distances of kernels, ranked features, ablation.")
@json_option
@force_option
@quiet_option("Only say nothing but errors.")
def command(
    table: Path,
    output: Path,
    machine: str,
    kind: str,
    target: str,
    features: str,
    pca: int,
    no_search: bool,
    insight: bool,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Train a model on TABLE (CSV or JSON Lines): per run a kernel, its features and the speed-up or time.

    Every kernel is left out once, which tells how far predictions of unseen kernels are off.
    """
    check_outputs(output, json_output, force)
    from typing import cast

    from commanalyzer.kernels.learning.estimators import Kind
    from commanalyzer.kernels.learning.model import Target, save_model
    from commanalyzer.kernels.learning.runs import read_runs
    from commanalyzer.kernels.learning.training import FeatureSet, TrainingOptions, train
    from commanalyzer.report.kernels.learning_text import model_json, show_insight, show_model
    from commanalyzer.report.result.text import make_console

    runs = read_runs(table, machine)
    options = TrainingOptions(
        cast(Kind, kind), cast(Target, target), cast(FeatureSet, features), pca, not no_search
    )
    model = train(runs, options, machine)
    found = None
    if insight:
        from commanalyzer.kernels.learning.insight import find_insight

        found = find_insight(runs, options)
    save_model(model, output, force=force)
    if json_output == "-":
        sys.stdout.write(model_json(model, found))
        return
    if json_output is not None:
        write_text(Path(json_output), model_json(model, found), force=force)
    if quiet:
        return
    console = make_console(sys.stdout)
    show_model(model, console)
    if found is not None:
        show_insight(found, console)
    for path in (output, None if json_output is None else Path(json_output)):
        if path is not None:
            click.echo(f"wrote {path}")
