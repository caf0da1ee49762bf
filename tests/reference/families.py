"""Families of a trace written out as the rows that hooks would have recorded.

Rows are called by their numbers in the trace, those of families with sums by the numbers behind these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from commanalyzer.recording import abi
from commanalyzer.recording.abi import NOTHING, REGISTER, WORD_MASK
from commanalyzer.recording.trace import Trace
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


def without_families(trace: Trace) -> Trace:
    """The trace with every family replaced by its rows; equal rows are one, where the first is."""
    if not np.any(trace.heads["flags"] & abi.ROW_FAMILY):
        return trace
    rows = list(_all_rows(trace))
    sites = {row.site for row in rows if row.name >= len(trace.heads)}
    kept: dict[tuple[object, ...], _Row] = {}
    names: dict[int, int] = {}  # of rows that are left out: the row that is kept
    for row in rows:
        row.labels = _renamed_all(row, row.labels, names)
        row.groups = tuple(tuple(_renamed_all(row, t, names) for t in terms) for terms in row.groups)
        is_plain = row.flags == 0
        is_defining = row.flags in (abi.ROW_REGISTER, abi.ROW_TEMPORARY) and row.site in sites
        terms = tuple(term for group in row.groups for term in group)
        key = (row.site, row.flags, row.sink, row.labels, terms, row.count == 0)  # not of the region
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
        if flags & abi.ROW_WIDE:
            pairs = units[at : at + 2 * num_labels].reshape(-1, 2)
            labels = tuple((int(low) & 0xFFFFFFFF) | (int(high) % (1 << 32)) << 32 for low, high in pairs)
            at += 2 * num_labels
        elif flags & abi.ROW_COMPACT:
            labels = tuple(expanded(units[at : at + num_labels]).tolist())
            at += num_labels
        else:
            labels = tuple(sink + int(unit) for unit in units[at : at + num_labels])
            at += num_labels
        flags &= ~(abi.ROW_WIDE | abi.ROW_COMPACT)
        if flags & abi.ROW_FAMILY:
            rows = list(_rows_of_family(labels, behind, int(cell["count"])))
            if any(row.flags for row in rows):  # the others have no names
                behind += len(rows)
            yield from rows
        else:
            yield _Row(sink, site, flags, labels, number, int(cell["count"]), tuple(groups.get(number, ())))


def _groups(trace: Trace) -> dict[int, list[_Terms]]:
    """Terms of the groups of each row."""
    found: dict[int, list[_Terms]] = {}
    for group in trace.groups:
        row, first, count, width, is_listed = (int(group[name]) for name in abi.GROUP.names or ())
        if is_listed:
            labels = [int(label) for label in trace.listed[first : first + count * width]]
        else:
            runs = [(int(run["start"]), int(run["stride"])) for run in trace.runs[first : first + width]]
            labels = [(start + i * stride) % _WORD for i in range(count) for start, stride in runs]
        terms = tuple(tuple(labels[k : k + width]) for k in range(0, len(labels), width))
        found.setdefault(row, []).append(terms)
    return found


def _rows_of_family(content: tuple[int, ...], name: int, count: int) -> Iterator[_Row]:
    """The rows of one segment after the other, the first of which is called ``name``, and so on."""
    at = 0
    while at < len(content):
        entries, loops, rounds_at = content[at] >> 48, content[at] % 256, at + 1
        first = rounds_at + loops
        for round_ in product(*(range(rounds) for rounds in content[rounds_at:first])):
            at, results = first, list[int]()

            def read(term: tuple[int, ...] = (), round_: tuple[int, ...] = round_) -> int:
                """The number at this place in this round (and term), moved by the strides behind it."""
                nonlocal at
                turn = *round_, *term
                moved = content[at] + sum(i * content[at + 1 + d] for d, i in enumerate(turn))
                at += 1 + len(turn)
                return moved % _WORD

            for _ in range(entries):
                head, number = content[at], content[at] >> 32 & 255
                at += 1
                if head & abi.FAMILY_SUM:
                    inner = 1 + (head >> 48 & 255)
                    terms = list(product(*(range(rounds) for rounds in content[at : at + inner])))
                    at += inner
                    initial = tuple(read() for _ in range(head >> 40 & 255))
                    labels_at, rows = at, list[tuple[int, ...]]()
                    for term in terms:
                        at = labels_at
                        rows.append(tuple(read(term) for _ in range(number)))
                    groups = (tuple(rows),)
                    yield _Row(0, head % (1 << 32), abi.ROW_REGISTER, initial, name, count, groups)
                    results.append(REGISTER | name)
                else:
                    sink = read()
                    numbers = [read() for _ in range(number)]
                    labels = (results[n] if head >> (40 + k) & 1 else n for k, n in enumerate(numbers))
                    yield _Row(sink, head % (1 << 32), 0, tuple(labels), name, count)
                name += 1


def _assembled(trace: Trace, rows: list[_Row]) -> Trace:
    """Columns of these rows; those that name rows get their new numbers."""
    moved = {row.name: number for number, row in enumerate(rows)}
    heads, cells = np.zeros(len(rows), abi.HEAD), np.zeros(len(rows), abi.CELL)
    units: list[int] = []
    groups: list[tuple[int, int, int, int, int]] = []
    listed: list[int] = []
    for number, row in enumerate(rows):
        sink = moved[row.sink] if row.flags & abi.ROW_UPDATE else row.sink
        labels = _renamed_all(row, row.labels, moved)
        heads[number] = (sink, row.site, len(labels), row.flags | abi.ROW_WIDE)
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
        groups=np.array(groups, abi.GROUP),
        listed=np.array(listed, np.uint64),
    )


def _renamed_all(row: _Row, labels: Sequence[int], names: dict[int, int]) -> tuple[int, ...]:
    return tuple(labels) if row.flags & abi.ROW_FILL else tuple(_renamed(label, names) for label in labels)


def _renamed(label: int, names: dict[int, int]) -> int:
    if not label & REGISTER or label & NOTHING == NOTHING:
        return label
    return (label & ~WORD_MASK) | names.get(label & WORD_MASK, label & WORD_MASK)
