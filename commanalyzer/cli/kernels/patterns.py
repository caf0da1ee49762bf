"""``commanalyzer patterns``: which parallel patterns the loops of a program allow."""

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
@interpreted_options
@json_option
@force_option
@quiet_option("Only the patterns, without reasons.")
@click.pass_context
def command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    cc: str,
    cflags: tuple[str, ...],
    stdin: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Find the parallel pattern of every loop of SOURCES, or the flows that forbid one.

    The program is interpreted: use a small problem. What is said holds for the flows of that run.
    """
    check_outputs(None, json_output, force)
    request = interpreted_request(ctx, sources, cc, cflags, stdin)
    from commanalyzer.kernels.patterns.find import find_patterns
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.patterns_text import patterns_json, show_patterns

    _, module = compile_request(request)
    given = b"" if stdin is None else stdin.read_bytes()
    found = find_patterns(module, request.arguments, given)
    emit_document(
        lambda: patterns_json(found),
        lambda console: show_patterns(found, console, quiet=quiet),
        json_output,
        force=force,
        quiet=quiet,
    )
