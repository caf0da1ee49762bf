"""Ranges of a trace written out as the rows that hooks would have recorded: one by one, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import CELL, HEAD, ROW_FILL, ROW_RANGE, ROW_UPDATE, ROW_WIDE
from commanalyzer.trace.reader import Trace

_WORD = 1 << 64


@dataclass
class _Row:
    """A row with all its labels; ``origin`` is the row of the trace where it comes first."""

    sink: int
    site: int
    flags: int
    labels: tuple[int, ...]
    origin: int
    count: int


def without_ranges(trace: Trace) -> Trace:
    """The trace with every range replaced by its rows; equal rows are one, where the first of them is."""
    if not np.any(trace.heads["flags"] & ROW_RANGE):
        return trace
    kept: dict[tuple[object, ...], _Row] = {}
    for row in _all_rows(trace):
        is_plain = row.flags & ~ROW_WIDE == 0
        key = (row.site, row.sink, row.labels) if is_plain else (row.origin,)
        found = kept.setdefault(key, row)
        if found is not row:
            found.count += row.count
    return _assembled(trace, list(kept.values()))


def _all_rows(trace: Trace) -> Iterator[_Row]:
    units, at = trace.labels.astype(np.int64), 0
    for origin, (head, cell) in enumerate(zip(trace.heads, trace.cells, strict=True)):
        sink, site, number, flags = (int(head[name]) for name in ("sink", "site", "num_labels", "flags"))
        if flags & ROW_WIDE:
            pairs = units[at : at + 2 * number].reshape(-1, 2)
            labels = tuple((int(low) & 0xFFFFFFFF) | (int(high) % (1 << 32)) << 32 for low, high in pairs)
            at += 2 * number
        else:
            labels = tuple(sink + int(unit) for unit in units[at : at + number])
            at += number
        if flags & ROW_RANGE:
            yield from _rows_of(labels, origin, int(cell["count"]))
        else:
            yield _Row(sink, site, flags, labels, origin, int(cell["count"]))


def _rows_of(content: tuple[int, ...], origin: int, count: int) -> Iterator[_Row]:
    segment = 0
    while segment < len(content):
        rounds, stores = content[segment] % (1 << 48), content[segment] >> 48
        for i in range(rounds):
            at = segment + 1
            for _ in range(stores):
                site, number = content[at] % (1 << 32), content[at] >> 32
                sink = (content[at + 1] + i * content[at + 2]) % _WORD
                first, strides = at + 3, at + 3 + number
                labels = tuple((content[first + k] + i * content[strides + k]) % _WORD for k in range(number))
                yield _Row(sink, site, 0, labels, origin, count)
                at = strides + number
        segment = at


def _assembled(trace: Trace, rows: list[_Row]) -> Trace:
    """Columns of these rows; those that name rows get their new numbers."""
    moved = {row.origin: number for number, row in enumerate(rows) if not _is_of_range(trace, row)}
    heads, cells = np.zeros(len(rows), HEAD), np.zeros(len(rows), CELL)
    units: list[int] = []
    for number, row in enumerate(rows):
        sink = moved[row.sink] if row.flags & ROW_UPDATE else row.sink
        labels = row.labels if row.flags & ROW_FILL else tuple(_renamed(label, moved) for label in row.labels)
        heads[number] = (sink, row.site, len(labels), row.flags | ROW_WIDE)
        cells[number] = (1, row.count)
        for label in labels:
            units += [label & 0xFFFFFFFF, label >> 32]
    groups, listed, runs = trace.groups.copy(), trace.listed.copy(), trace.runs.copy()
    groups["row"] = [moved[int(row)] for row in groups["row"]]
    listed[:] = [_renamed(int(label), moved) for label in listed]
    runs["start"] = [_renamed(int(label), moved) for label in runs["start"]]
    labels32 = np.array(units, np.uint32).view(np.int32)
    return replace(trace, heads=heads, cells=cells, labels=labels32, groups=groups, listed=listed, runs=runs)


def _is_of_range(trace: Trace, row: _Row) -> bool:
    return bool(trace.heads["flags"][row.origin] & ROW_RANGE)


def _renamed(label: int, moved: dict[int, int]) -> int:
    if not label & REGISTER or label & NOTHING == NOTHING:
        return label
    return (label & ~WORD_MASK) | moved[label & WORD_MASK]
