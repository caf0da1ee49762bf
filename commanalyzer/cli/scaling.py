"""Sizes and node counts: ``sweep``, ``fit``, ``advise``."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
from commanalyzer.cli.parameters.output import Outputs, output_options, quiet_option, together
from commanalyzer.foundation.errors import EXIT_INCOMPLETE, EXIT_OK, ConfigError
from commanalyzer.foundation.files import require_writable, write_text
from commanalyzer.machine.parameters import MachineParameters

if TYPE_CHECKING:
    from commanalyzer.scaling.allocations.advice import AllocationOptions
    from commanalyzer.scaling.laws.data import Observations
    from commanalyzer.scaling.laws.law import Law
    from commanalyzer.scaling.laws.projection import Division
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
@options.file("--points", "points_file", help="CSV file of points instead: names in its first line.")
@click.option(
    "--args", "arguments", type=options.flags, default=(), help='Arguments of the program: "{n} 20".'
)
@options.file(
    "-o", "--output", metavar="DIR", help="Directory for the results; a sweep found there is resumed."
)
@click.option(
    "--jobs", type=click.IntRange(1), help="Points at a time on this machine.  [default: its cores]"
)
@click.option(
    "--memory-budget",
    type=options.size,
    help="Memory of all points at a time: 16GB.  [default: 80% of what is free]",
)
@options.flag("--mpi", help="On the ranks of: mpiexec -n RANKS commanalyzer sweep ...")
@click.option("--dask", default="", metavar="ADDRESS", help="On the workers of this Dask scheduler.")
@options.file("--slurm", metavar="SCRIPT", help="Write a script: an array task per point.")
@options.file("--pbs", metavar="SCRIPT", help="The same for PBS.")
@options.file("--lsf", metavar="SCRIPT", help="The same for LSF.")
@click.option(
    *("--batch-options", "--slurm-options", "batch_options"),
    type=options.flags,
    default=(),
    help='Further directives of the script: "--mem=8G --time=1:00:00".',
)
@click.option("--task", type=click.IntRange(0), hidden=True, help="Analyse one point of a prepared sweep.")
@options.file("--gather", metavar="DIR", help="Only write the table of the points finished in DIR.")
@options.flag("--retry-failed", help="Analyse points again that failed before.")
@options.flag("--force", help="Overwrite an existing script.")
@analysis_options
@quiet_option("Only the table; no progress.")
@together(where=_Where)
@click.pass_context
def sweep_command(
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


FAMILIES = ("polynomial", "lattice", "pmnf", "power")


def _position(text: str) -> tuple[str, int]:
    """``NAME=NUMBER`` of a command-line argument."""
    name, value = options.setting(text)
    if value < 1 or value != int(value):
        raise click.BadParameter(f"expected the number of an argument, 1 for the first, found {text!r}")
    return name, int(value)


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=options.FILE, metavar="DIR|TABLE|RESULT...")
@click.option(
    "--metric",
    "metrics",
    default="",
    help="Columns to fit, separated by commas.  [default: bytes, messages, intensity, work, vcg]",
)
@click.option(
    "--param", "parameters", multiple=True, help="Column that is a parameter; repeatable, all if left out."
)
@click.option(
    "--argument",
    "arguments",
    type=_position,
    multiple=True,
    callback=lambda _context, _option, positions: dict(positions),
    metavar="NAME=K",
    help="For results: the K-th argument of the program is the parameter NAME; repeatable.",
)
@click.option("--model", default="", help="Communication model; the leading one if left out.")
@click.option(
    "--family",
    "families",
    type=click.Choice(FAMILIES),
    multiple=True,
    help="Only this family of formulas; repeatable.",
)
@options.at_option("targets", "Also predict at p=1024,n=6144; repeatable.")
@click.option("--extra-p", "extra_p", default="", metavar="COMMAND", help="Ask Extra-P for a second opinion.")
@options.file("--import", "imported", help="Compare with the models of an .extra-p file.")
@options.file("-o", "--output", help="Save the laws (JSON), for advise and report.")
@options.file("--export", "exported", help="Write the data for Extra-P: .jsonl or .txt.")
@output_options("Only the laws.")
def fit_command(
    inputs: tuple[Path, ...],
    metrics: str,
    families: tuple[str, ...],
    targets: dict[str, float],
    extra_p: str,
    imported: Path | None,
    output: Path | None,
    exported: Path | None,
    out: Outputs,
    **read: options.Raw,
) -> None:
    """Find how bytes, messages, work and more grow with node count p and the program's parameters.

    DIR is the directory of a sweep, TABLE a CSV file, RESULT... are results (*.cmz) of several sizes.
    """
    out.check(output, exported)
    from commanalyzer.report.scaling.laws_text import predictions_content, show_laws
    from commanalyzer.scaling.laws.data import MACHINE_METRICS, read_observations
    from commanalyzer.scaling.laws.document import laws_json, save_laws
    from commanalyzer.scaling.laws.fit import fit_observations
    from commanalyzer.scaling.laws.law import require_whole

    seen = read_observations(inputs, **read)  # options that are called like its arguments
    wanted = tuple(filter(None, metrics.replace(" ", "").split(",")))
    document = fit_observations(seen, inputs, wanted, families)
    hidden = () if metrics else MACHINE_METRICS
    shown = replace(document, laws=tuple(x for x in document.laws if x.metric not in hidden))
    require_whole(shown.laws, targets)
    others = _second_opinions(seen, shown.laws, extra_p, imported)
    if exported is not None:
        _export(seen, shown.laws, exported)
    if output is not None:
        save_laws(document, output, force=out.force)
    out.emit(
        lambda: laws_json(document, **predictions_content(shown.laws, targets)),
        lambda console: show_laws(shown, targets, others, console, quiet=out.quiet),
        saved=(exported, output),
    )


def _second_opinions(
    seen: Observations, laws: Sequence[Law], extra_p: str, imported: Path | None
) -> tuple[Law, ...]:
    """Formulas to compare with: of the command Extra-P, of a file."""
    from commanalyzer.scaling.laws.document import import_models, second_opinion

    found: list[Law] = list(import_models(imported)) if imported is not None else []
    if extra_p:
        for law in laws:  # one run each: metrics may have different parameters
            x, names, y = seen.of(law.metric)
            found += second_opinion(extra_p, x, names, {law.metric: y})
    return tuple(found)


def _export(seen: Observations, laws: Sequence[Law], path: Path) -> None:
    import numpy as np

    from commanalyzer.foundation.errors import ConfigError
    from commanalyzer.result.export.files import write_extrap, write_extrap_text
    from commanalyzer.scaling.laws.document import measurements

    writers = {".jsonl": write_extrap, ".txt": write_extrap_text}
    if path.suffix not in writers:
        raise ConfigError("expected a name that ends in .jsonl or .txt, found another", where=str(path))
    names = [law.metric for law in laws]
    # Extra-P reads no missing values: only points where all metrics are known.
    known = np.all([np.isfinite(seen.metrics[name]) for name in names], axis=0)
    metrics = {name: seen.metrics[name][known] for name in names}
    writers[path.suffix](path, measurements(seen.points[known], seen.parameters, metrics))


@click.command()
@click.argument("source", type=options.FILE, metavar="LAWS|RESULT|HALO")
@click.option(
    "--param", "sizes", type=options.setting, multiple=True, help="Size to run: n=4096; repeatable."
)
@options.with_default(
    "--nodes",
    type=options.nodes,
    metavar="NODES",
    default="..1024",
    help="Node counts to consider: ..1024 (powers of two), 16,24,32 or 8-64:8.",
)
@click.option(
    "--weak", "weak_parameter", default="", metavar="NAME", help="The parameter that weak scaling grows."
)
@options.efficiency_option
@click.option(
    "--division",
    type=click.Choice(["best", "regular"]),
    help="Laws of what a programmer would write (the default where it has laws), or of the best found.",
)
@click.option(
    "--allocations",
    "is_allocations",
    is_flag=True,
    help="All nodes x processes per node, with the time of communication phases. SOURCE may also be a "
    "result (*.cmz) or a halo file (*.toml).",
)
@click.option(
    "--ppn", type=options.nodes, help="Processes per node to consider: 1..16x2; 1 to all cores if left out."
)
@click.option(
    "--steps",
    default="",
    metavar="NAME|NUMBER",
    help="Communication phases of the run: a --param, or a number.",
)
@options.with_default(
    "--model",
    type=click.Choice(["machine", "max-rate"]),
    default="machine",
    help="Time of a phase: the machine's areas (max-rate without any), or the max-rate model.",
)
@options.with_default(
    "--order",
    type=click.Choice(["blocks", "round-robin", "near"]),
    default="blocks",
    help="Ranks on the nodes; near: partners together, of a result (*.cmz).",
)
@click.option("--network", type=options.NETWORK, help="Network with known routes, for models with LT.")
@click.option(
    "--memory-traffic", type=float, default=0.0, metavar="B/FLOP", help="Bytes from memory per operation."
)
@click.option("--memory", type=options.size, help="Memory of the program: 200GB; else as measured.")
@click.option("--least-nodes", type=click.IntRange(1), default=1, help="Fewest nodes of the queue.")
@click.option("--most-nodes", type=click.IntRange(1), help="Most nodes of the queue.")
@click.option("--budget", type=float, help="Core-hours to spend at most.")
@options.flag("--whole-nodes", help="Core-hours count all cores of a node.")
@options.flag("--all", "every", help="Show all configurations, not only the front.")
@click.option("--deadline", type=options.seconds, help="The run must be done by then: 2h, 30min.")
@options.with_default("--cores", type=click.IntRange(1), default=1, help="Cores per node, for core-hours.")
@options.machine_and_latency_options
@click.option("--gap", type=options.latency, help="Least time between two messages of a node: 0.5us.")
@output_options("Only the advice.")
@together(asked="commanalyzer.scaling.allocations.advice:AllocationOptions")
def advise_command(
    source: Path,
    sizes: tuple[tuple[str, float], ...],
    nodes: tuple[int, ...],
    weak_parameter: str,
    efficiency: float,
    division: Division | None,
    deadline: float | None,
    cores: int,
    machine: MachineParameters,
    gap: float | None,
    is_allocations: bool,
    asked: AllocationOptions,
    every: bool,
    out: Outputs,
) -> None:
    """Say how many nodes to ask for, from the LAWS that fit -o has saved.

    With --allocations: how many nodes and processes per node, with predicted times. Else all numbers are
    bounds from communication: no program with this communication is faster. Strong scaling keeps the problem;
    weak scaling grows one parameter so that the work per node stays.
    """
    out.check()
    if not 0.0 < efficiency < 1.0:
        raise click.BadParameter("expected an efficiency between 0 and 1", param_hint="--efficiency")
    run = (machine.updated(gap=options.given("gap", gap)), nodes, dict(sizes))
    if is_allocations:
        from commanalyzer.report.scaling.allocations_text import allocations_json, show_allocations
        from commanalyzer.scaling.allocations.advice import find_allocations

        of = find_allocations(source, *run, asked, efficiency, deadline, division)
        out.emit(lambda: allocations_json(of), lambda console: show_allocations(of, console, every=every))
        return
    from commanalyzer.report.scaling.laws_text import project_laws, projection_json, show_projection
    from commanalyzer.scaling.laws.document import load_laws

    report = project_laws(
        load_laws(source),
        *run,
        weak=weak_parameter,
        division=division,
        efficiency=efficiency,
        deadline_s=deadline,
        cores=cores,
    )
    out.present(report, projection_json, show_projection)
