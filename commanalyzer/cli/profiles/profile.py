"""``commanalyzer profile``: what a program executes, whatever machine it runs on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    allow_failure_option,
    program_arguments,
    sources_or_result,
)
from commanalyzer.cli.parameters.output import (
    check_outputs,
    force_option,
    json_option,
    quiet_option,
    shown_progress,
)
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.request import AnalysisRequest, CompilerOptions

if TYPE_CHECKING:
    from commanalyzer.profiles.values import Profile


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the profile (*.pisa).")
@json_option
@click.option("--name", default="", help="Name of the application.  [default: the first source's]")
@click.option(
    "--scale",
    type=options.setting,
    multiple=True,
    metavar="NAME=VALUE",
    help="Scaling parameter of this run, for extrapolation; repeatable.",
)
@click.option(
    "--reuse",
    type=click.Choice(["sampled", "exact"]),
    default="sampled",
    show_default=True,
    help="Reuse distances of data: of a sample of the lines with a stated error, or of all.",
)
@click.option(
    "--window",
    "windows",
    type=click.IntRange(0),
    multiple=True,
    help="Window of the parallelism of instructions; 0 is no limit; repeatable.  [default: 54 and 0]",
)
@click.option(
    "--parallelism/--no-parallelism",
    default=True,
    show_default=True,
    help="Measure the parallelism of instructions, which takes most of the time.",
)
@click.option(
    "--division", type=click.Path(path_type=Path), help="Result (*.cmz) whose division tells ranks apart."
)
@click.option("--nodes", type=click.IntRange(1), help="Node count of the division.")
@click.option("--cc", default="", help="Your own clang; otherwise $CC or the bundled one.")
@click.option("--fc", default="", help="Your flang for Fortran.")
@click.option("--cflags", type=options.flags, default=(), help='Compiler flags: "-DN=100 -Iinclude".')
@click.option("--ldflags", type=options.flags, default=(), help="Linker flags.")
@click.option("--stdin", type=click.Path(path_type=Path), help="File for the program's standard input.")
@click.option("--timeout", type=options.seconds, help="Limit of each run of the program: 60, 10min.")
@click.option("--memory-limit", type=options.size, help="Limit of the program's memory: 8GB.")
@allow_failure_option
@force_option
@quiet_option("Only the table.")
@click.pass_context
def command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    output: Path | None,
    json_output: str | None,
    name: str,
    scale: tuple[tuple[str, float], ...],
    reuse: str,
    windows: tuple[int, ...],
    parallelism: bool,
    division: Path | None,
    nodes: int | None,
    cc: str,
    fc: str,
    cflags: tuple[str, ...],
    ldflags: tuple[str, ...],
    stdin: Path | None,
    timeout: float | None,
    memory_limit: float | None,
    allow_failure: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Measure what SOURCES execute: instructions, parallelism, reuse of memory, branches.

    The program is run twice: plainly, and instrumented. With --division, the profile is divided among the
    ranks of a result's division. A saved result (*.cmz) stands for its sources and arguments, and with
    --nodes for its division.
    """
    check_outputs(output, json_output, force)
    if nodes is not None and division is None and sources[0].suffix != ".cmz":
        raise ConfigError("expected --division with --nodes, found none", where="--nodes")
    from commanalyzer.profiles.ranks import rank_profiles
    from commanalyzer.profiles.run.measure import DEFAULT_WINDOWS, ProfileRequest, profile_program
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.provenance import require_same_program

    result = sources[0] if sources[0].suffix == ".cmz" and nodes is not None else None
    sources, arguments, cflags = sources_or_result(sources, program_arguments(ctx), cflags)
    division = division or result
    divided = None if division is None else load(division)
    if divided is not None and division != result:
        require_same_program(divided, sources, arguments)
    program = AnalysisRequest(
        sources=sources,
        arguments=arguments,
        compiler=CompilerOptions(cc, cflags, ldflags, fc),
        stdin=stdin,
        program_output="stderr" if json_output == "-" else "inherit",
        timeout_s=timeout,
        memory_limit_bytes=None if memory_limit is None else int(memory_limit),
        allow_failure=allow_failure,
    )
    windows = (windows or DEFAULT_WINDOWS) if parallelism else ()
    request = ProfileRequest(program, name, dict(scale), reuse == "exact", windows)
    with shown_progress(quiet) as progress:
        profile = profile_program(request, progress).profile
    if divided is not None:
        profile = rank_profiles(profile, divided, divided.decomposition(nodes or divided.nodes[0]))
    _emit(profile, output, json_output, force=force, quiet=quiet)


def _emit(
    profile: Profile, output: Path | None, json_output: str | None, *, force: bool, quiet: bool
) -> None:
    """Save the profile and show it; its document is the file."""
    from commanalyzer.profiles.document import profile_text
    from commanalyzer.report.profiles.profile_text import show_profile
    from commanalyzer.report.result.text import make_console

    text, to_stdout = profile_text(profile), json_output == "-"
    for path in (output, None if to_stdout or json_output is None else Path(json_output)):
        if path is not None:
            write_text(path, text, force=force)
    if to_stdout:
        sys.stdout.write(text)
    else:
        show_profile(profile, make_console(sys.stdout), quiet=quiet)
    if output is not None and not quiet:
        click.echo(f"wrote {output}", err=to_stdout)
