"""``commanalyzer sweep``: one program, many sizes; results and their table in a directory."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    analysis_options,
    program_arguments,
    request_from,
)
from commanalyzer.cli.parameters.output import quiet_option, together
from commanalyzer.foundation.errors import EXIT_INCOMPLETE, EXIT_OK, ConfigError
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from commanalyzer.scaling.sweep.executors import Engine
    from commanalyzer.scaling.sweep.points import Point
    from commanalyzer.scaling.sweep.run import Sweep
    from commanalyzer.scaling.sweep.store import SweepOutcome

_SYSTEMS = ("slurm", "pbs", "lsf")  # options that write a script
_COMMAND_LINE = "commanalyzer.sweep_command"
_SHARE_OF_MEMORY = 0.8  # of what is available when the sweep starts


@dataclass(frozen=True, slots=True)
class _Where:
    """Where points are analysed, of which at most one is chosen, and how."""

    jobs: int | None
    mpi: bool
    dask: str
    slurm: Path | None
    pbs: Path | None
    lsf: Path | None
    batch_options: tuple[str, ...]
    force: bool
    task: int | None
    memory_budget: float | None
    retry_failed: bool


class _SweepCommand(WithProgramArguments):
    """Remembers the command line, for provenance and for batch scripts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep a copy, parse."""
        ctx.meta[_COMMAND_LINE] = tuple(args)
        return super().parse_args(ctx, args)


@click.command(cls=_SweepCommand)
@click.argument("sources", nargs=-1, type=options.FILE)
@click.option(
    "--param",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help="n=64,128 or n=64..512x2; repeatable: all combinations.",
)
@click.option(
    "--points", "points_file", type=options.FILE, help="CSV file of points instead: names in its first line."
)
@click.option(
    "--args", "arguments", type=options.flags, default=(), help='Arguments of the program: "{n} 20".'
)
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    metavar="DIR",
    help="Directory for the results; a sweep found there is resumed.",
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Points at a time on this machine.  [default: its cores]"
)
@click.option(
    "--memory-budget",
    type=options.size,
    help="Memory of all points at a time: 16GB.  [default: 80% of what is free]",
)
@click.option("--mpi", is_flag=True, help="On the ranks of: mpiexec -n RANKS commanalyzer sweep ...")
@click.option("--dask", default="", metavar="ADDRESS", help="On the workers of this Dask scheduler.")
@click.option("--slurm", type=options.FILE, metavar="SCRIPT", help="Write a script: an array task per point.")
@click.option("--pbs", type=options.FILE, metavar="SCRIPT", help="The same for PBS.")
@click.option("--lsf", type=options.FILE, metavar="SCRIPT", help="The same for LSF.")
@click.option(
    *("--batch-options", "--slurm-options", "batch_options"),
    type=options.flags,
    default=(),
    help='Further directives of the script: "--mem=8G --time=1:00:00".',
)
@click.option("--task", type=click.IntRange(0), hidden=True, help="Analyse one point of a prepared sweep.")
@click.option(
    "--gather", type=options.FILE, metavar="DIR", help="Only write the table of the points finished in DIR."
)
@click.option("--retry-failed", is_flag=True, help="Analyse points again that failed before.")
@click.option("--force", is_flag=True, help="Overwrite an existing script.")
@analysis_options
@quiet_option("Only the table; no progress.")
@together(where=_Where)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sources: tuple[Path, ...],
    axes: tuple[str, ...],
    points_file: Path | None,
    arguments: tuple[str, ...],
    output: Path | None,
    where: _Where,
    gather: Path | None,
    quiet: bool,
    **given: options.Raw,
) -> int:
    """Analyse the program made of SOURCES for many values of its parameters.

    A parameter {n} stands in --args, --cflags, --ldflags, --stdin or a file name. One recording per point
    serves all --nodes. What is finished in DIR is not done again; DIR/table.csv is what laws are fitted to.
    """
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if gather is not None:
        from commanalyzer.scaling.sweep.run import gather as gathered

        return _finish(gathered(gather), quiet)
    from commanalyzer.scaling.sweep.run import Sweep

    chosen = [f"--{name}" for name in ("jobs", "mpi", "dask", *_SYSTEMS) if getattr(where, name)]
    if len(chosen) > 1:
        raise click.UsageError(f"expected one place to analyse points, found {' and '.join(chosen)}")
    after = program_arguments()
    if after and arguments:
        raise click.UsageError("expected the program's arguments in --args or after --, found both")
    with ExitStack() as stack:
        engine = _engine(where, stack)
        if engine is None and where.mpi:
            return EXIT_OK  # a rank that worked
        if not sources or output is None:
            raise click.UsageError("expected SOURCES and -o DIR (or --gather DIR)")
        points = _points(axes, points_file)
        request = request_from(sources, after or arguments, given, "discard")
        sweep = Sweep(request, points, output, ("sweep", *ctx.meta[_COMMAND_LINE]))
        if where.task is not None:
            return _task(sweep, where.task)
        for system in _SYSTEMS:
            if (script := getattr(where, system)) is not None:
                return _write_script(sweep, system, script, where)
        if engine is None:
            raise ConfigError("expected a place to analyse points, found none")
        return _run(sweep, engine, where, quiet)


def _points(axes: tuple[str, ...], points_file: Path | None) -> tuple[Point, ...]:
    from commanalyzer.scaling.sweep.points import grid, parse_axis, read_points

    if bool(axes) == (points_file is not None):
        raise click.UsageError("expected either --param NAME=VALUES or --points FILE")
    return grid([parse_axis(text) for text in axes]) if points_file is None else read_points(points_file)


def _engine(where: _Where, stack: ExitStack) -> Engine | None:
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.scaling.sweep.executors import dask_engine, mpi_engine, process_engine

    if where.task is not None or where.slurm or where.pbs or where.lsf:
        return None
    if where.mpi:
        return stack.enter_context(mpi_engine())
    if where.dask:
        return dask_engine(where.dask)
    return process_engine(where.jobs or usable_cores())


def _run(sweep: Sweep, engine: Engine, where: _Where, quiet: bool) -> int:
    import psutil

    from commanalyzer.report.result.text import make_console
    from commanalyzer.report.scaling.sweep_text import SweepProgress
    from commanalyzer.scaling.sweep.run import run_sweep

    budget = int(where.memory_budget or 0) or int(_SHARE_OF_MEMORY * psutil.virtual_memory().available)
    with SweepProgress(make_console(sys.stderr), quiet=quiet) as progress:
        outcome = run_sweep(
            sweep, engine, watch=progress.show, memory_budget_bytes=budget, retry_failed=where.retry_failed
        )
    return _finish(outcome, quiet)


def _task(sweep: Sweep, index: int) -> int:
    from commanalyzer.scaling.sweep.run import run_task

    record = run_task(sweep, index)
    if record.error is None:
        click.echo(f"{sweep.points[index].label}: finished in {record.wall_s:.1f} s")
        return EXIT_OK
    click.echo(f"{sweep.points[index].label}: {record.error.message}", err=True)
    return EXIT_INCOMPLETE


def _finish(outcome: SweepOutcome, quiet: bool) -> int:
    from commanalyzer.report.result.text import make_console
    from commanalyzer.report.scaling.sweep_text import show_sweep

    show_sweep(outcome, make_console(sys.stdout), quiet=quiet)
    return EXIT_OK if outcome.is_complete else EXIT_INCOMPLETE


def _write_script(sweep: Sweep, system: str, script: Path, where: _Where) -> int:
    from commanalyzer.scaling.sweep.executors import batch_script
    from commanalyzer.scaling.sweep.run import prepare_sweep

    require_writable(script, where.force)
    outcome = prepare_sweep(sweep, retry_failed=where.retry_failed)
    indices = [index for index, record in enumerate(outcome.records) if record is None]
    if not indices:
        raise ConfigError(
            "expected points that are not analysed yet, found none",
            where=str(outcome.directory),
            hint="see the table with --gather; failed points are tried again with --retry-failed",
        )
    text = batch_script(
        system,
        script=script,
        indices=indices,
        tool=(sys.executable, "-m", "commanalyzer"),
        arguments=sweep.command[1:],
        directory=outcome.directory,
        folder=Path.cwd(),
        options=where.batch_options,
    )
    write_text(script, text, force=where.force)
    click.echo(f"wrote {script} ({len(indices)} tasks); submit with: bash {script}")
    return EXIT_OK
