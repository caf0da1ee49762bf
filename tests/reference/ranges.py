"""Ranges and nests of a trace written out as the rows that hooks would have recorded.

Rows are called by their numbers in the trace, those that nests stand for by the numbers behind these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from commanalyzer.abi import trace_layout as layout
from commanalyzer.abi.hooks import NOTHING, REGISTER, WORD_MASK
from commanalyzer.trace.reader import Trace
from tests.reference.expand import expanded

_WORD = 1 << 64
_Terms = tuple[tuple[int, ...], ...]


@dataclass
class _Row:
    """A row with all its labels, and the terms of its groups; ``name`` is what labels call it."""

    sink: int
    site: int
    flags: int
    labels: tuple[int, ...]
    name: int
    count: int
    groups: tuple[_Terms, ...] = ()


def without_ranges(trace: Trace) -> Trace:
    """The trace with every range and nest replaced by its rows; equal rows are one, where the first is."""
    if not np.any(trace.heads["flags"] & (layout.ROW_RANGE | layout.ROW_NEST)):
        return trace
    rows = list(_all_rows(trace))
    sites = {row.site for row in rows if row.name >= len(trace.heads)}
    kept: dict[tuple[object, ...], _Row] = {}
    names: dict[int, int] = {}  # of rows that are left out: the row that is kept
    for row in rows:
        row.labels = _renamed_all(row, row.labels, names)
        row.groups = tuple(tuple(_renamed_all(row, t, names) for t in terms) for terms in row.groups)
        is_plain = row.flags == 0
        is_defining = row.flags in (layout.ROW_REGISTER, layout.ROW_TEMPORARY) and row.site in sites
        terms = tuple(term for group in row.groups for term in group)
        key = (row.site, row.flags, row.sink, row.labels, terms)
        found = kept.setdefault(key if is_plain or is_defining else (row.name, row.site, row.sink), row)
        if found is not row:
            found.count += row.count
            names[row.name] = found.name
    return _assembled(trace, list(kept.values()))


def _all_rows(trace: Trace) -> Iterator[_Row]:
    units, at, behind = trace.labels.astype(np.int64), 0, len(trace.heads)
    groups = _groups(trace)
    for number, (head, cell) in enumerate(zip(trace.heads, trace.cells, strict=True)):
        sink, site, num_labels, flags = (int(head[name]) for name in ("sink", "site", "num_labels", "flags"))
        if flags & layout.ROW_WIDE:
            pairs = units[at : at + 2 * num_labels].reshape(-1, 2)
            labels = tuple((int(low) & 0xFFFFFFFF) | (int(high) % (1 << 32)) << 32 for low, high in pairs)
            at += 2 * num_labels
        elif flags & layout.ROW_COMPACT:
            labels = tuple(expanded(units[at : at + num_labels]).tolist())
            at += num_labels
        else:
            labels = tuple(sink + int(unit) for unit in units[at : at + num_labels])
            at += num_labels
        flags &= ~(layout.ROW_WIDE | layout.ROW_COMPACT)
        if flags & layout.ROW_RANGE:
            yield from _rows_of_range(labels, number, int(cell["count"]))
        elif flags & layout.ROW_NEST:
            rows = list(_rows_of_nest(labels, behind, int(cell["count"])))
            behind += len(rows)
            yield from rows
        else:
            yield _Row(sink, site, flags, labels, number, int(cell["count"]), tuple(groups.get(number, ())))


def _groups(trace: Trace) -> dict[int, list[_Terms]]:
    """Terms of the groups of each row."""
    found: dict[int, list[_Terms]] = {}
    for group in trace.groups:
        row, first, count, width, is_listed = (int(group[name]) for name in layout.GROUP.names or ())
        if is_listed:
            labels = [int(label) for label in trace.listed[first : first + count * width]]
        else:
            runs = [(int(run["start"]), int(run["stride"])) for run in trace.runs[first : first + width]]
            labels = [(start + i * stride) % _WORD for i in range(count) for start, stride in runs]
        terms = tuple(tuple(labels[k : k + width]) for k in range(0, len(labels), width))
        found.setdefault(row, []).append(terms)
    return found


def _of_round(content: tuple[int, ...], i: int) -> tuple[int, ...]:
    """The content of a round of its outermost loop."""
    head = next(k for k, word in enumerate(content) if word >> 48)
    found, at = list(content[1 : head + 1]), head + 1
    for _ in range(content[head] >> 48):
        number = content[at] >> 32
        outer = at + 3 + 2 * number
        behind = outer + head * (1 + number)
        store = list(content[at:outer])
        for k, stride in zip((1, *range(3, 3 + number)), content[outer : outer + 1 + number], strict=True):
            store[k] = (store[k] + i * stride) % _WORD
        found += [*store, *content[outer + 1 + number : behind]]
        at = behind
    return tuple(found)


def _rows_of_range(content: tuple[int, ...], name: int, count: int) -> Iterator[_Row]:
    if not content[0] >> 48:  # a loop around the rest: written out round by round
        for i in range(content[0]):
            yield from _rows_of_range(_of_round(content, i), name, count)
        return
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
                yield _Row(sink, site, 0, labels, name, count)
                at = strides + number
        segment = at


def _rows_of_nest(content: tuple[int, ...], name: int, count: int) -> Iterator[_Row]:
    loops = content[0] % 256
    for round_ in product(*(range(rounds) for rounds in content[1 : 1 + loops])):
        at, results = 1 + loops, list[int]()

        def read(inner: int | None = None, round_: tuple[int, ...] = round_) -> int:
            """The number at this place in this round (and term), as it moves with the strides behind it."""
            nonlocal at
            strides = at + 1 + (inner is not None)
            moved = content[at] + sum(i * content[strides + d] for d, i in enumerate(round_))
            moved += 0 if inner is None else inner * content[at + 1]
            at = strides + loops
            return moved % _WORD

        for _ in range(content[0] >> 48):
            head, number = content[at], content[at] >> 32 & 255
            at += 1
            if head & layout.NEST_REDUCTION:
                terms = content[at]
                at += 1
                initial = tuple(read() for _ in range(head >> 40 & 255))
                first, columns = at, list[tuple[int, ...]]()
                for k in range(number):
                    column = []
                    for term in range(terms):
                        at = first + k * (2 + loops)
                        column.append(read(term))
                    columns.append(tuple(column))
                yield _Row(
                    0,
                    head % (1 << 32),
                    layout.ROW_REGISTER,
                    initial,
                    name,
                    count,
                    (tuple(zip(*columns, strict=True)),),
                )
                results.append(REGISTER | name)
            else:
                sink, first = read(), at
                labels = []
                for k in range(number):
                    at = first + k * (1 + loops)
                    labels.append(results[content[at]] if head >> (40 + k) & 1 else read())
                at = first + number * (1 + loops)
                yield _Row(sink, head % (1 << 32), 0, tuple(labels), name, count)
            name += 1


def _assembled(trace: Trace, rows: list[_Row]) -> Trace:
    """Columns of these rows; those that name rows get their new numbers."""
    moved = {row.name: number for number, row in enumerate(rows)}
    heads, cells = np.zeros(len(rows), layout.HEAD), np.zeros(len(rows), layout.CELL)
    units: list[int] = []
    groups: list[tuple[int, int, int, int, int]] = []
    listed: list[int] = []
    for number, row in enumerate(rows):
        sink = moved[row.sink] if row.flags & layout.ROW_UPDATE else row.sink
        labels = _renamed_all(row, row.labels, moved)
        heads[number] = (sink, row.site, len(labels), row.flags | layout.ROW_WIDE)
        cells[number] = (1, row.count)
        for label in labels:
            units += [label & 0xFFFFFFFF, label >> 32]
        for terms in row.groups:
            groups.append((number, len(listed), len(terms), len(terms[0]), 1))
            listed += [label for term in terms for label in _renamed_all(row, term, moved)]
    labels32 = np.array(units, np.uint32).view(np.int32)
    return replace(
        trace,
        heads=heads,
        cells=cells,
        labels=labels32,
        groups=np.array(groups, layout.GROUP),
        listed=np.array(listed, np.uint64),
    )


def _renamed_all(row: _Row, labels: Sequence[int], names: dict[int, int]) -> tuple[int, ...]:
    return tuple(labels) if row.flags & layout.ROW_FILL else tuple(_renamed(label, names) for label in labels)


def _renamed(label: int, names: dict[int, int]) -> int:
    if not label & REGISTER or label & NOTHING == NOTHING:
        return label
    return (label & ~WORD_MASK) | names.get(label & WORD_MASK, label & WORD_MASK)
