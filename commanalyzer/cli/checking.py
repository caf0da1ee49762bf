"""Predictions beside MPI programs: ``compare``, ``count``, ``validate``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import (
    Outputs,
    emit,
    force_option,
    output_options,
    quiet_option,
    shown_progress,
    together,
)
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from commanalyzer.checking.validation.document import Document
    from commanalyzer.checking.validation.run import CaseSelection


@click.command()
@click.argument("predicted", type=options.FILE)
@click.argument("counted", type=options.FILE)
@options.model_option
@click.option("--method", default="", help="Predicted decomposition; the cheapest if left out.")
@click.option("--region", default="", metavar="NAME", help="Marked region of the counted run.")
@click.option(
    "--times",
    metavar="P=SECONDS,...|FILE",
    help="Measured times of the MPI program: 1=10.2s,4=2.8s, or a file with lines nodes,seconds.",
)
@options.machine_and_latency_options
@output_options("Only the totals.")
def compare_command(predicted: Path, counted: Path, out: Outputs, **given: options.Raw) -> None:
    """Compare the result PREDICTED (analyze -o) with the result COUNTED (count -o) of an MPI run.

    Accuracy is 1 - |predicted - counted| / counted. Parts of a prediction have no natural numbers: the
    matrices are compared under the numbering that agrees best.

    With --times, measured times are set against the bounds of the machine (see: commanalyzer bound).
    """
    out.check()
    from commanalyzer.report.checking import comparison_text, show_comparison
    from commanalyzer.result.artifacts import load

    found = load(predicted).compare(load(counted), **given)  # options are its arguments
    out.present(found, comparison_text, show_comparison)


class _WithCommand(WithProgramArguments):
    usage = "[OPTIONS] -- mpiexec -n RANKS PROGRAM [ARGUMENTS...]"


@click.command(cls=_WithCommand)
@options.file("-o", "--output", help="Save the result (*.cmz).")
@click.option(
    "--region", default="", metavar="NAME", help="Mark or function that the result's matrix covers."
)
@click.option("--mpicc", default="", help="Compiler wrapper of the program's MPI, if not beside mpiexec.")
@click.option("--timeout", "timeout_s", type=options.seconds, help="Limit of the run: 60, 10min.")
@options.file("--profile", help="Save the ranks' communication (*.pisa).")
@options.flag("--all", "every", help="Show every kind of call.")
@output_options("Only the table of regions.")
def count_command(
    output: Path | None, profile: Path | None, every: bool, out: Outputs, **raw: options.Raw
) -> None:
    """Count the bytes and messages that an MPI program's ranks send to each other.

    The command after -- is run once, unchanged, with a counting library in every rank. Collectives are
    charged with the least volume that an implementation needs.
    """
    out.check(output, profile)
    from commanalyzer.checking.counting.launch import CountRequest, count

    command = program_arguments()
    request = CountRequest(command, output_to_stderr=out.is_document, **raw)  # options are its fields
    result = count(request)
    emit(result, output, out, every=every)
    if profile is not None:
        from commanalyzer.profiles.document import write_profile
        from commanalyzer.profiles.ranks import counted_profile

        write_profile(counted_profile(result, {}), profile, force=out.force)


_CASES = Path("workloads/validation.toml")
_MARKDOWN, _HTML = "ACCURACY.md", "accuracy.html"
_WIDE = 200  # characters of a table when nobody's terminal says otherwise


def _names(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(",")))) if isinstance(text, str) else text


@click.command()
@click.option(
    "--workloads", type=_names, default="", metavar="NAMES", help="Workloads: heat2d,cg.  [default: all]"
)
@click.option("--nodes", type=options.nodes, default=(), help="Numbers of processes: 4,8.  [default: all]")
@options.flag("--quick", help="Only the smallest size of each workload, on 4 or 8 processes.")
@options.with_default("--jobs", type=click.IntRange(1), default=1, help="Cases to run side by side.")
@options.flag("--ablation", help="Leave out one rule of the analysis after the other as well.")
@options.with_default("--cases", type=options.FILE, default=_CASES, help="File that describes the cases.")
@options.file("-o", "--output", help=f"Directory for {_MARKDOWN} and {_HTML}, or one file (*.md, *.html).")
@force_option
@quiet_option("Only the tables; no progress.")
@together(selection="commanalyzer.checking.validation.run:CaseSelection")
def validate_command(
    jobs: int,
    ablation: bool,
    cases: Path,
    output: Path | None,
    force: bool,
    quiet: bool,
    selection: CaseSelection,
) -> None:
    """Compare predictions with the counted bytes of the workloads' MPI counterparts.

    Run in a checkout: builds the MPI programs, counts their main loops, analyses the sequential programs,
    and shows counted and predicted bytes, their ratio and the accuracy. All cases take an hour
    or more, --quick some minutes.
    """
    files = _outputs(output)
    for path in files:
        require_writable(path, force)
    from commanalyzer.report.checking import html_text, markdown_text, show_document
    from commanalyzer.report.result.text import make_console

    words = _command(selection, ablation, cases)
    document = _document(cases, selection, ablation, words, quiet, jobs)
    console = make_console(sys.stdout)
    if not console.is_terminal:
        console.width = _WIDE
    show_document(document, console, quiet=quiet)
    for path in files:
        text = markdown_text(document) if path.suffix == ".md" else html_text(document)
        write_text(path, text, force=force)
        if not quiet:
            click.echo(f"wrote {path}")


def _outputs(output: Path | None) -> tuple[Path, ...]:
    if output is None:
        return ()
    if output.is_dir():
        return (output / _MARKDOWN, output / _HTML)
    if output.suffix not in (".md", ".html", ".htm"):
        raise ConfigError("expected an existing directory, *.md or *.html", where=f"-o {output}")
    return (output,)


def _command(selection: CaseSelection, ablation: bool, cases: Path) -> str:
    words = ["commanalyzer", "validate"]
    words += ["--workloads", ",".join(selection.workloads)] if selection.workloads else []
    words += ["--nodes", ",".join(map(str, selection.nodes))] if selection.nodes else []
    words += ["--quick"] if selection.quick else []
    words += ["--ablation"] if ablation else []
    words += ["--cases", str(cases)] if cases != _CASES else []
    return shlex.join(words)


def _document(
    cases: Path, selection: CaseSelection, ablation: bool, words: str, quiet: bool, jobs: int
) -> Document:
    from commanalyzer.checking.validation.cases import read_cases
    from commanalyzer.checking.validation.document import validation_document
    from commanalyzer.checking.validation.run import ablate, selected, validate, versions

    found = read_cases(cases)
    selected(found, selection)

    with shown_progress(quiet) as progress:
        rows = list(validate(found, selection, progress, jobs))
        smallest = replace(selection, quick=True)
        left_out = list(ablate(found, smallest, progress, jobs)) if ablation else []
        return validation_document(rows, left_out, words, versions())
