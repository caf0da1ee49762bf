"""Renamed rounds of a trace are written out as the rows that hooks would have recorded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from commanalyzer.abi.hooks import CONTROL, REGISTER
from commanalyzer.abi.trace_layout import (
    GROUP,
    LABEL_UNIT,
    LISTED,
    PLACED,
    RENAMING,
    ROW_REGISTER,
    ROW_WIDE,
    SHIFTS_SHARED,
)
from commanalyzer.trace.reader import Trace
from tests.unit.vcg.reading.test_ranges import trace_of
from tests.unit.vcg.repetitions.test_nests import expected, written

_ROWS = [
    (100, 5, ROW_WIDE, [200], 1),
    (0, 6, ROW_WIDE | ROW_REGISTER, [200, CONTROL | 300], 1),
    (102, 7, ROW_WIDE, [REGISTER | 1, 300], 1),
    (110, 5, ROW_WIDE, [210], 4),  # recorded by hooks later, as the first one renamed
]
_VERSION = [(0, 3)], [100, 200]  # rows; words of accesses of 8 bytes


def renamed(
    trace: Trace,
    version: tuple[list[tuple[int, int]], list[int]],
    renamings: list[tuple[int, int, list[int]]],
) -> Trace:
    """The trace with renamings of a version: count, place, shifts; those of the last row need no place."""
    stretches, words = version
    bases = [len(stretches) | len(words) << 32, *(first | end << 32 for first, end in stretches)]
    bases += [word * 4 | 8 << 48 for word in words]
    shifts, records = list[int](), list[tuple[int, int, int]]()
    for count, _, part in renamings:
        is_shared = len(set(part)) == 1
        records.append((count, 0, SHIFTS_SHARED | part[0] % SHIFTS_SHARED if is_shared else len(shifts)))
        shifts += [] if is_shared else part
    placed = [(place, k + 1) for k, (_, place, _) in enumerate(renamings) if place < len(trace.heads)]
    return replace(
        trace,
        bases=np.array(bases, LISTED),
        renamings=np.array(records, RENAMING),
        placed=np.array(placed, PLACED),
        shifts=np.array(shifts, LABEL_UNIT),
    )


def test_rows_have_other_words_where_they_came() -> None:
    trace = renamed(trace_of(_ROWS), _VERSION, [(2, 3, [10, 10])])
    assert written(trace) == [
        (100, 5, [200], 1),
        (0, 6, [200, CONTROL | 300], 1),
        (102, 7, [REGISTER | 1, 300], 1),
        (110, 5, [210], 6),
        (0, 6, [210, CONTROL | 300], 2),
        (102, 7, [REGISTER | 4, 300], 2),
    ]
    assert written(trace) == expected(trace)


def test_shifts_may_be_shared_or_listed() -> None:
    """Up and down; in front of a row, of the same one, or behind all; accesses of several versions."""
    renamings = [(2, 1, [-30, -30]), (1, 2, [-5, 7]), (4, 2, [10, 10]), (3, 4, [7, -5])]
    trace = renamed(trace_of(_ROWS), _VERSION, renamings)
    more = np.concatenate([trace.bases, np.array([1 | 1 << 32, 3 | 4 << 32, 210 * 4 | 8 << 48], LISTED)])
    records = trace.renamings.copy()
    records[2] = (4, 1, SHIFTS_SHARED | 11)
    trace = replace(trace, bases=more, renamings=records)
    assert (110, 5, [221], 4) in written(trace)
    assert (70, 5, [170], 2) in written(trace)
    assert (107, 5, [195], 3) in written(trace)
    assert written(trace) == expected(trace)


def test_rows_that_stay_are_counted() -> None:
    """Nothing in them moves, or it moves where it was; a renaming that did not happen is nothing."""
    version = [(0, 1), (2, 3)], [110, 400]
    trace = renamed(trace_of(_ROWS), version, [(3, 3, [7, -7]), (0, 4, [1, 1]), (5, 4, [0, 0])])
    assert written(trace) == [
        (100, 5, [200], 9),
        (0, 6, [200, CONTROL | 300], 1),
        (102, 7, [REGISTER | 1, 300], 9),
        (110, 5, [210], 4),
    ]
    assert written(trace) == expected(trace)


def test_words_of_terms_move_and_equal_rows_are_one() -> None:
    """Terms are runs or lists; both words of a value move; a word may take the place of another."""
    rows = [
        (0, 6, ROW_WIDE | ROW_REGISTER, [], 1),
        (101, 7, ROW_WIDE, [REGISTER | 0], 1),
        (0, 6, ROW_WIDE | ROW_REGISTER, [], 1),
    ]
    trace = replace(
        trace_of(rows),
        groups=np.array([(0, 0, 2, 2, 1), (2, 4, 2, 2, 1)], GROUP),
        listed=np.array([200, 300, 201, 301, 301, 200, 302, 201], LISTED),
    )
    trace = renamed(trace, ([(0, 2)], [200, 300, 100]), [(2, 2, [101, -100, 0]), (1, 3, [1, 2, 100])])
    assert written(trace) == [
        (0, 6, [200, 300, 201, 301], 1),
        (101, 7, [REGISTER | 0], 1),
        (0, 6, [301, 200, 302, 201], 3),
        (101, 7, [REGISTER | 2], 2),
        (0, 6, [201, 302, 202, 303], 1),
        (201, 7, [REGISTER | 4], 1),
    ]
    assert written(trace) == expected(trace)
