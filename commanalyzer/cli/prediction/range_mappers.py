"""``commanalyzer machine measure --range-mappers``: the table of overheads rho."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.foundation.files import require_writable

if TYPE_CHECKING:
    from commanalyzer.learning.overheads import OverheadTable

_TIMEOUT_S = 600.0
SIMULATED_NODES = (16,)


def measure_pairs(
    output: Path,
    name: str,
    elements: int,
    repetitions: int,
    topology: str | None,
    nodes: tuple[int, ...],
    base: str,
    force: bool,
    quiet: bool,
) -> None:
    """Measure all pairs of range mappers on the ranks of this job, or on a simulated network.

    Raises:
        ConfigError: If there are too few ranks, nodes or rows.
        CommAnalyzerError: If the machine, MPI or SimGrid is not usable.
    """
    from dataclasses import replace

    from commanalyzer.learning.overheads import save_overheads
    from commanalyzer.report.predictions.learning_text import show_overheads
    from commanalyzer.report.terminal.text import make_console

    table: OverheadTable | None
    if topology is None:
        table = _on_ranks(output, elements, repetitions, name, force, quiet)
    else:
        require_writable(output, force)
        from commanalyzer.learning.range_benchmark import measure_on_platform
        from commanalyzer.machine.catalog import find_machine
        from commanalyzer.simulation.platforms import link_parameters, make_platform

        link = link_parameters(find_machine(base))
        platform = make_platform(topology, max(nodes), link)
        tables = [measure_on_platform(platform, p, elements, link.throughput, _TIMEOUT_S) for p in nodes]
        pairs = tuple(pair for one in tables for pair in one.pairs)
        table = replace(tables[0], machine=f"{name}, {topology}", pairs=pairs)
    if table is None:
        return
    save_overheads(table, output, force=force)
    if not quiet:
        show_overheads(table, make_console(sys.stdout))
    click.echo(f"wrote {output}")


def _on_ranks(
    output: Path, elements: int, repetitions: int, name: str, force: bool, quiet: bool
) -> OverheadTable | None:
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.learning.range_benchmark import measure_on_ranks
    from commanalyzer.machine.measuring.mpi import launcher_rank, world
    from commanalyzer.report.progress import LineProgress

    is_first = launcher_rank() == 0
    if is_first:
        require_writable(output, force)
    progress = SilentProgress() if quiet or not is_first else LineProgress(sys.stderr)
    return measure_on_ranks(world(), elements, repetitions, progress, name)
