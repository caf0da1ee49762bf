"""Options of an analysis, shared by the commands that make one: ``analyze`` and ``sweep``.

Options about how values are divided among nodes, shared by the commands that partition.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import (
    DEFAULT_NODES,
    EFFORTS,
    MODELS,
    AnalysisRequest,
    CompilerOptions,
    Model,
    ProgramOutput,
)

division_options = options.all_of(
    click.option(
        "--decompose",
        multiple=True,
        metavar="RULE",
        type=options.rule,
        help="Also count this division: u=block2d, 'x[64x32]=block:4x2', 'x=cyclic:16x16'; repeatable: all "
        "rules make one division, `commanalyzer partition` counts another one.",
    ),
    options.file("--owner-map", help="Also count these owners: CSV (object,index,part) or .npy."),
    options.with_default(
        "--imbalance",
        type=float,
        default=0.03,
        help="Allowed excess of the largest node's work over the mean.",
    ),
    click.option(
        "--work-weights",
        type=options.work_weights,
        metavar="fp=1,int=1,mem=0",
        help="What floating-point and integer operations and memory accesses count for in the work that "
        "is balanced.",
    ),
    options.with_default(
        "--coarsen",
        type=options.coarsen,
        default="auto",
        metavar="auto|never|N",
        help="Find divisions on tiles of arrays (counted on all values): of large arrays, never, or always "
        "with about N tiles.",
    ),
    options.with_default(
        "--effort",
        type=click.Choice(EFFORTS),
        default="normal",
        help="How long to look for divisions; by estimates, so that the result is the same everywhere.",
    ),
    click.option(
        "--time-limit",
        "time_limit_s",
        type=options.seconds,
        help="End looking for divisions after so long, with the best until then: 30, 2min.",
    ),
)


_PROGRAM_ARGUMENTS = "commanalyzer.program_arguments"
allow_failure_option = options.flag(
    "--allow-failure", help="Analyse a program that ends with another status than 0, too."
)
cc_option = click.option("--cc", default="", help="Your own clang; otherwise $CC or the bundled one.")
cflags_option = click.option(
    "--cflags", type=options.flags, default=(), help='Compiler flags: "-DN=100 -Iinclude".'
)
stdin_option = options.file("--stdin", help="File for the program's standard input.")
run_options = options.all_of(
    cc_option,
    click.option(
        "--fc", default="", help="Your flang for Fortran; otherwise $COMMANALYZER_FC or one in PATH."
    ),
    cflags_option,
    click.option("--ldflags", type=options.flags, default=(), help="Linker flags."),
    stdin_option,
    click.option("--timeout", type=options.seconds, help="Limit of each run of the program: 60, 10min."),
)
model_options = options.all_of(
    options.with_default(
        "--model",
        type=click.Choice([*MODELS, "both"]),
        default="volume",
        help="Communication model: exact volume, or the rules of the HPDC'18 paper.",
    ),
    options.with_default("--high", type=float, default=0.9, help="Threshold of the singleton scores."),
)
check_option = options.flag("--check", help="Verify conservation laws on the way.")
_PROGRAM = options.all_of(
    click.option(
        "--nodes",
        type=options.nodes,
        default=DEFAULT_NODES,
        help="Node counts: 2,4,8-16, 4-64:4, 2..64x2.  [default: 2,4,8,16]",
    ),
    model_options,
    click.option(
        "--region",
        "regions",
        multiple=True,
        metavar="NAME",
        help="Only this function, or what lies between marks of this name; repeatable.",
    ),
    options.with_default(
        "--control-flows/--no-control-flows",
        default=True,
        help="Conditions that select between values count as flows.",
    ),
    options.with_default(
        "--private-temporaries/--no-private-temporaries",
        default=True,
        help="Tell memory that is reused for one element after the other from arrays.",
    ),
    click.option("--private", multiple=True, metavar="NAME", help="Memory elements use in turn; repeatable."),
    click.option("--shared", multiple=True, metavar="NAME", help="Memory that holds an array; repeatable."),
    options.file(
        "--library-model",
        "library_models",
        multiple=True,
        help="TOML file that says what further library functions do; repeatable.",
    ),
    run_options,
    options.with_default(
        "--plan-timeout",
        "plan_timeout_s",
        type=options.seconds,
        default="2min",
        help="What records is not optimised when planning and building it take longer.",
    ),
    click.option(
        "--memory-limit",
        type=options.size,
        help="Limit of the recorded program's memory: 8GB. Beyond half of it, what is recorded goes to the "
        "disk (TMPDIR). A graph that would need more than the limit to be divided is not divided.",
    ),
    click.option(
        "--disk-limit",
        type=options.size,
        help="Limit of what one recording takes of the disk (TMPDIR): 20GB.  [default: half of what is free]",
    ),
    options.with_default("--seed", type=click.IntRange(0), default=1, help="Seed of partitioning."),
    allow_failure_option,
    click.option(
        "--exact/--no-exact",
        default=None,
        help="Run the program once more and count event by event what crosses.  "
        "[default: where a bracket is wide and the run short]",
    ),
    check_option,
)


class WithProgramArguments(click.Command):
    """A command whose arguments after ``--`` belong to the analysed program, or are a command to run."""

    usage = "[OPTIONS] SOURCES...|EXECUTABLE [-- PROGRAM ARGUMENTS...]"
    launcher = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the program's arguments aside, parse the rest."""
        if "--" in args:
            split = args.index("--")
            ctx.meta[_PROGRAM_ARGUMENTS] = tuple(args[split + 1 :])
            args = args[:split]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Mention what stands after ``--``."""
        formatter.write_usage(ctx.command_path, self.usage, f"Usage: {self.launcher}")


def program_arguments() -> tuple[str, ...]:
    """What stood after ``--``."""
    found = click.get_current_context().meta.get(_PROGRAM_ARGUMENTS, ())
    return tuple(str(argument) for argument in found)


def sources_or_result(
    sources: tuple[Path, ...], arguments: tuple[str, ...], flags: tuple[str, ...]
) -> tuple[tuple[Path, ...], tuple[str, ...], tuple[str, ...]]:
    """Sources, arguments and compiler flags as given, or those of a saved result that is given instead.

    Raises:
        ConfigError: If a result is one of several files, or its sources have changed.
    """
    results = [path for path in sources if path.suffix == ".cmz"]
    if not results:
        return sources, arguments, flags
    if len(sources) > 1:
        raise ConfigError("expected sources or one result, found both", where=str(results[0]))
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.provenance import program_of

    found = program_of(load(results[0]), arguments=arguments)
    return found.sources, found.arguments, flags or found.flags


def interpreted_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add sources, or a result, and options of a program to interpret; the command takes ``request``."""

    @functools.wraps(command)
    def with_request(
        *,
        sources: tuple[Path, ...],
        cc: str,
        cflags: tuple[str, ...],
        stdin: Path | None,
        regions: tuple[str, ...] = (),
        **others: object,
    ) -> object:
        sources, arguments, cflags = sources_or_result(sources, program_arguments(), cflags)
        request = AnalysisRequest(
            sources=sources,
            arguments=arguments,
            compiler=CompilerOptions(cc, cflags),
            stdin=stdin,
            regions=regions,
        )
        return command(request=request, **others)

    sources = click.argument("sources", nargs=-1, required=True, type=options.FILE)
    return sources(cc_option(cflags_option(stdin_option(with_request))))


