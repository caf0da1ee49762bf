"""``commanalyzer features``: static and run-time features of a program's kernels."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    interpreted_options,
    interpreted_request,
)
from commanalyzer.cli.parameters.output import (
    check_outputs,
    emit_document,
    force_option,
    json_option,
    quiet_option,
)


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--run", is_flag=True, help="Also interpret the program: measured mix and run-time features.")
@interpreted_options
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
    request = interpreted_request(ctx, sources, cc, cflags, stdin)
    from commanalyzer.kernels.features.kernels import find_kernels, run_kernels
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.features_text import features_json, show_features

    _, module = compile_request(request)
    if run or request.arguments or stdin is not None:
        given = b"" if stdin is None else stdin.read_bytes()
        found = run_kernels(module, request.arguments, given)
    else:
        found = find_kernels(module)
    emit_document(
        lambda: features_json(found),
        lambda console: show_features(found, console),
        json_output,
        force=force,
        quiet=quiet,
    )
