"""Nests of a trace are written out as the reference does it, row by row."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.graph.reading.family_kernels import Written, first_place, write_head
from commanalyzer.recording.abi import FAMILY_SUM, GROUP, REGISTER, ROW_FAMILY, ROW_REGISTER, ROW_WIDE, RUN
from commanalyzer.recording.trace import Trace
from tests.unit.graph.reading.test_ranges import expected, trace_of, written

Moving = tuple[int, ...]  # a word or label, and its changes per round of each loop
Sum = tuple[
    int, tuple[int, ...], Sequence[Moving], Sequence[Moving]
]  # site, rounds of its loops; initial labels; labels, changes in these loops last
Store = tuple[int, Moving, Sequence[Moving], int]  # site, sink, labels, results


def nest_content(rounds: tuple[int, ...], entries: list[Sum | Store]) -> list[int]:
    """What the recorder writes for a nest."""
    words = [len(rounds) | len(entries) << 48, *rounds]
    for entry in entries:
        site, second, labels, last = entry
        if not isinstance(last, int):
            inner = len(second) - 1
            words += [site | len(last) << 32 | len(labels) << 40 | inner << 48 | FAMILY_SUM, *second]
            words += [w for part in (*labels, *last) for w in part]
        else:
            words += [site | len(labels) << 32 | last << 40, *second]
            words += [w for label in labels for w in label]
    return words


def a_nest(
    rounds: int | tuple[int, ...], entries: list[Sum | Store], count: int = 1
) -> tuple[int, int, int, list[int], int]:
    of_loops = (rounds,) if isinstance(rounds, int) else rounds
    return 100, 1, ROW_FAMILY | ROW_WIDE, nest_content(of_loops, entries), count


def with_groups(trace: Trace, groups: list[tuple[int, int, list[tuple[int, int]]]]) -> Trace:
    """The trace with runs for some rows: row, terms, starts and strides."""
    runs = [run for *_, part in groups for run in part]
    first = np.cumsum([0, *(len(part) for *_, part in groups)])
    heads = [(row, int(first[k]), terms, len(part), 0) for k, (row, terms, part) in enumerate(groups)]
    return replace(trace, groups=np.array(heads, GROUP), runs=np.array(runs, RUN))


@pytest.mark.parametrize("first", [0, 1])
def test_rows_of_hooks_and_nests_are_one(first: int) -> None:
    """A sum that hooks recorded, its store, and a row that reads another register value."""
    nest = a_nest(3, [(7, (4,), [], [(200, 10, 2)]), (1, (100, 2), [(0, 0)], 1)], count=2)
    at = 1 if first else 0
    hooks = [(0, 7, ROW_REGISTER, [], 5), (102, 1, ROW_WIDE, [REGISTER | at], 5)]
    other = [(0, 9, ROW_REGISTER, [], 1), (300, 8, ROW_WIDE, [REGISTER | 3, 5], 1)]
    trace = trace_of([nest, *hooks, *other] if first else [*hooks, nest, *other])
    trace = with_groups(trace, [(at, 4, [(210, 2)]), (3, 2, [(REGISTER | at, 0), (40, 1)])])
    assert written(trace) == expected(trace)
    assert sorted(count for *_, count in written(trace)) == [1, 1, 2, 2, 2, 2, 7, 7]


@pytest.mark.parametrize("seed", range(30))
def test_random_nests_are_written_out(seed: int) -> None:
    draw = random.Random(seed)
    rows, groups = [], list[tuple[int, int, list[tuple[int, int]]]]()
    for _ in range(8):
        place, terms, step = 10 * draw.randrange(3), draw.randrange(2, 6), draw.choice([2, 2, 4, 0])
        inner = (*(draw.randrange(2, 4) for _ in range(draw.choice([0, 0, 1, 2]))), terms)
        far = (640, 64)[3 - len(inner) :]  # no loop goes on as the next one
        around = tuple(draw.randrange(1, 4) for _ in range(draw.randrange(1, 4)))
        still = (0,) * (len(around) - 1)

        def moving(first: int, *steps: int, still: tuple[int, ...] = still) -> Moving:
            return first, *still, *steps

        entries: list[Sum | Store] = [
            (
                7 + s,
                inner,
                [moving(100 + place, step)] if draw.random() < 0.5 else [],
                [(*moving(200 + place, step), *far, draw.choice([1, 2]))],
            )
            for s in range(draw.randrange(1, 3))
        ]
        results = len(entries)
        labels = [(r, *(0 for _ in around)) for r in range(results)]
        labels.append((700 + place, *(draw.choice([0, step]) for _ in around)))
        entries.append((1, moving(100 + place, step), labels, (1 << results) - 1))
        rows.append(a_nest(around, entries, count=draw.randrange(1, 3)))
        if draw.random() < 0.7 and terms > 3 and not far:
            groups.append((len(rows), terms, [(200 + 2 * draw.randrange(8), draw.choice([1, 2]))]))
            rows.append((0, 7, ROW_REGISTER, [], 1))
            sink = 100 + 2 * draw.randrange(6)
            rows.append((sink, 1, ROW_WIDE, [REGISTER | len(rows) - 1, 600 + sink], 1))
    trace = with_groups(trace_of(rows), groups)
    assert written(trace) == expected(trace)


def test_rows_are_one_if_all_of_their_hash_is_the_same() -> None:
    """Also where the part of it that the table has, and where that is looked for, are the same."""
    one, other = (1 << 40) + 1, (1 << 40) + (1 << 20) + 1
    hashes = [one, other, 2, other, one, 0, -1, 0, -1]
    (heads, cells, runs), groups = np.zeros((3, 9, 2), np.int64), np.zeros((0, 4), np.int64)
    names, table, ends = (np.zeros(n, np.int64) for n in (9, 16, 5))
    units, kept = np.zeros(0, np.int32), np.arange(9)
    written = Written(heads, cells, units, groups, runs, names, names, table, kept, ends)
    for name, hash_ in enumerate(hashes):
        if first_place(hash_, name, 1, written) == ends[0]:
            write_head(hash_, 7, (hash_, 1), name, written)
    assert heads[: ends[0]].tolist() == [[hash_, 7] for hash_ in dict.fromkeys(hashes)]
    assert cells[: ends[0]].tolist() == [[hash_, hashes.count(hash_)] for hash_ in dict.fromkeys(hashes)]
    assert names[: ends[0]].tolist() == [0, 1, 2, 5, 6]
    assert kept.tolist() == [0, 1, 2, 1, 0, 5, 6, 5, 6]
