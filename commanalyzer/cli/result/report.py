"""``commanalyzer report``: saved results as one HTML page, and their figures as files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.machine_options import given
from commanalyzer.cli.parameters.output import Outputs, force_option, quiet_option, together
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.machine.machine_file import load_machine

if TYPE_CHECKING:
    from commanalyzer.report.html.page import FurtherChapters

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
@click.option("-o", "--output", type=options.FILE, required=True, help="Page to write (*.html).")
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
@click.option(
    "--laws",
    "laws_file",
    type=options.FILE,
    help="Scaling laws (of fit -o) to show and to project with, on the same machines.",
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
@click.option("--tasks", "tasks_file", type=options.FILE, help="Task graph (of tasks --json) to show.")
@click.option(
    "--training",
    "training_file",
    type=options.FILE,
    help="What a model was trained on (of learn --insight --json) to show.",
)
@click.option(
    "--allocations",
    "allocations_file",
    type=options.FILE,
    help="Allocations (of advise --allocations --json) to show.",
)
@click.option(
    "--figures",
    type=options.FILE,
    help="Directory for all figures as SVG, PDF and PNG, and their numbers as CSV and JSON.",
)
@force_option
@quiet_option("Say nothing.")
@together(further=_Further, out=Outputs)
def command(
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
        throughput=given(throughput, "Flop/s"),
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