def models_of(choice: str) -> tuple[Model, ...]:
    """Communication models behind a choice of one of them or ``both``."""
    return tuple(m for m in MODELS if choice in (m, "both"))


def analysis_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add everything that :func:`request_from` needs to a command."""
    return _PROGRAM(division_options(options.machine_options(command)))


def request_from(
    sources: tuple[Path, ...],
    arguments: tuple[str, ...],
    given: dict[str, options.Raw],
    program_output: ProgramOutput = "inherit",
) -> AnalysisRequest:
    """Request of the options added by :func:`analysis_options`, whose values are ``given``.

    Raises:
        CommAnalyzerError: If a value is out of range or a machine file is not usable.
    """
    fields = dict(given)
    model, memory, disk = (fields.pop(name, None) for name in ("model", "memory_limit", "disk_limit"))
    compiler = (fields.pop(name) for name in ("cc", "cflags", "ldflags", "fc"))
    return AnalysisRequest(
        sources=sources,
        arguments=arguments,
        models=models_of(model or "volume"),
        compiler=CompilerOptions(*compiler),
        program_output=program_output,
        timeout_s=fields.pop("timeout"),
        memory_limit_bytes=None if memory is None else int(memory),
        disk_limit_bytes=None if disk is None else int(disk),
        **fields,  # options that are called like the fields of the request
    )
