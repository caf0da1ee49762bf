"""``commanalyzer analyze``: sources in, table, result file and JSON document out."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    analysis_options,
    program_arguments,
    request_from,
)
from commanalyzer.cli.parameters.output import Outputs, emit, result_options, shown_progress, together
from commanalyzer.request import ProgramOutput


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=options.FILE)
@analysis_options
@result_options("Save the result (*.cmz).")
@click.option("-v", "--verbose", is_flag=True, help="Show compiler warnings and log messages.")
@together(out=Outputs)
def command(
    sources: tuple[Path, ...],
    output: Path | None,
    every: bool,
    jobs: int | None,
    out: Outputs,
    verbose: bool,
    **given: options.Raw,
) -> None:
    """Analyse the program made of SOURCES (C, C++, Fortran, .ll, .bc), run with the arguments after --.

    Instead of sources, give the EXECUTABLE that commanalyzer cc, c++ or fc built.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(message)s")
    out.check(output)
    # Our standard output is the document: the program's own must not be mixed into it.
    program_output: ProgramOutput = "stderr" if out.is_document else "inherit"
    request = request_from(sources, program_arguments(), given, program_output)
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import analyze

    with shown_progress(out.quiet) as progress:
        result = analyze(request, progress, jobs or usable_cores())
    emit(result, output, out, every=every)
