"""Entry point of the command line; the only place that turns errors into exit codes."""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

import click

from commanalyzer.cli.compilers import WRAPPERS, run_compiler
from commanalyzer.cli.interrupts import raise_at_interrupt
from commanalyzer.foundation.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    EXIT_USER_ERROR,
    CommAnalyzerError,
)
from commanalyzer.foundation.version import tool_version

# heading in --help -> its commands, each with its room and a line of help
_COMMANDS = {
    "A program": {
        "analyze": ("result", "Analyse a program: communication and efficiency bound per node count."),
        "explain": ("result", "Show how the value of one source line came about."),
        "export": ("result", "Write a result in the format of another tool."),
        "features": (
            "kernels",
            "Count the instructions of a program's kernels by kind, for learn and predict.",
        ),
        "matrix": ("result", "Print the communication matrix of a result."),
        "partition": ("result", "Decompose a saved result for other node counts."),
        "patterns": ("kernels", "Find the parallel patterns of a program's loops."),
        "profile": ("profiles", "Measure what a program executes, and what each rank of a division would."),
        "report": ("result", "Write results as one HTML page with figures."),
        "show": ("result", "Print a saved result."),
        "tasks": ("kernels", "Find kernels, what flows between them, and range mappers."),
        "why": ("result", "Say which variables and lines cause the communication."),
    },
    "Machines, sizes and designs": {
        "advise": ("scaling", "Project laws to larger problems and machines: how many nodes to ask for."),
        "bound": ("machine", "Bounds of efficiency and time per node count on a machine."),
        "classify": ("profiles", "Find classes of threads that behave alike in profiles of several runs."),
        "compose": ("kernels", "Predict a parallel system from models of its sequential blocks."),
        "extrapolate": ("profiles", "Extrapolate profiles of small runs to scales that were never run."),
        "fit": ("scaling", "Find scaling laws over node counts and sizes."),
        "learn": ("kernels", "Train a model of speed-up on a table of measured runs."),
        "machine": ("machine", "Measure this machine, show machine files, list the published ones."),
        "measure-block": ("kernels", "Measure a sequential block over a range of sizes, for compose."),
        "model": ("machine", "Compute the efficiency bound from numbers given by hand."),
        "predict": ("kernels", "Predict the speed-up curve of unseen kernels with a trained model."),
        "simulate": ("machine", "Simulate a saved prediction on a cluster (SimGrid)."),
        "sweep": ("scaling", "Analyse a program for many sizes, for scaling laws."),
    },
    "MPI programs, and results beside each other": {
        "compare": ("checking", "Compare a prediction with the counted bytes of an MPI run."),
        "count": ("checking", "Count the bytes that an MPI program sends between its ranks."),
        "diff": ("result", "Compare two results: what got better, what worse."),
    },
}
_ROOM = {name: room for commands in _COMMANDS.values() for name, (room, _) in commands.items()}
_COMPILERS = {
    "cc": "C compiler whose programs can be analysed: make CC=commanalyzer-cc.",
    "c++": "The same for C++; also installed as commanalyzer-cc, commanalyzer-c++.",
    "fc": "The same for Fortran; also installed as commanalyzer-fc.",
}
_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_EPILOG = """\b
Exit codes:
  0    success
  1    an input, option value or file is not usable
  2    wrong usage of the command line
  3    the analysed program failed, timed out or exceeded its memory limit
  4    points of a sweep failed or are not analysed yet; the others are in the table
  5    diff: more bytes than --fail-above allows
  70   internal error of commanalyzer
  130  interrupted
"""


class _LazyGroup(click.Group):
    """Imports a command's module when it is used, so that --help is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_ROOM)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ROOM:
            return None
        module = importlib.import_module(f"commanalyzer.cli.{_ROOM[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        command.name = cmd_name  # the documentation's headings
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] == "validate":
                text = "validate is a benchmark of a checkout now: python -m bench.accuracy"
                raise click.UsageError(text, ctx) from error
            if near := difflib.get_close_matches(args[0], _ROOM):
                raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in _COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])
        with formatter.section("Compilers"):
            formatter.write_dl(list(_COMPILERS.items()))


def _show_include_directory(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        click.echo(
            str(importlib.import_module("commanalyzer.program.frontend.toolchain").include_directory())
        )
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(tool_version(), message="%(prog)s %(version)s")
@click.option(
    "--include-dir",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_include_directory,
    help="Print the directory of commanalyzer.h and exit.",
)
def group() -> None:
    """Communication, efficiency bound and scaling of an MPI port, from sequential code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the arguments behind the program's name; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in WRAPPERS:
        return run_compiler(WRAPPERS[arguments[0]], arguments[1:])
    _open_streams()
    # A batch system ends jobs with SIGTERM, a closed terminal with SIGHUP: end the analysed program too.
    previous = _on_terminate()
    try:
        raise_at_interrupt()
        return _run(arguments)
    except CommAnalyzerError as error:
        return _report(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (| head): nothing to say, and nowhere to say it.
        _silence_stdout()
        return EXIT_OK
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _internal(error)
        _silence_stdout()
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {place}{error.strerror}\n  hint: check free space and quota", err=True)
        return EXIT_USER_ERROR
    except MemoryError:
        click.echo("error: not enough memory\n  hint: analyse a smaller problem or a --region", err=True)
        return EXIT_USER_ERROR
    except Exception as error:  # noqa: BLE001 the one place that may
        return _internal(error)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _run(arguments: list[str]) -> int:
    try:
        status = group.main(args=arguments, prog_name="commanalyzer", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE if isinstance(error, click.UsageError) else EXIT_USER_ERROR
    sys.stdout.flush()
    return status if isinstance(status, int) else EXIT_OK


def _report(error: CommAnalyzerError) -> int:
    click.echo(f"error: {error.text}", err=True)
    return _bug(error) if error.exit_code == EXIT_INTERNAL else error.exit_code


def _internal(error: Exception) -> int:
    click.echo(f"internal error: {type(error).__name__}: {error}", err=True)
    return _bug(error)


def _bug(error: Exception) -> int:
    click.echo("  this is a bug of commanalyzer, please report it", err=True)
    if os.environ.get("COMMANALYZER_DEBUG"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    else:
        click.echo("  hint: COMMANALYZER_DEBUG=1 shows where", err=True)
    return EXIT_INTERNAL


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Open streams that whoever started this process closed: files opened later must not take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
        if number and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names of another alphabet than the stream's


def _on_terminate() -> Mapping[signal.Signals, Callable[[int, FrameType | None], object] | int | None]:
    """Treat what asks this process to end like Ctrl-C; returns what was done before, by signal."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {}
    if threading.current_thread() is threading.main_thread():  # elsewhere, leave signals alone
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            known = signal.getsignal(number)
            if known is not signal.SIG_IGN:  # nohup
                signal.signal(number, interrupt)
                previous[number] = signal.SIG_DFL if known is None else known
    return previous


if __name__ == "__main__":
    raise SystemExit(main())
