"""``commanalyzer analyze``: sources in, table, result file and JSON document out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    analysis_options,
    program_arguments,
    request_from,
)
from commanalyzer.cli.parameters.output import (
    check_outputs,
    emit,
    force_option,
    jobs_option,
    json_option,
    quiet_option,
    shown_progress,
)
from commanalyzer.request import AnalysisRequest, ProgramOutput


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@analysis_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the result (*.cmz).")
@json_option
@force_option
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@jobs_option
@quiet_option("Only the table; no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Show compiler warnings and log messages.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sources: tuple[Path, ...],
    output: Path | None,
    json_output: str | None,
    force: bool,
    every: bool,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Analyse the program made of SOURCES (C, C++, Fortran, .ll, .bc), run with the arguments after --.

    Instead of sources, give the EXECUTABLE that commanalyzer cc, c++ or fc built.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(message)s")
    check_outputs(output, json_output, force)
    # Our standard output is the document: the program's own must not be mixed into it.
    program_output: ProgramOutput = "stderr" if json_output == "-" else "inherit"
    request = request_from(sources, program_arguments(ctx), given, program_output)
    _analyze(request, output, json_output, jobs, force=force, every=every, quiet=quiet)


def _analyze(
    request: AnalysisRequest,
    output: Path | None,
    json_output: str | None,
    jobs: int | None,
    *,
    force: bool,
    every: bool,
    quiet: bool,
) -> None:
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import analyze

    with shown_progress(quiet) as progress:
        result = analyze(request, progress, jobs or usable_cores())
    emit(result, output, json_output, force=force, every=every, quiet=quiet)
