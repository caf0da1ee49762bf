"""``commanalyzer features``: static and run-time features of a program's kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    program_arguments,
    sources_or_result,
)
from commanalyzer.cli.parameters.output import check_outputs, force_option, json_option, quiet_option
from commanalyzer.foundation.files import write_text
from commanalyzer.request import AnalysisRequest, CompilerOptions


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cc", default="", help="Your own clang; otherwise $CC or the bundled one.")
@click.option("--cflags", type=options.flags, default=(), help='Compiler flags: "-DN=100 -Iinclude".')
@click.option("--run", is_flag=True, help="Also interpret the program: measured mix and run-time features.")
@click.option("--stdin", type=click.Path(path_type=Path), help="File for the program's standard input.")
@json_option
@force_option
@quiet_option("Do not say which file was written.")
@click.pass_context
def command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    cc: str,
    cflags: tuple[str, ...],
    run: bool,
    stdin: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Count the instructions of every kernel of SOURCES by kind, as learn and predict need them.

    A kernel is a nest of loops over work items. Arguments after -- imply --run; the program is interpreted
    then: use a small problem.
    """
    check_outputs(None, json_output, force)
    sources, arguments, cflags = sources_or_result(sources, program_arguments(ctx), cflags)
    request = AnalysisRequest(
        sources=sources,
        arguments=arguments,
        compiler=CompilerOptions(cc, cflags),
        stdin=stdin,
    )
    from commanalyzer.features.kernels import find_kernels, run_kernels
    from commanalyzer.record import compile_request
    from commanalyzer.report.terminal.features_text import features_json, show_features
    from commanalyzer.report.terminal.text import make_console

    _, module = compile_request(request)
    if run or request.arguments or stdin is not None:
        given = b"" if stdin is None else stdin.read_bytes()
        found = run_kernels(module, request.arguments, given)
    else:
        found = find_kernels(module)
    if json_output == "-":
        sys.stdout.write(features_json(found))
        return
    if json_output is not None:
        write_text(Path(json_output), features_json(found), force=force)
    show_features(found, make_console(sys.stdout))
    if json_output is not None and not quiet:
        click.echo(f"wrote {json_output}")
