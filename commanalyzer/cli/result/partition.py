"""``commanalyzer partition``: other node counts from a saved result, without running the program again."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    check_option,
    division_options,
    model_options,
    models_of,
)
from commanalyzer.cli.parameters.machine_options import machine_options
from commanalyzer.cli.parameters.output import Outputs, emit, result_options, shown_progress, together
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import PartitionRequest


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--nodes", type=options.nodes, required=True, help="Node counts: 2,4,8-16, 4-64:4, 2..64x2.")
@model_options
@options.with_default("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Seed.")
@division_options
@machine_options
@check_option
@result_options("Save the new result (*.cmz).")
@together(out=Outputs)
def command(
    result: Path,
    model: str,
    output: Path | None,
    every: bool,
    jobs: int | None,
    out: Outputs,
    **division: options.Raw,
) -> None:
    """Decompose the saved RESULT (*.cmz) for other node counts."""
    out.check(output)
    request = PartitionRequest(models=models_of(model), **division)  # options are called like its fields
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import repartition
    from commanalyzer.result.artifacts import load

    loaded = load(result)
    if loaded.counted is not None:
        raise ConfigError("expected a prediction to decompose, found a counted MPI run", where=str(result))
    with shown_progress(out.quiet) as progress:
        changed = repartition(loaded, request, progress, jobs or usable_cores())
    emit(changed, output, out, every=every)
