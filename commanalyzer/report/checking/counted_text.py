"""A counted MPI run as text: regions, calls, matrix."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.communication.matrix import CallCounts, CountedRun
from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.report.result.matrix_text import matrix_lines
from commanalyzer.report.tables import Field, numeric, terminal_table, worded
from commanalyzer.result.results import AnalysisResult, Decomposition

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


PARTS: tuple[Field[Decomposition], ...] = (
    worded("part of the run", lambda d: d.method),
    numeric("bytes", lambda d: format_bytes(d.comm_bytes)),
    numeric("exactly", lambda d: f"{d.comm_bytes:,}"),
    numeric("per rank", lambda d: format_bytes(d.comm_bytes / d.nodes)),
    numeric("messages", lambda d: format_count(d.communication.total_messages)),
)
PARTS_TITLE = "Counted communication between different ranks"
CALLS: tuple[Field[CallCounts], ...] = (
    worded("call", lambda call: call.name),
    worded("communicator", lambda call: call.communicator, overflow="fold"),
    worded("region", lambda call: "/".join(call.region), overflow="fold"),
    numeric("root", lambda call: str(call.root) if call.root >= 0 else ""),
    numeric("calls", lambda call: format_count(call.operations)),
    numeric(
        "passed by ranks",
        lambda call: format_bytes(call.given_bytes),
        "count times datatype size, summed over ranks",
    ),
    numeric(
        "charged",
        lambda call: format_bytes(call.charged_bytes),
        "bytes between different ranks; collectives at their least volume",
    ),
    numeric(
        "to itself",
        lambda call: format_bytes(call.self_bytes) if call.self_bytes else "",
        "bytes that ranks send to themselves, in no matrix",
    ),
)


def _regions(result: AnalysisResult) -> Table:
    best = [d for d in result.decompositions if d.best and len(result.decompositions) > 1]
    part: Field[Decomposition] = worded(
        "part of the run", lambda d: f"{d.method} *" if d in best else d.method
    )
    return terminal_table(result.decompositions, (part, *PARTS[1:]), PARTS_TITLE)


def _calls(counted: CountedRun, every: bool) -> Table:
    shown = counted.calls if every else counted.calls[:_TOP_CALLS]
    more = f", {len(counted.calls) - len(shown)} more with --all" if len(shown) < len(counted.calls) else ""
    with_regions = any(call.region for call in counted.calls)
    fields = [field for field in CALLS if with_regions or field.name != "region"]
    return terminal_table(shown, fields, f"Calls; collectives at their least volume{more}")
