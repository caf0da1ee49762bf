"""All candidate decompositions as text: one table for each node count and model, the headline first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.division.selection import headline
from commanalyzer.foundation.quantities import format_bytes, format_count, format_percent, format_seconds
from commanalyzer.result.results import Decomposition

_COLUMNS = ("bytes", "messages", "neighbours", "imbalance", "bracket", "found in")
_LEAST_NAME = 16  # columns of an 80-column terminal that are left for the name


def show_candidates(items: Iterable[Decomposition], console: Console) -> None:
    """Print ``items``; narrow enough for 80 columns, where long names are folded."""
    for (nodes, model), group in groupby(items, key=lambda d: (d.nodes, d.model)):
        found = list(group)
        first = headline(found)
        console.print(_table(nodes, model, sorted(found, key=lambda d: (d is not first, d.comm_bytes))))


def _table(nodes: int, model: str, items: list[Decomposition]) -> Table:
    title = (
        f"{nodes} {'node' if nodes == 1 else 'nodes'}, model {model}: {len(items)} candidates, * least found"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("decomposition", min_width=_LEAST_NAME, overflow="fold")
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    with_bound = any(d.efficiency_bound is not None for d in items)
    if with_bound:
        table.add_column("bound", justify="right", no_wrap=True)
    for item in items:
        table.add_row(*_cells(item, with_bound))
    return table


def _cells(item: Decomposition, with_bound: bool) -> Iterator[str | Text]:
    yield Text(f"{item.method} *" if item.best else item.method)
    yield format_bytes(item.communication.total_bytes)
    yield format_count(item.communication.total_messages)
    yield f"{item.neighbours.mean():.1f}/{item.neighbours.max()}"
    yield f"{item.imbalance:.3f}"
    yield _bracket(item)
    yield format_seconds(item.seconds)
    if with_bound:
        yield "" if item.efficiency_bound is None else format_percent(item.efficiency_bound)


def _bracket(item: Decomposition) -> str:
    """How much the upper end of the bracket is above the lower one."""
    low, high = item.communication.low_bytes, item.communication.high_bytes
    if low == high:
        return "exact"
    return f"+{format_percent((high - low) / low)}" if low else f"to {format_bytes(high)}"
