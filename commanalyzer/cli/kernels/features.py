"""``commanalyzer features``: static and run-time features of a program's kernels."""

from __future__ import annotations

import click

from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, interpreted_options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.request import AnalysisRequest


@click.command(cls=WithProgramArguments)
@click.option("--run", is_flag=True, help="Also interpret the program: measured mix and run-time features.")
@interpreted_options
@output_options("Do not say which file was written.")
def command(request: AnalysisRequest, run: bool, out: Outputs) -> None:
    """Count the instructions of every kernel of SOURCES by kind, as learn and predict need them.

    A kernel is a nest of loops over work items. Arguments after -- imply --run; the program is interpreted
    then: use a small problem.
    """
    out.check()
    from commanalyzer.kernels.features.kernels import find_kernels, run_kernels
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.text import features_json, show_features

    _, module = compile_request(request)
    if run or request.arguments or request.stdin is not None:
        given = b"" if request.stdin is None else request.stdin.read_bytes()
        found = run_kernels(module, request.arguments, given)
    else:
        found = find_kernels(module)
    out.emit(lambda: features_json(found), lambda console: show_features(found, console))
