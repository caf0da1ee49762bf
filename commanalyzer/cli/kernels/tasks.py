"""``commanalyzer tasks``: kernels, task graph and range mappers of a program."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, interpreted_options
from commanalyzer.cli.parameters.output import Outputs, output_options
from commanalyzer.foundation.files import write_text
from commanalyzer.request import AnalysisRequest

if TYPE_CHECKING:
    from rich.console import Console


@click.command(cls=WithProgramArguments)
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
@click.option("--dot", type=options.FILE, help="Write the graph with repetitions folded, for Graphviz.")
@click.option("--graphml", type=options.FILE, help="Write the whole graph as GraphML.")
@click.option(
    "--picture", type=options.FILE, help="Draw the graph with repetitions folded: *.svg, *.pdf or *.png."
)
@interpreted_options
@output_options("Only the kernels and their range mappers.")
def command(
    request: AnalysisRequest,
    nodes: tuple[int, ...],
    celerity: bool,
    dot: Path | None,
    graphml: Path | None,
    picture: Path | None,
    out: Outputs,
) -> None:
    """Find the kernels of SOURCES, what flows between their executions, and the range mapper of every access.

    A saved result (*.cmz) stands for its sources and arguments. The program is interpreted: use a small
    problem, -- ARGUMENTS. What is said holds for the accesses of that run.
    """
    out.check(dot, graphml, picture)
    from commanalyzer.kernels.tasks.celerity import celerity_text
    from commanalyzer.kernels.tasks.find import find_tasks
    from commanalyzer.kernels.tasks.graph import tasks_json
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.task_files import dot_text, graphml_text, save_tasks
    from commanalyzer.report.kernels.text import show_tasks

    _, module = compile_request(request)
    given = b"" if request.stdin is None else request.stdin.read_bytes()
    regions = frozenset(request.regions)
    graph = find_tasks(module, request.arguments, given, nodes=nodes, regions=regions)
    for path, make in ((dot, dot_text), (graphml, graphml_text)):
        if path is not None:
            write_text(path, make(graph), force=out.force)
    if picture is not None:
        save_tasks(graph, picture, force=out.force)

    def show(console: Console) -> None:
        if celerity:
            sys.stdout.write(celerity_text(graph.kernels, graph.tasks))
        else:
            show_tasks(graph, console, quiet=out.quiet)

    # Declarations are for a file: no names of files among them.
    saying = replace(out, quiet=out.quiet or celerity)
    saying.emit(lambda: tasks_json(graph), show, (dot, graphml, picture))
