"""``commanalyzer compare``: predicted and counted communication side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options

if TYPE_CHECKING:
    from rich.console import Console

    from commanalyzer.machine.parameters import MachineParameters
    from commanalyzer.result.comparison.compare import Comparison
    from commanalyzer.result.comparison.measured import MeasuredRuns


@click.command()
@click.argument("predicted", type=options.FILE)
@click.argument("counted", type=options.FILE)
@options.model_option
@click.option("--method", default="", help="Predicted decomposition; the cheapest if left out.")
@click.option("--region", default="", metavar="NAME", help="Marked region of the counted run.")
@click.option(
    "--times",
    metavar="P=SECONDS,...|FILE",
    help="Measured times of the MPI program: 1=10.2s,4=2.8s, or a file with lines nodes,seconds.",
)
@machine_and_latency_options
@output_options("Only the totals.")
def command(
    predicted: Path,
    counted: Path,
    times: str | None,
    machine: MachineParameters,
    out: Outputs,
    **given: str,
) -> None:
    """Compare the result PREDICTED (analyze -o) with the result COUNTED (count -o) of an MPI run.

    Accuracy is 1 - |predicted - counted| / counted. Parts of a prediction have no natural numbers: the
    matrices are compared under the numbering that agrees best.

    With --times, measured times are set against the bounds of the machine (see: commanalyzer bound).
    """
    out.check()
    from commanalyzer.report.checking import comparison_text, show_comparison
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.comparison.compare import compare

    found = compare(load(predicted), load(counted), **given)  # options that are called like its arguments
    runs = None if times is None else _measured(found, times, machine)

    def show(console: Console) -> None:
        show_comparison(found, console, quiet=out.quiet)
        if runs is not None:
            from commanalyzer.report.checking import show_measured

            show_measured(runs, console)

    out.emit(lambda: comparison_text(found, runs), show)


def _measured(comparison: Comparison, times: str, machine: MachineParameters) -> MeasuredRuns:
    from commanalyzer.result.comparison.measured import measured_runs, parse_times

    return measured_runs(comparison, parse_times(times), machine)
