"""What changed between two results, as text for a terminal, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent
from commanalyzer.result.comparison.difference import Change, Difference

SCHEMA = "commanalyzer.difference/1"
_MOST = 8


def show_differences(found: Sequence[Difference], console: Console, *, quiet: bool = False) -> None:
    """Print a table over node counts, and the variables behind the changes of the most nodes."""
    table = Table(title="Before and after", title_justify="left")
    for name in ("nodes", "bytes", "", "change", "messages", "", "bytes/operation", "", "imbalance", ""):
        table.add_column(name, justify="right")
    for item in found:
        moved = (format_bytes(item.comm_bytes.before), format_bytes(item.comm_bytes.after))
        sent = (format_count(int(item.messages.before)), format_count(int(item.messages.after)))
        intensity = [_number(x, ".3g") for x in (item.intensity.before, item.intensity.after)]
        balance = [_number(x, ".3f") for x in (item.imbalance.before, item.imbalance.after)]
        table.add_row(str(item.nodes), *moved, change_text(item.comm_bytes), *sent, *intensity, *balance)
    console.print(table)
    if quiet:
        return
    largest = found[-1]
    before, after = largest.methods
    how = before if before == after else f"{before} before, {after} after"
    console.print(Text(f"On {largest.nodes} nodes: {how}"))
    bounds = largest.efficiency_bound
    if not math.isnan(bounds.before) and not math.isnan(bounds.after):
        console.print(f"Efficiency bound {format_percent(bounds.before)} -> {format_percent(bounds.after)}")
    for variable in largest.variables[:_MOST]:
        amount = variable.comm_bytes
        where = f" in {variable.function}" if variable.function else ""
        where += f" ({variable.place})" if variable.place else ""
        bytes_text = f"{format_bytes(amount.before):>9} -> {format_bytes(amount.after):>9}"
        console.print(Text(f"  {bytes_text}  {change_text(amount):>9}  {variable.name}{where}"))
    if not largest.variables:
        console.print("  no variable sends more or less than before")
    if len(largest.variables) > _MOST:
        console.print(f"  and {len(largest.variables) - _MOST} smaller changes (--json)")


def differences_json(found: Sequence[Difference]) -> str:
    """The document ``commanalyzer.difference/1``."""
    items = [
        {
            "nodes": item.nodes,
            "model": item.model,
            "methods": list(item.methods),
            **{
                name: _pair(getattr(item, name))
                for name in (
                    *("comm_bytes", "messages", "intensity", "imbalance"),
                    *("lower_bound_bytes", "efficiency_bound"),
                )
            },
            "variables": [
                {"name": v.name, "function": v.function, "place": v.place, "comm_bytes": _pair(v.comm_bytes)}
                for v in item.variables
            ],
            "left_out": item.left_out,
        }
        for item in found
    ]
    return json.dumps({"schema": SCHEMA, "differences": items}, indent=1) + "\n"


def change_text(change: Change) -> str:
    """``+12.5 %``, or ``4.0 times`` and ``1/4.0`` where it is more than twice or less than half."""
    ratio = change.ratio
    if change.before == change.after:
        return "same"
    if math.isinf(ratio):
        return "new"
    if ratio == 0:
        return "gone"
    if 0.5 <= ratio <= 2:
        return f"{100 * (ratio - 1):+.1f} %"
    return f"{ratio:.1f} times" if ratio > 1 else f"1/{1 / ratio:.1f}"


def _pair(change: Change) -> list[float | None]:
    return [x if math.isfinite(x) else None for x in (change.before, change.after)]


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"
