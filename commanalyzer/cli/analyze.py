"""``commanalyzer analyze``: sources in, table, result file and JSON document out."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import click

from commanalyzer.cli import options
from commanalyzer.cli.division_options import division_options
from commanalyzer.cli.machine_options import machine_from, machine_options
from commanalyzer.cli.output import check_outputs, emit
from commanalyzer.request import DEFAULT_NODES, MODELS, AnalysisRequest, CompilerOptions

_PROGRAM_ARGUMENTS = "commanalyzer.program_arguments"


class WithProgramArguments(click.Command):
    """A command whose arguments after ``--`` belong to the analysed program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the program's arguments aside, parse the rest."""
        if "--" in args:
            split = args.index("--")
            ctx.meta[_PROGRAM_ARGUMENTS] = tuple(args[split + 1 :])
            args = args[:split]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Mention the program's arguments."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] SOURCES...|EXECUTABLE [-- PROGRAM ARGUMENTS...]")


def program_arguments(ctx: click.Context) -> tuple[str, ...]:
    """What stood after ``--``."""
    found = ctx.meta.get(_PROGRAM_ARGUMENTS, ())
    return tuple(str(argument) for argument in found)


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--nodes",
    type=options.nodes,
    default=DEFAULT_NODES,
    help="Node counts: 2,4,8-16, 4-64:4, 2..64x2.  [default: 2,4,8,16]",
)
@click.option(
    "--model",
    type=click.Choice([*MODELS, "both"]),
    default="volume",
    show_default=True,
    help="Communication model: exact volume, or the rules of the HPDC'18 paper.",
)
@click.option("--high", type=float, default=0.9, show_default=True, help="Threshold of the singleton scores.")
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="NAME",
    help="Only this function, or what lies between marks of this name; repeatable.",
)
@click.option(
    "--control-flows/--no-control-flows",
    default=True,
    show_default=True,
    help="Conditions that select between values count as flows.",
)
@click.option(
    "--private-temporaries/--no-private-temporaries",
    default=True,
    show_default=True,
    help="Tell memory that is reused for one element after the other from arrays.",
)
@click.option(
    "--library-model",
    "library_models",
    multiple=True,
    type=click.Path(path_type=Path),
    help="TOML file that says what further library functions do; repeatable.",
)
@click.option("--cc", default="", help="Your own clang; otherwise $CC or the bundled one.")
@click.option("--fc", default="", help="Your flang for Fortran; otherwise $COMMANALYZER_FC or one in PATH.")
@click.option("--cflags", type=options.flags, default=(), help='Compiler flags: "-DN=100 -Iinclude".')
@click.option("--ldflags", type=options.flags, default=(), help="Linker flags.")
@click.option("--stdin", type=click.Path(path_type=Path), help="File for the program's standard input.")
@click.option("--timeout", type=options.seconds, help="Limit of each run of the program: 60, 10min.")
@click.option("--memory-limit", type=options.size, help="Limit of the program's resident memory: 8GB.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of partitioning.")
@division_options
@machine_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the result (*.cmz).")
@click.option(
    "--json", "json_output", metavar="PATH|-", help="Write the JSON document; - for standard output."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--all", "every", is_flag=True, help="Show every candidate decomposition.")
@click.option("--check", is_flag=True, help="Verify conservation laws on the way.")
@click.option("-q", "--quiet", is_flag=True, help="Only the table; no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Show compiler warnings and log messages.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sources: tuple[Path, ...],
    model: str,
    cc: str,
    fc: str,
    cflags: tuple[str, ...],
    ldflags: tuple[str, ...],
    timeout: float | None,
    memory_limit: float | None,
    machine_file: str | None,
    bandwidth: float | None,
    overlap: float | None,
    throughput: float | None,
    output: Path | None,
    json_output: str | None,
    force: bool,
    every: bool,
    quiet: bool,
    verbose: bool,
    **fields: Any,
) -> None:
    """Analyse the program made of SOURCES (C, C++, Fortran, .ll, .bc), run with the arguments after --.

    Instead of sources, give the EXECUTABLE that commanalyzer cc, c++ or fc built.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(message)s")
    check_outputs(output, json_output, force)
    request = AnalysisRequest(
        sources=sources,
        arguments=program_arguments(ctx),
        models=tuple(m for m in MODELS if model in (m, "both")),
        compiler=CompilerOptions(cc, cflags, ldflags, fc),
        machine=machine_from(machine_file, bandwidth, overlap, throughput),
        # Our standard output is the document: the program's own must not be mixed into it.
        program_output="stderr" if json_output == "-" else "inherit",
        timeout_s=timeout,
        memory_limit_bytes=None if memory_limit is None else int(memory_limit),
        **fields,  # options that are called like the fields of the request
    )
    _analyze(request, output, json_output, force=force, every=every, quiet=quiet)


def _analyze(
    request: AnalysisRequest,
    output: Path | None,
    json_output: str | None,
    *,
    force: bool,
    every: bool,
    quiet: bool,
) -> None:
    from commanalyzer.pipeline import analyze
    from commanalyzer.progress import SilentProgress
    from commanalyzer.report.progress import TerminalProgress
    from commanalyzer.report.text import make_console

    if quiet:
        result = analyze(request, SilentProgress())
    else:
        with TerminalProgress(make_console(sys.stderr)) as progress:
            result = analyze(request, progress)
    emit(result, output, json_output, force=force, every=every, quiet=quiet)
