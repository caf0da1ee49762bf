"""``commanalyzer patterns``: which parallel patterns the loops of a program allow."""

from __future__ import annotations

import click

from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, interpreted_options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.request import AnalysisRequest


@click.command(cls=WithProgramArguments)
@interpreted_options
@output_options("Only the patterns, without reasons.")
def command(request: AnalysisRequest, out: Outputs) -> None:
    """Find the parallel pattern of every loop of SOURCES, or the flows that forbid one.

    The program is interpreted: use a small problem. What is said holds for the flows of that run.
    """
    out.check()
    from commanalyzer.kernels.patterns.find import find_patterns
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.text import patterns_json, show_patterns

    _, module = compile_request(request)
    given = b"" if request.stdin is None else request.stdin.read_bytes()
    found = find_patterns(module, request.arguments, given)
    out.emit(lambda: patterns_json(found), lambda console: show_patterns(found, console, quiet=out.quiet))
