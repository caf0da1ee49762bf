"""``commanalyzer tasks``: kernels, task graph and range mappers of a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import (
    WithProgramArguments,
    interpreted_options,
    interpreted_request,
)
from commanalyzer.cli.parameters.output import check_outputs, force_option, json_option, quiet_option
from commanalyzer.foundation.files import require_writable, write_text

if TYPE_CHECKING:
    from commanalyzer.kernels.tasks.graph import TaskGraph

_FILE = click.Path(path_type=Path)


@click.command(cls=WithProgramArguments)
@click.argument("sources", nargs=-1, required=True, type=_FILE)
@click.option(
    "--nodes", type=options.nodes, default=(2, 4), help="Node counts for which moved bytes are counted: 2,4."
)
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="NAME",
    help="Executions of this function or marked region are the tasks, not kernel loops; repeatable.",
)
@click.option("--celerity", is_flag=True, help="Print accessor declarations for a port to SYCL/Celerity.")
@click.option("--dot", type=_FILE, help="Write the graph with repetitions folded, for Graphviz.")
@click.option("--graphml", type=_FILE, help="Write the whole graph as GraphML.")
@click.option("--picture", type=_FILE, help="Draw the graph with repetitions folded: *.svg, *.pdf or *.png.")
@interpreted_options
@json_option
@force_option
@quiet_option("Only the kernels and their range mappers.")
@click.pass_context
def command(
    ctx: click.Context,
    sources: tuple[Path, ...],
    nodes: tuple[int, ...],
    regions: tuple[str, ...],
    celerity: bool,
    dot: Path | None,
    graphml: Path | None,
    picture: Path | None,
    cc: str,
    cflags: tuple[str, ...],
    stdin: Path | None,
    json_output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Find the kernels of SOURCES, what flows between their executions, and the range mapper of every access.

    A saved result (*.cmz) stands for its sources and arguments. The program is interpreted: use a small
    problem, -- ARGUMENTS. What is said holds for the accesses of that run.
    """
    check_outputs(None, json_output, force)
    for path in filter(None, (dot, graphml, picture)):
        require_writable(path, force)
    request = interpreted_request(ctx, sources, cc, cflags, stdin, regions)
    from commanalyzer.kernels.tasks.celerity import celerity_text
    from commanalyzer.kernels.tasks.document import tasks_json
    from commanalyzer.kernels.tasks.find import find_tasks
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.tasks_text import show_tasks
    from commanalyzer.report.result.text import make_console

    _, module = compile_request(request)
    given = b"" if stdin is None else stdin.read_bytes()
    graph = find_tasks(module, request.arguments, given, nodes=nodes, regions=frozenset(regions))
    document = None if json_output in (None, "-") else Path(str(json_output))
    _write(graph, dot, graphml, picture, document, force)
    if json_output == "-":
        sys.stdout.write(tasks_json(graph))
    elif celerity:
        sys.stdout.write(celerity_text(graph.kernels))
    else:
        show_tasks(graph, make_console(sys.stdout), quiet=quiet)
        for path in () if quiet else filter(None, (dot, graphml, picture, document)):
            click.echo(f"wrote {path}")


def _write(
    graph: TaskGraph,
    dot: Path | None,
    graphml: Path | None,
    picture: Path | None,
    document: Path | None,
    force: bool,
) -> None:
    """Write the files that were asked for."""
    from commanalyzer.kernels.tasks.document import tasks_json
    from commanalyzer.report.kernels.task_files import dot_text, graphml_text, save_tasks

    for path, make in ((dot, dot_text), (graphml, graphml_text), (document, tasks_json)):
        if path is not None:
            write_text(path, make(graph), force=force)
    if picture is not None:
        save_tasks(graph, picture, force=force)
