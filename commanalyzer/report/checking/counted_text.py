"""A counted MPI run as text: regions, calls, matrix."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.communication.matrix import CallCounts, CountedRun
from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.report.result.matrix_text import matrix_lines
from commanalyzer.result.results import AnalysisResult

_TOP_CALLS = 12


def show_counted(
    result: AnalysisResult, counted: CountedRun, console: Console, *, quiet: bool, every: bool
) -> None:
    """Print what was counted.

    Args:
        result: Result of the count.
        counted: Its counts per call.
        console: Where to.
        quiet: Only the table of regions.
        every: All calls, not only those with the most bytes.
    """
    if not quiet:
        _show_run(result, counted, console)
    console.print(_regions(result))
    if quiet:
        return
    console.print(_calls(counted, every))
    item = result.best(counted.ranks)
    console.print(Text(f"{item.method}:"))
    for line in matrix_lines(item.communication):
        console.print(Text(line), no_wrap=True, overflow="ignore", crop=False)


def _show_run(result: AnalysisResult, counted: CountedRun, console: Console) -> None:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    grid.add_row("counted", Text(shlex.join(result.command)))
    grid.add_row("ranks", str(counted.ranks))
    grid.add_row("MPI", Text(counted.mpi or "unknown"))
    if result.recording.exit_status:
        grid.add_row("exit status", str(result.recording.exit_status))
    console.print(grid)
    console.print()


def _regions(result: AnalysisResult) -> Table:
    table = Table(title="Counted communication between different ranks", title_justify="left")
    table.add_column("part of the run")
    for name in ("bytes", "exactly", "per rank", "messages"):
        table.add_column(name, justify="right")
    for item in result.decompositions:
        traffic = item.communication
        table.add_row(
            Text(f"{item.method} *" if item.best and len(result.decompositions) > 1 else item.method),
            format_bytes(traffic.total_bytes),
            f"{traffic.total_bytes:,}",
            format_bytes(traffic.total_bytes / item.nodes),
            format_count(traffic.total_messages),
        )
    return table


def _calls(counted: CountedRun, every: bool) -> Table:
    shown = counted.calls if every else counted.calls[:_TOP_CALLS]
    more = f", {len(counted.calls) - len(shown)} more with --all" if len(shown) < len(counted.calls) else ""
    table = Table(title=f"Calls; collectives at their least volume{more}", title_justify="left")
    table.add_column("call")
    table.add_column("communicator", overflow="fold")
    with_regions = any(call.region for call in counted.calls)
    if with_regions:
        table.add_column("region", overflow="fold")
    for name in ("root", "calls", "passed by ranks", "charged", "to itself"):
        table.add_column(name, justify="right")
    for call in shown:
        table.add_row(*_cells(call, with_regions))
    return table


def _cells(call: CallCounts, with_regions: bool) -> list[Text]:
    cells = [call.name, call.communicator]
    if with_regions:
        cells.append("/".join(call.region))
    cells += [
        str(call.root) if call.root >= 0 else "",
        format_count(call.operations),
        format_bytes(call.given_bytes),
        format_bytes(call.charged_bytes),
        format_bytes(call.self_bytes) if call.self_bytes else "",
    ]
    return [Text(cell) for cell in cells]
