"""Rows of a trace as Python objects with all their labels, families written out as hooks would have recorded.

Rows are called by their numbers in the trace, those of families with sums by the numbers behind these.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from commanalyzer.recording import abi
from commanalyzer.recording.abi import NOTHING, REGISTER, WORD_MASK
from commanalyzer.recording.trace import Trace

_WORD = 1 << 64
Labels = tuple[int, ...]


@dataclass
class Row:
    """A row with its plain labels, and the labels of each term of its sums; ``name`` is what labels call it.

    ``flags`` are without those that say how labels are written. Of an update, ``sink`` is the name of a row.
    """

    sink: int
    site: int
    flags: int
    labels: Labels
    name: int
    packed_count: int
    terms: tuple[Labels, ...] = ()

    @property
    def count(self) -> int:
        """How often it happened in the region."""
        return self.packed_count % (1 << 40)

    @property
    def outside(self) -> int:
        """How often it happened between executions of the region."""
        return self.packed_count >> 40

    @property
    def sources(self) -> Labels:
        """Labels of what it was computed from; that of a fill is the number of words that it covers."""
        return () if self.flags & abi.ROW_FILL else (*self.labels, *chain.from_iterable(self.terms))

    def renamed(self, names: dict[int, int]) -> None:
        """Let labels of named values be those of other rows."""
        if not self.flags & abi.ROW_FILL:
            self.labels = tuple(_renamed(label, names) for label in self.labels)
            self.terms = tuple(tuple(_renamed(label, names) for label in term) for term in self.terms)


def _renamed(label: int, names: dict[int, int]) -> int:
    if not label & REGISTER or label & NOTHING == NOTHING:
        return label
    return (label & ~WORD_MASK) | names.get(label & WORD_MASK, label & WORD_MASK)


def rows_of_trace(trace: Trace) -> list[Row]:
    """All rows in the order of their first occurrence, of rows that families repeat the first only."""
    rows = list(_all_rows(trace))
    if not np.any(trace.heads["flags"] & abi.ROW_FAMILY):
        return rows  # hooks find what they recorded again
    sites = {row.site for row in rows if row.name >= len(trace.heads)}
    kept: dict[tuple[object, ...], Row] = {}
    names: dict[int, int] = {}  # of rows that are left out: the row that is kept
    for row in rows:
        row.renamed(names)
        is_plain = row.flags == 0
        is_defining = row.flags in (abi.ROW_REGISTER, abi.ROW_TEMPORARY) and row.site in sites
        key = (row.site, row.flags, row.sink, row.labels, row.terms, row.packed_count == 0)  # of no region
        found = kept.setdefault(key if is_plain or is_defining else (row.name, row.site, row.sink), row)
        if found is not row:
            found.packed_count += row.packed_count
            names[row.name] = found.name
    return list(kept.values())


def _all_rows(trace: Trace) -> Iterator[Row]:
    units, at, behind, terms = trace.labels.tolist(), 0, len(trace.heads), _terms(trace)
    for number, (head, (_, count)) in enumerate(zip(trace.heads.tolist(), trace.cells.tolist(), strict=True)):
        sink, site, num_labels, flags = head
        end = at + num_labels * (2 if flags & abi.ROW_WIDE else 1)
        own, at = units[at:end], end
        if flags & abi.ROW_WIDE:
            pairs = zip(own[::2], own[1::2], strict=True)
            labels = tuple(low % (1 << 32) | high % (1 << 32) << 32 for low, high in pairs)
        elif flags & abi.ROW_COMPACT:
            labels = tuple(map(_expanded, own))
        else:
            labels = tuple(sink + unit for unit in own)
        if flags & abi.ROW_FAMILY:
            rows = list(_rows_of_family(labels, behind, count))
            if any(row.flags for row in rows):  # the others have no names
                behind += len(rows)
            yield from rows
        else:
            flags &= ~(abi.ROW_WIDE | abi.ROW_COMPACT)
            yield Row(sink, site, flags, labels, number, count, tuple(terms.get(number, ())))


def _expanded(unit: int) -> int:
    """Label that the unit of a compact row stands for."""
    value, roles = unit & ((1 << abi.COMPACT_BITS) - 1), unit >> abi.COMPACT_BITS & 3
    return value + (abi.REGISTER if unit >> 31 & 1 else abi.COMPACT_FIRST) + roles * abi.CONTROL


def _terms(trace: Trace) -> dict[int, list[Labels]]:
    """Labels of the terms of each row."""
    found: dict[int, list[Labels]] = {}
    listed, runs = trace.listed.tolist(), trace.runs.tolist()
    for row, first, count, width, is_listed in trace.groups.tolist():
        if is_listed:
            places = range(first, first + count * width, width)
            terms = [tuple(listed[place : place + width]) for place in places]
        else:
            own = runs[first : first + width]
            terms = [tuple((start + i * stride) % _WORD for start, stride in own) for i in range(count)]
        found.setdefault(row, []).extend(terms)
    return found


def _rows_of_family(content: Labels, name: int, count: int) -> Iterator[Row]:
    """The rows of one segment after the other, the first of which is called ``name``, and so on."""
    at = 0
    while at < len(content):
        entries, loops, rounds_at = content[at] >> 48, content[at] % 256, at + 1
        first = rounds_at + loops
        for round_ in product(*(range(rounds) for rounds in content[rounds_at:first])):
            at, results = first, list[int]()

            def read(term: Labels = (), round_: Labels = round_) -> int:
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
                    turns = list(product(*(range(rounds) for rounds in content[at : at + inner])))
                    at += inner
                    initial = tuple(read() for _ in range(head >> 40 & 255))
                    labels_at, terms = at, list[Labels]()
                    for turn in turns:
                        at = labels_at
                        terms.append(tuple(read(turn) for _ in range(number)))
                    yield Row(0, head % (1 << 32), abi.ROW_REGISTER, initial, name, count, tuple(terms))
                    results.append(REGISTER | name)
                else:
                    sink = read()
                    numbers = [read() for _ in range(number)]
                    labels = (results[n] if head >> (40 + k) & 1 else n for k, n in enumerate(numbers))
                    yield Row(sink, head % (1 << 32), 0, tuple(labels), name, count)
                name += 1
