"""``commanalyzer partition``: other node counts from a saved result, without running the program again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import division_options
from commanalyzer.cli.parameters.machine_options import machine_options
from commanalyzer.cli.parameters.output import (
    check_outputs,
    emit,
    force_option,
    jobs_option,
    json_option,
    quiet_option,
    shown_progress,
)
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.request import MODELS, PartitionRequest


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--nodes", type=options.nodes, required=True, help="Node counts: 2,4,8-16, 4-64:4, 2..64x2.")
@click.option(
    "--model",
    type=click.Choice([*MODELS, "both"]),
    default="volume",
    show_default=True,
    help="Communication model.",
)
@click.option("--high", type=float, default=0.9, show_default=True, help="Threshold of singleton scores.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="Seed.")
@division_options
@machine_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the new result (*.cmz).")
@json_option
@force_option
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@click.option("--check", is_flag=True, help="Verify conservation laws on the way.")
@jobs_option
@quiet_option("Only the table; no progress.")
def command(
    result: Path,
    nodes: tuple[int, ...],
    model: str,
    high: float,
    seed: int,
    machine: MachineParameters,
    output: Path | None,
    json_output: str | None,
    force: bool,
    every: bool,
    check: bool,
    jobs: int | None,
    quiet: bool,
    **division: Any,
) -> None:
    """Decompose the saved RESULT (*.cmz) for other node counts."""
    check_outputs(output, json_output, force)
    request = PartitionRequest(
        nodes=nodes,
        models=tuple(m for m in MODELS if model in (m, "both")),
        high=high,
        machine=machine,
        seed=seed,
        check=check,
        **division,  # options that are called like the fields of the request
    )
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import repartition
    from commanalyzer.result.artifacts import load

    loaded = load(result)
    if loaded.counted is not None:
        raise ConfigError("expected a prediction to decompose, found a counted MPI run", where=str(result))
    with shown_progress(quiet) as progress:
        changed = repartition(loaded, request, progress, jobs or usable_cores())
    emit(changed, output, json_output, force=force, every=every, quiet=quiet)
