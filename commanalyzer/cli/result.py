"""A program's result: ``analyze``, ``partition``, ``show``, ``matrix``, ``why``, ``diff``, ``export``, ..."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    analysis_options,
    check_option,
    division_options,
    interpreted_options,
    model_options,
    models_of,
    program_arguments,
    request_from,
)
from commanalyzer.cli.parameters.output import (
    Outputs,
    emit,
    force_option,
    output_options,
    quiet_option,
    result_options,
    shown_progress,
    together,
)
from commanalyzer.foundation.errors import EXIT_WORSE, ConfigError
from commanalyzer.foundation.files import require_writable, write_text
from commanalyzer.machine.machine_file import load_machine
from commanalyzer.request import AnalysisRequest, PartitionRequest, ProgramOutput

if TYPE_CHECKING:
    from commanalyzer.report.html.page import FurtherChapters


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=options.FILE)
@analysis_options
@result_options("Save the result (*.cmz).")
@options.flag("-v", "--verbose", help="Show compiler warnings and log messages.")
@together(out=Outputs)
def analyze_command(
    sources: tuple[Path, ...],
    output: Path | None,
    every: bool,
    jobs: int | None,
    out: Outputs,
    verbose: bool,
    **given: options.Raw,
) -> None:
    """Analyse the program made of SOURCES (C, C++, Fortran, .ll, .bc), run with the arguments after --.

    Instead of sources, give the EXECUTABLE that commanalyzer cc, c++ or fc built.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(message)s")
    out.check(output)
    # Our standard output is the document: the program's own must not be mixed into it.
    program_output: ProgramOutput = "stderr" if out.is_document else "inherit"
    request = request_from(sources, program_arguments(), given, program_output)
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import analyze

    with shown_progress(out.quiet) as progress:
        result = analyze(request, progress, jobs or usable_cores())
    emit(result, output, out, every=every)


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--nodes", type=options.nodes, required=True, help="Node counts: 2,4,8-16, 4-64:4, 2..64x2.")
@model_options
@options.with_default("--seed", type=click.IntRange(0, 2**31 - 1), default=1, help="Seed.")
@division_options
@options.machine_options
@check_option
@result_options("Save the new result (*.cmz).")
@together(out=Outputs)
def partition_command(
    result: Path,
    model: str,
    output: Path | None,
    every: bool,
    jobs: int | None,
    out: Outputs,
    **division: options.Raw,
) -> None:
    """Decompose the saved RESULT (*.cmz) for other node counts."""
    out.check(output)
    request = PartitionRequest(models=models_of(model), **division)  # options are called like its fields
    from commanalyzer.division.libraries.concurrency import usable_cores
    from commanalyzer.pipeline import repartition
    from commanalyzer.result.artifacts import load

    loaded = load(result)
    if loaded.counted is not None:
        raise ConfigError("expected a prediction to decompose, found a counted MPI run", where=str(result))
    with shown_progress(out.quiet) as progress:
        changed = repartition(loaded, request, progress, jobs or usable_cores())
    emit(changed, output, out, every=every)


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--nodes", type=options.nodes, help="Node counts to show: 4,16; all if left out.")
@options.flag("--all", "every", help="Show every candidate decomposition.")
@output_options("Only the table.")
def show_command(result: Path, nodes: tuple[int, ...] | None, every: bool, out: Outputs) -> None:
    """Print the saved RESULT (*.cmz)."""
    from commanalyzer.result.artifacts import load

    out.check()
    loaded = load(result)
    emit(loaded if nodes is None else loaded.on(nodes), None, out, every=every)


@click.command()
@click.argument("result", type=options.FILE)
@options.node_count_option
@options.model_option
@click.option("--method", default="", help="Decomposition; the cheapest if left out.")
@options.with_default(
    "--format", "form", type=click.Choice(["text", "csv"]), default="text", help="Output form."
)
@options.flag("--messages", help="Messages instead of bytes (csv).")
def matrix_command(
    result: Path, nodes: int | None, model: str, method: str, form: str, messages: bool
) -> None:
    """Print who sends how many bytes to whom in the saved RESULT."""
    from commanalyzer.result.artifacts import load

    loaded = load(result)
    count = nodes if nodes is not None else max(loaded.nodes, default=1)
    item = loaded.decomposition(count, model, method)
    if form == "csv":
        matrix = item.communication.messages if messages else item.communication.comm_bytes
        for row in matrix.tolist():
            sys.stdout.write(",".join(map(str, row)) + "\n")
    else:
        from commanalyzer.report.result.text import matrix_lines

        for line in (repr(item), *matrix_lines(item.communication, full=True)):
            click.echo(line)


