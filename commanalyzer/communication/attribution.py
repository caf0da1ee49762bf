"""Source lines that cause communication: charges of a decomposition -> bytes per line.

A value that several lines read on one node is sent there once: its bytes are shared evenly among these lines,
so that the bytes of all lines together are those of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.messages.transfers import pairs
from commanalyzer.communication.totals import totals_of
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64, LoopPlace, ValueGraph, sink_of_source


@dataclass(frozen=True, slots=True)
class LineTraffic:
    """Communication of one source line."""

    file: str  # empty for values that no line makes (inputs)
    line: int  # 0 when unknown
    functions: tuple[str, ...]  # that contain the line (inlined copies count as one), sorted
    needed_bytes: float  # that other nodes send because this line reads them, or combines them there
    made_bytes: float  # of values made by this line that are sent to other nodes
    advice: tuple[str, ...] = ()  # what would help, as far as it is known; a loop's


def traffic_of_lines(
    graph: ValueGraph, part: Int32, charges: Charges, *, by_loop: bool = False
) -> tuple[LineTraffic, ...]:
    """Return all lines that cause communication of values owned by ``part``, those that need most first.

    With ``by_loop``, the lines where loops begin stand for all that is in these; what is in none has no line.
    """
    named = [s.loop if by_loop else LoopPlace(s.function, s.file, s.line) for s in graph.sites]
    functions: dict[tuple[str, int], set[str]] = {}
    for where in named:
        functions.setdefault((where.file, where.line), set()).add(where.function)
    numbers = {place: number for number, place in enumerate(functions)}
    of_site = np.array([numbers[n.file, n.line] for n in named] or [0], dtype=np.int64)
    count = len(functions) + 1  # the last: no line
    site = totals_of(graph).site
    made, maker = np.zeros(count), np.where(site >= 0, of_site[site], count - 1)
    for item in (charges.expand, charges.fold):
        np.add.at(made, maker[item.value], item.item_bytes)
    needed = _needed(graph, part, charges, of_site, maker, count)
    found = [
        LineTraffic(*place, tuple(sorted(functions.get(place, ()))), float(needed[k]), float(made[k]))
        for k, place in enumerate([*functions, ("", 0)])
        if needed[k] or made[k]
    ]
    return tuple(sorted(found, key=lambda t: (-t.needed_bytes, -t.made_bytes, t.file, t.line)))


def _needed(
    graph: ValueGraph, part: Int32, charges: Charges, of_site: Int64, maker: Int64, count: int
) -> Float64:
    """Return float64[count], bytes of the transfers because of each line; ``maker`` is int64[V]."""
    p = charges.num_parts
    source, sink = graph.rows.source.astype(np.int64), sink_of_source(graph.rows).astype(np.int64)
    line = of_site[graph.rows.row_site[graph.rows.row_of_source()]]
    expand, fold = charges.expand, charges.fold
    total = np.zeros(count)
    arriving = pairs(expand.value, expand.receiver, p)
    combined, contributed = pairs(fold.value, fold.sender, p), pairs(sink, part[source], p)
    is_read = ~np.isin(contributed, combined)
    entry = pairs(source, part[sink], p)[is_read]
    open_value = _share(total, arriving, expand.item_bytes, entry, line[is_read])
    # Operands that travel to where a term is combined have no reader there: all readers stand for it.
    rest = np.flatnonzero(open_value)
    _share(total, expand.value[rest].astype(np.int64), expand.item_bytes[rest], source, line)
    open_sum = _share(total, combined, fold.item_bytes, contributed, line)
    np.add.at(total, maker[fold.value[open_sum]], fold.item_bytes[open_sum])  # terms made of constants
    return total


def _share(total: Float64, transfer: Int64, size_bytes: Int64, entry: Int64, line: Int64) -> Bool:
    """Add to each line its part of the transfers, float64[count]; return bool[K], transfers without a flow.

    ``transfer`` and ``size_bytes`` are int64[K], key and bytes of each; equal keys share their flows.
    ``entry`` and ``line`` are int64[S], key of the transfer that a flow would need, and its line.
    """
    keys, inverse = np.unique(transfer, return_inverse=True)
    if not len(keys):
        return np.zeros(0, dtype=np.bool_)
    amount = np.bincount(inverse, size_bytes, len(keys))
    at = np.minimum(np.searchsorted(keys, entry), len(keys) - 1)
    hit = keys[at] == entry
    reached, reader = np.divmod(np.unique(at[hit] * len(total) + line[hit]), len(total))
    readers = np.bincount(reached, minlength=len(keys))
    np.add.at(total, reader, amount[reached] / readers[reached])
    return np.asarray((readers == 0)[inverse])
