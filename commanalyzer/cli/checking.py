"""Predictions beside MPI programs: ``compare``, ``count``."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import (
    Outputs,
    emit,
    output_options,
)


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
@options.machine_and_latency_options
@output_options("Only the totals.")
def compare_command(predicted: Path, counted: Path, out: Outputs, **given: options.Raw) -> None:
    """Compare the result PREDICTED (analyze -o) with the result COUNTED (count -o) of an MPI run.

    Accuracy is 1 - |predicted - counted| / counted. Parts of a prediction have no natural numbers: the
    matrices are compared under the numbering that agrees best.

    With --times, measured times are set against the bounds of the machine (see: commanalyzer bound).
    """
    out.check()
    from commanalyzer.report.checking import comparison_text, show_comparison
    from commanalyzer.result.artifacts import load

    found = load(predicted).compare(load(counted), **given)  # options are its arguments
    out.present(found, comparison_text, show_comparison)


class _WithCommand(WithProgramArguments):
    usage = "[OPTIONS] -- mpiexec -n RANKS PROGRAM [ARGUMENTS...]"


@click.command(cls=_WithCommand)
@options.file("-o", "--output", help="Save the result (*.cmz).")
@click.option(
    "--region", default="", metavar="NAME", help="Mark or function that the result's matrix covers."
)
@click.option("--mpicc", default="", help="Compiler wrapper of the program's MPI, if not beside mpiexec.")
@click.option("--timeout", "timeout_s", type=options.seconds, help="Limit of the run: 60, 10min.")
@options.file("--profile", help="Save the ranks' communication (*.pisa).")
@options.flag("--all", "every", help="Show every kind of call.")
@output_options("Only the table of regions.")
def count_command(
    output: Path | None, profile: Path | None, every: bool, out: Outputs, **raw: options.Raw
) -> None:
    """Count the bytes and messages that an MPI program's ranks send to each other.

    The command after -- is run once, unchanged, with a counting library in every rank. Collectives are
    charged with the least volume that an implementation needs.
    """
    out.check(output, profile)
    from commanalyzer.checking.counting.launch import CountRequest, count

    command = program_arguments()
    request = CountRequest(command, output_to_stderr=out.is_document, **raw)  # options are its fields
    result = count(request)
    emit(result, output, out, every=every)
    if profile is not None:
        from commanalyzer.profiles.document import write_profile
        from commanalyzer.profiles.ranks import counted_profile

        write_profile(counted_profile(result, {}), profile, force=out.force)
