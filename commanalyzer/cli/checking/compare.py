"""``commanalyzer compare``: predicted and counted communication side by side."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import machine_and_latency_options
from commanalyzer.cli.parameters.output import Outputs, output_options


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
def command(predicted: Path, counted: Path, out: Outputs, **given: options.Raw) -> None:
    """Compare the result PREDICTED (analyze -o) with the result COUNTED (count -o) of an MPI run.

    Accuracy is 1 - |predicted - counted| / counted. Parts of a prediction have no natural numbers: the
    matrices are compared under the numbering that agrees best.

    With --times, measured times are set against the bounds of the machine (see: commanalyzer bound).
    """
    out.check()
    from commanalyzer.report.checking import comparison_text, show_comparison
    from commanalyzer.result.artifacts import load

    found = load(predicted).compare(load(counted), **given)  # options are its arguments
    out.emit(lambda: comparison_text(found), lambda console: show_comparison(found, console, quiet=out.quiet))
