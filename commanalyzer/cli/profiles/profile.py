"""``commanalyzer profile``: what a program executes, whatever machine it runs on."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    allow_failure_option,
    program_arguments,
    request_from,
    run_options,
    sources_or_result,
)
from commanalyzer.cli.parameters.output import Outputs, output_options, shown_progress
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=options.FILE)
@click.option("-o", "--output", type=options.FILE, help="Save the profile (*.pisa).")
@click.option("--name", default="", help="Name of the application.  [default: the first source's]")
@click.option(
    "--scale",
    type=options.setting,
    multiple=True,
    metavar="NAME=VALUE",
    help="Scaling parameter of this run, for extrapolation; repeatable.",
)
@options.with_default(
    "--reuse",
    type=click.Choice(["sampled", "exact"]),
    default="sampled",
    help="Reuse distances of data: of a sample of the lines with a stated error, or of all.",
)
@click.option(
    "--window",
    "windows",
    type=click.IntRange(0),
    multiple=True,
    help="Window of the parallelism of instructions; 0 is no limit; repeatable.  [default: 54 and 0]",
)
@options.with_default(
    "--parallelism/--no-parallelism",
    default=True,
    help="Measure the parallelism of instructions, which takes most of the time.",
)
@click.option("--division", type=options.FILE, help="Result (*.cmz) whose division tells ranks apart.")
@click.option("--nodes", type=click.IntRange(1), help="Node count of the division.")
@run_options
@click.option("--memory-limit", type=options.size, help="Limit of the program's memory: 8GB.")
@allow_failure_option
@output_options("Only the table.")
def command(
    sources: tuple[Path, ...],
    output: Path | None,
    name: str,
    scale: tuple[tuple[str, float], ...],
    reuse: str,
    windows: tuple[int, ...],
    parallelism: bool,
    division: Path | None,
    nodes: int | None,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Measure what SOURCES execute: instructions, parallelism, reuse of memory, branches.

    The program is run twice: plainly, and instrumented. With --division, the profile is divided among the
    ranks of a result's division. A saved result (*.cmz) stands for its sources and arguments, and with
    --nodes for its division.
    """
    out.check(output)
    if nodes is not None and division is None and sources[0].suffix != ".cmz":
        raise ConfigError("expected --division with --nodes, found none", where="--nodes")
    from commanalyzer.profiles.document import profile_text
    from commanalyzer.profiles.ranks import rank_profiles
    from commanalyzer.profiles.run.measure import DEFAULT_WINDOWS, ProfileRequest, profile_program
    from commanalyzer.report.profiles.text import show_profile
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.provenance import require_same_program

    result = sources[0] if sources[0].suffix == ".cmz" and nodes is not None else None
    arguments = program_arguments()
    sources, arguments, given["cflags"] = sources_or_result(sources, arguments, given["cflags"])
    division = division or result
    divided = None if division is None else load(division)
    if divided is not None and division != result:
        require_same_program(divided, sources, arguments)
    program = request_from(sources, arguments, given, "stderr" if out.is_document else "inherit")
    request = ProfileRequest(
        program, name, dict(scale), reuse == "exact", (windows or DEFAULT_WINDOWS) if parallelism else ()
    )
    with shown_progress(out.quiet) as progress:
        profile = profile_program(request, progress).profile
    if divided is not None:
        profile = rank_profiles(profile, divided, divided.decomposition(nodes or divided.nodes[0]))
    if output is not None:
        write_text(output, profile_text(profile), force=out.force)
    out.emit(
        lambda: profile_text(profile),
        lambda console: show_profile(profile, console, quiet=out.quiet),
        (output,),
    )
