"""Counted and measured runs beside predictions, as text and as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.report.machine import machine_line
from commanalyzer.report.result.json_document import picked
from commanalyzer.report.result.text import entry_lines, object_lines
from commanalyzer.report.tables import Field, numeric, print_lines, terminal_table, worded
from commanalyzer.result.artifacts import Json
from commanalyzer.result.comparison.compare import Comparison, MeasuredPoint, MeasuredRuns, accuracy, ratio
from commanalyzer.result.results import Decomposition


def _show_measured(runs: MeasuredRuns, console: Console) -> None:
    console.print()
    console.print(terminal_table(runs.points, _MEASURED, "Measured times and the best possible"))
    console.print(Text(f"bounds for {machine_line(runs.machine)}"))
    for remark in runs.remarks:
        console.print(Text(f"warning: {remark}", style="yellow"))


def _gap(point: MeasuredPoint) -> str:
    excess, other = point.traffic_excess_s, point.other_excess_s
    traffic = "not counted" if excess is None else format_seconds(excess)
    sign = "-" if other < 0 else ""
    return f"{traffic}, {sign}{format_seconds(abs(other))}" if point.num_nodes > 1 else ""


_MEASURED: tuple[Field[MeasuredPoint], ...] = (
    numeric("nodes", lambda p: str(p.num_nodes)),
    numeric("time", lambda p: format_seconds(p.time_s)),
    numeric("least time", lambda p: format_seconds(p.bound.time_s)),
    numeric("efficiency", lambda p: format_percent(p.efficiency)),
    numeric("with latency", lambda p: format_percent(p.bound.efficiency)),
    numeric("bound (Eq. 4)", lambda p: format_percent(p.bound.paper_efficiency)),
    numeric("reached", lambda p: format_percent(p.reached)),
    numeric("gap: extra traffic, other", _gap),
    worded("binds", lambda p: p.bound.times.binds),
)


def _measured_document(runs: MeasuredRuns) -> Json:
    """Entries per node count: seconds and fractions."""
    return [
        {
            "nodes": point.num_nodes,
            **picked(point, "time_s serial_s efficiency"),
            "bound_time_s": point.bound.time_s,
            "bound_efficiency": point.bound.efficiency,
            "eq4_efficiency": point.bound.paper_efficiency,
            **picked(point, "reached traffic_excess_s other_excess_s"),
            **picked(point.bound.times, "binds limit"),
        }
        for point in runs.points
    ]


SCHEMA = "commanalyzer.comparison/1"
_MAX_PRINTED = 16
_TOP_PAIRS = 8


def show_comparison(comparison: Comparison, console: Console, *, quiet: bool = False) -> None:
    """Print ``comparison``; only the totals with ``quiet``."""
    console.print(_totals(comparison))
    if not quiet:
        if len(comparison.candidates) > 1:
            console.print(_candidates(comparison))
        print_lines(console, _matrix_lines(comparison), is_wide=True)
        print_lines(console, object_lines(comparison.predicted, comparison.prediction.store.objects))
    console.print(Text(comparison.verdict))
    if comparison.measured is not None:
        _show_measured(comparison.measured, console)


def _totals(comparison: Comparison) -> Table:
    predicted, counted = comparison.predicted, comparison.counted
    table = Table(title=f"{predicted.nodes} nodes: predicted and counted communication", title_justify="left")
    table.add_column("")
    for name in (f"predicted ({predicted.model}, {predicted.method})", f"counted ({counted.method})"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("ratio", justify="right")
    table.add_column("accuracy", justify="right")
    rows = (
        ("bytes", predicted.comm_bytes, counted.comm_bytes),
        ("messages", predicted.communication.total_messages, counted.communication.total_messages),
    )
    for name, left, right in rows:
        table.add_row(name, f"{left:,}", f"{right:,}", *_quality(left, right))
    work = comparison.prediction.work.amount
    intensities = [f"{d.comm_bytes / work:.4g}" if work else "no work" for d in (predicted, counted)]
    table.add_row(f"bytes/{comparison.prediction.work.unit}", *intensities, "", "")
    return table


def _quality(predicted: int, counted: int) -> tuple[str, str]:
    share, exactness = ratio(predicted, counted), accuracy(predicted, counted)
    return ("" if share is None else f"{share:.4g}", "" if exactness is None else format_percent(exactness))


def _candidates(comparison: Comparison) -> Table:
    counted = comparison.counted.comm_bytes
    fields: tuple[Field[Decomposition], ...] = (
        worded("model", lambda d: d.model),
        worded("decomposition", lambda d: d.method),
        numeric("bytes", lambda d: f"{d.comm_bytes:,}"),
        numeric("ratio", lambda d: _quality(d.comm_bytes, counted)[0]),
        numeric("accuracy", lambda d: _quality(d.comm_bytes, counted)[1]),
    )
    return terminal_table(comparison.candidates, fields, "All predicted decompositions")


def _matrix_lines(comparison: Comparison) -> list[str]:
    found = comparison.relabelling
    how = "best of all numberings" if found.is_exact else "best numbering found"
    lines = [
        f"Agreement of the matrices per pair of ranks: {format_percent(found.agreement)} ({how} of parts)"
    ]
    if len(found.order) <= _MAX_PRINTED:
        lines.append("  parts that play ranks 0, 1, ...: " + " ".join(map(str, found.order.tolist())))
        lines += _entries(comparison)
    pairs = comparison.largest_differences(_TOP_PAIRS)
    if pairs:
        lines.append("Pairs of ranks that differ most (predicted, counted):")
    for source, target, predicted, counted in pairs:
        amounts = f"{format_bytes(predicted):>9} {format_bytes(counted):>9}"
        lines.append(f"  {source:>4} -> {target:<4} {amounts}  {predicted - counted:+,} B")
    return lines


def _entries(comparison: Comparison) -> list[str]:
    """Predicted/counted entries of the whole matrix, in bytes."""
    both = zip(
        comparison.predicted_bytes.tolist(), comparison.counted.communication.comm_bytes.tolist(), strict=True
    )
    cells = [[_cell(a, b) for a, b in zip(left, right, strict=True)] for left, right in both]
    return ["Sent from rank (row) to rank (column), predicted/counted bytes:", *entry_lines(cells)]


def _cell(predicted: int, counted: int) -> str:
    return f"{format_count(predicted)}/{format_count(counted)}" if predicted or counted else "."


def comparison_document(comparison: Comparison) -> dict[str, Json]:
    """Contract document of ``comparison``; bytes, messages, fractions; matrices in the order of ranks."""
    predicted, counted = comparison.predicted, comparison.counted
    objects = zip(comparison.prediction.store.objects, predicted.object_bytes.tolist(), strict=False)
    work = comparison.prediction.work.amount
    return {
        "schema": SCHEMA,
        "nodes": predicted.nodes,
        "predicted": {
            **picked(predicted, "model method comm_bytes"),
            "messages": predicted.communication.total_messages,
            "intensity": predicted.comm_bytes / work if work else None,
            "comm_matrix": comparison.predicted_bytes.tolist(),
        },
        "counted": {
            "part_of_run": counted.method,
            "comm_bytes": counted.comm_bytes,
            "messages": counted.communication.total_messages,
            "intensity": counted.comm_bytes / work if work else None,
            "comm_matrix": counted.communication.comm_bytes.tolist(),
        },
        **picked(comparison, "ratio accuracy verdict is_worse"),
        "excess_bytes": list(comparison.excess(predicted)),
        "excess_bytes_over_least": list(comparison.excess(comparison.least)),
        "agreement": comparison.relabelling.agreement,
        "agreement_is_exact": comparison.relabelling.is_exact,
        "part_of_rank": comparison.relabelling.order.tolist(),
        "candidates": [
            {
                **picked(item, "model method comm_bytes"),
                "accuracy": accuracy(item.comm_bytes, counted.comm_bytes),
            }
            for item in comparison.candidates
        ],
        "objects": [
            {**picked(home, "name function file line"), "bytes": amount} for home, amount in objects if amount
        ],
    }


def comparison_text(comparison: Comparison) -> str:
    """The document as JSON text, newline at the end; with measured times if there are any."""
    document = comparison_document(comparison)
    if comparison.measured is not None:
        document["measured"] = _measured_document(comparison.measured)
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