@click.command()
@click.argument("result", type=options.FILE)
@click.argument("pair", type=click.IntRange(0), nargs=-1, metavar="[SENDER RECEIVER]")
@options.node_count_option
@click.option("--method", default="", help="Decomposition; the best if left out.")
@output_options("Only the largest variable and line.")
def why_command(result: Path, pair: tuple[int, ...], nodes: int | None, method: str, out: Outputs) -> None:
    """Say why the nodes of the saved RESULT communicate.

    With SENDER and RECEIVER, what one node sends to another. Bytes of a value that several lines read are
    shared among them, so that the bytes of all lines are those of the matrix.
    """
    if len(pair) not in (0, 2):
        raise click.UsageError("expected two nodes, SENDER and RECEIVER, or none")
    out.check()
    from commanalyzer.report.result.causes_text import causes_json, show_causes
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.causes import causes_of

    found = causes_of(load(result), nodes, (pair[0], pair[1]) if pair else None, method=method)
    out.present(found, causes_json, show_causes)


@click.command(cls=WithProgramArguments)
@click.option("--line", type=click.IntRange(1), help="Source line of the store to explain.")
@options.flag("--loops", help="Instead, list the loops: which repeat without hooks, which do not, why.")
@options.with_default(
    "--occurrence", type=click.IntRange(1), default=1, help="Which execution of the line, from 1."
)
@interpreted_options
def explain_command(request: AnalysisRequest, line: int | None, loops: bool, occurrence: int) -> None:
    """Show how the value stored by a line of SOURCES came about; interpreted, so use a small problem."""
    if (line is None) != loops:
        raise click.UsageError("give either --line or --loops")
    from commanalyzer.pipeline import explain, explain_loops

    if line is None:
        click.echo(explain_loops(request))
    else:
        click.echo(explain(request, line=line, occurrence=occurrence))


@click.command()
@click.argument("before", type=options.FILE)
@click.argument("after", type=options.FILE)
@click.option("--nodes", type=options.nodes, help="Node counts: 4,16; all that both have if left out.")
@options.model_option
@click.option(
    "--method",
    "methods",
    nargs=2,
    default=("", ""),
    metavar="BEFORE AFTER",
    help="Decompositions, the best of each if left out; two of one result: diff R R --method A B.",
)
@click.option(
    "--fail-above",
    "limit",
    type=options.fraction,
    metavar="PERCENT",
    help="End with status 5 if bytes grow by more than this on any node count: 5%.",
)
@output_options("Only the table.")
def diff_command(before: Path, after: Path, limit: float | None, out: Outputs, **given: options.Raw) -> None:
    """Compare two saved results: BEFORE and AFTER a change of program, input or division."""
    out.check()
    from commanalyzer.report.result import difference_text as shown
    from commanalyzer.result.artifacts import load
    from commanalyzer.result.comparison.difference import differences

    text_of = shown.texts_in((Path(), before.parent, after.parent))
    found = differences(load(before), load(after), text_of=text_of, **given)  # options are its arguments
    out.present(found, shown.differences_json, shown.show_differences)
    if found[0].left_out:
        click.echo(found[0].left_out, err=True)
    worst = max(found, key=lambda item: item.comm_bytes.ratio)
    if limit is not None and worst.comm_bytes.ratio > 1 + limit:
        why = shown.worse_text(worst)
        click.echo(f"worse than allowed (--fail-above {100 * limit:g}%): {why}", err=True)
        click.get_current_context().exit(EXIT_WORSE)


FORMATS = (
    *("csv", "dot", "extrap", "graphml", "hatchet", "hmetis"),
    *("json", "matrixmarket", "metis", "partition"),
)


@click.command()
@click.argument("result", type=options.FILE)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@options.file("-o", "--output", required=True, help="File to write.")
@options.node_count_option
@options.model_option
@click.option(
    "--param",
    "parameters",
    type=options.setting,
    multiple=True,
    help="Further parameter of this run for Extra-P, such as n=256; repeatable.",
)
@options.flag("--force", help="Overwrite an existing file.")
def export_command(
    result: Path,
    form: str,
    output: Path,
    nodes: int | None,
    model: str,
    parameters: tuple[tuple[str, float], ...],
    force: bool,
) -> None:
    """Write the saved RESULT (*.cmz) for another tool.

    \b
    csv, matrixmarket           communication matrix of one node count
    dot, graphml                the same as a graph of nodes (Graphviz, networkx)
    hatchet                     bytes per function and source line (GraphFrame.from_literal)
    metis, hmetis               value graph as graph or hypergraph
    partition                   owner of each value, one per line
    extrap                      what a programmer would write over node counts, for Extra-P
    json                        the document commanalyzer.analysis/2
    """  # noqa: D301 the backspace is click's mark for preformatted text
    require_writable(output, force)
    from commanalyzer.report.result.exports import export_result
    from commanalyzer.result.artifacts import load

    export_result(load(result), form, output, nodes=nodes, model=model, parameters=dict(parameters))
    click.echo(f"wrote {output}")


PROJECTED_NODES = tuple(2**k for k in range(11))


@dataclass(frozen=True, slots=True)
class _Further:
    """Files of chapters that are not about a result, and what to project with the laws."""

    laws_file: Path | None
    sizes: tuple[tuple[str, float], ...]
    nodes: tuple[int, ...]
    weak_parameter: str
    tasks_file: Path | None
    training_file: Path | None
    allocations_file: Path | None

    def load(self) -> FurtherChapters:
        """What the files say that were given."""
        from commanalyzer.kernels.tasks.graph import load_tasks
        from commanalyzer.report.html.chapters import LawsRequest, load_training
        from commanalyzer.report.html.page import FurtherChapters
        from commanalyzer.report.scaling.allocations_text import load_allocations
        from commanalyzer.scaling.laws.document import load_laws

        laws = self.laws_file
        return FurtherChapters(
            LawsRequest(load_laws(laws), dict(self.sizes), self.nodes, self.weak_parameter) if laws else None,
            load_tasks(self.tasks_file) if self.tasks_file else None,
            load_training(self.training_file) if self.training_file else None,
            load_allocations(self.allocations_file) if self.allocations_file else None,
        )


@click.command()
@click.argument("results", nargs=-1, required=True, type=options.FILE)
@options.file("-o", "--output", required=True, help="Page to write (*.html).")
@click.option(
    "--machine",
    "machine_names",
    metavar="NAME|FILE",
    multiple=True,
    help="Published machine or machine file (TOML) of the bounds; repeatable. Else that of each result.",
)
@click.option(
    "--throughput",
    type=options.throughput,
    help="Throughput of one node, for machines that do not say it: 3.2GFlop/s. Else that of each result.",
)
@click.option(
    "--source",
    "folders",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    help="Directory to look for source files in, besides the current one and the results'; repeatable.",
)
@options.file(
    "--laws", "laws_file", help="Scaling laws (of fit -o) to show and to project with, on the same machines."
)
@click.option(
    "--param",
    "sizes",
    type=options.setting,
    multiple=True,
    help="Problem of the projection: n=4096; repeatable.",
)
@click.option(
    "--nodes",
    type=options.nodes,
    default=PROJECTED_NODES,
    help="Node counts of the projection; else powers of two to 1024.",
)
@click.option(
    "--weak", "weak_parameter", default="", metavar="NAME", help="The parameter that weak scaling grows."
)
@options.file("--tasks", "tasks_file", help="Task graph (of tasks --json) to show.")
@options.file(
    "--training", "training_file", help="What a model was trained on (of learn --insight --json) to show."
)
@options.file(
    "--allocations", "allocations_file", help="Allocations (of advise --allocations --json) to show."
)
@options.file(
    "--figures", help="Directory for all figures as SVG, PDF and PNG, and their numbers as CSV and JSON."
)
@force_option
@quiet_option("Say nothing.")
@together(further=_Further, out=Outputs)
def report_command(
    results: tuple[Path, ...],
    output: Path,
    machine_names: tuple[str, ...],
    throughput: float | None,
    folders: tuple[Path, ...],
    further: _Further,
    figures: Path | None,
    out: Outputs,
) -> None:
    """Write saved RESULTS (*.cmz, of analyze, partition or count) as one page that needs nothing else."""
    out.check(output)
    if output.resolve() in {path.resolve() for path in results}:
        raise ConfigError("expected another file for the page, found a result", where=str(output))
    from commanalyzer.report.figures.chart import require_folder, require_new, write_figures
    from commanalyzer.report.html.page import NamedResult, make_page, render_page
    from commanalyzer.result.artifacts import load

    named = [NamedResult(path.stem, load(path)) for path in results]
    places = dict.fromkeys([Path(), *folders, *(path.parent for path in results)])
    machines = ((name, load_machine(name)) for name in machine_names)
    page = make_page(
        named,
        machines=[m if m.name else replace(m, name=Path(name).stem) for name, m in machines],
        folders=tuple(places),
        throughput=options.given("throughput", throughput),
        further=further.load(),
    )
    if figures is not None:
        require_folder(figures)
        require_new(page.charts, figures, out.force)
    write_text(output, render_page(page), force=out.force)
    if figures is not None:
        write_figures(page.charts, figures)
    if not out.quiet:
        click.echo(f"wrote {output}")
        if figures is not None:
            click.echo(f"wrote {len(page.charts)} figures to {figures}")
