"""Ranges of a trace are written out as the reference does it, row by row."""

import random

import numpy as np
import pytest

from commanalyzer.graph.reading import tables
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.recording import abi
from commanalyzer.recording.trace import Trace, TraceStatistics
from tests.reference.rows import rows_of_trace

Store = tuple[int, int, int, list[tuple[int, int]]]  # site, sink, stride, labels with their strides


def range_content(segments: list[tuple[int, list[Store]]]) -> list[int]:
    """What the recorder writes for segments: rounds and stores."""
    return [
        word
        for rounds, stores in segments
        for word in nested_content(
            [rounds], [(site, [sink, step], [[*k] for k in labels]) for site, sink, step, labels in stores]
        )
    ]


def nested_content(rounds: list[int], stores: list[tuple[int, list[int], list[list[int]]]]) -> list[int]:
    """What the recorder writes for a segment: rounds of its loops, sites, sinks and labels of its stores."""
    words = [len(rounds) | len(stores) << 48, *rounds]
    for site, sink, labels in stores:
        words += [site | len(labels) << 32, *sink, *(word for label in labels for word in label)]
    return words


def trace_of(rows: list[tuple[int, int, int, list[int], int]]) -> Trace:
    """A trace of these rows: sink, site, flags, labels, count."""
    heads = np.array([(sink, site, len(labels), flags) for sink, site, flags, labels, _ in rows], abi.HEAD)
    cells = np.array([(1, count) for *_, count in rows], abi.CELL)
    words = np.array([label % (1 << 64) for _, _, _, labels, _ in rows for label in labels], np.uint64)
    none = np.zeros(0, np.uint64)
    return Trace(
        heads=heads, cells=cells, labels=words.view(abi.LABEL_UNIT), listed=none,
        groups=np.zeros(0, abi.GROUP), runs=np.zeros(0, abi.RUN), extents=np.zeros(0, abi.EXTENT),
        copies=np.zeros(0, abi.COPY), contexts=np.zeros(0, abi.CONTEXT), blocks=np.zeros(0, abi.BLOCKS),
        block_counters=none, external_calls=none, order=np.zeros(0, np.uint32),
        statistics=TraceStatistics(*[0] * len(TraceStatistics.__dataclass_fields__)),
    )  # fmt: skip


def a_range(*segments: tuple[int, list[Store]], count: int = 1) -> tuple[int, int, int, list[int], int]:
    site, sink = segments[0][1][0][:2]
    return sink, site, abi.ROW_FAMILY | abi.ROW_WIDE, range_content(list(segments)), count


Row = tuple[int, int, list[int], int]


def written(trace: Trace) -> list[Row]:
    """Sink, site, labels and count of all rows; register values by the place of their rows."""
    tables, found = Tables.of(trace), list[Row]()
    place = {int(name): at for at, name in enumerate(tables.names)}
    for chunk in tables.chunks():
        begin = 0
        for head, cell, end in zip(chunk.heads, chunk.cells, chunk.end, strict=True):
            labels = [
                abi.REGISTER | place[int(tables.kept[label & 0xFFFFFFFF])] if label & abi.REGISTER else label
                for label in chunk.label[begin:end].view(np.uint64).tolist()
            ]
            found.append((int(head[0]), int(head[1]) & 0xFFFFFFFF, labels, int(cell[1])))
            begin = int(end)
    return found


def expected(trace: Trace) -> list[Row]:
    """The same by the reference."""
    rows = rows_of_trace(trace)
    place = {row.name: at for at, row in enumerate(rows)}
    for row in rows:
        row.renamed(place)
    return [(row.sink, row.site, list(row.sources), row.count) for row in rows]


@pytest.mark.parametrize(
    ("store", "rounds", "is_merged"),
    [
        ((1, 120, 2, [(220, 2)]), 10, False),  # goes on behind the first
        ((1, 118, 2, [(218, 2)]), 10, True),  # begins with its last row
        ((1, 118, 2, [(220, 2)]), 10, True),  # same sinks, other labels
        ((1, 101, 2, [(201, 2)]), 10, True),  # between its sinks
        ((1, 118, -2, [(218, -2)]), 10, True),  # backward
        ((1, 90, 5, [(190, 5)]), 3, True),  # meets its first row, in other steps
        ((1, 130, 5, [(230, 5)]), 3, False),
        ((2, 100, 2, [(200, 2)]), 10, False),  # another site
        ((1, 100, 2, [(200, 2)]), 1, True),
    ],
)
def test_stores_between_the_sinks_of_others_are_merged(store: Store, rounds: int, is_merged: bool) -> None:
    trace = trace_of([a_range((10, [(1, 100, 2, [(200, 2)])])), a_range((rounds, [store]), count=2)])
    assert Tables.of(trace).merged.is_merged.any() == is_merged
    assert written(trace) == expected(trace)


@pytest.mark.parametrize(("sink", "label"), [(106, 206), (106, 208), (96, 196)])
def test_a_recorded_row_is_found_in_a_range(sink: int, label: int) -> None:
    rows = [(sink, 1, abi.ROW_WIDE, [label], 3), a_range((10, [(1, 100, 2, [(200, 2)])]))]
    for trace in (trace_of(rows), trace_of(rows[::-1])):
        assert written(trace) == expected(trace)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("seed", range(30))
def test_random_ranges_are_written_out(monkeypatch: pytest.MonkeyPatch, chunk: int, seed: int) -> None:
    draw = random.Random(seed)
    strides = [2, -2] if seed % 2 else [2, 2, 2, 4, 6, -2]

    def a_store(site: int) -> Store:
        stride = draw.choice(strides)
        sink = 100 + draw.randrange(30)
        steps = [stride] if seed % 4 == 1 else [stride, stride, 0, 2]
        labels = [(sink + 100 + 2 * draw.randrange(2), draw.choice(steps)) for _ in range(site)]
        return site, sink, stride, labels

    rows = []
    for _ in range(12):
        segments = [
            (draw.randrange(1, 12), [a_store(draw.randrange(3)) for _ in range(draw.randrange(1, 4))])
            for _ in range(draw.randrange(1, 4))
        ]
        rows.append(a_range(*segments, count=draw.randrange(3)))
        site, sink, _, labels = a_store(draw.randrange(3))
        if seed % 3:
            rows.append((sink, site, abi.ROW_WIDE, [label for label, _ in labels], 1))
    monkeypatch.setattr(tables, "CHUNK", chunk)
    assert written(trace_of(rows)) == expected(trace_of(rows))


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("seed", range(20))
def test_random_nests_are_written_out(monkeypatch: pytest.MonkeyPatch, chunk: int, seed: int) -> None:
    draw = random.Random(seed)

    def a_store(site: int) -> Store:
        sink, stride = 100 + 2 * draw.randrange(8), draw.choice([0, 2, 2, -2])
        steps = [draw.choice([2, -4] if k == 0 else [0, 2]) for k in range(site)]
        return site, sink, stride, [(600 + 2 * draw.randrange(8), step) for step in steps]

    rows = []
    for _ in range(8):
        outer = [draw.randrange(1, 4) for _ in range(draw.randrange(3))]
        stores = [a_store(draw.randrange(1, 3)) for _ in range(draw.randrange(1, 3))]
        nested, loops = [], range(len(outer))
        for site, sink, stride, read in stores:
            sinks = [sink, *(draw.choice([0, 64 << loop]) for loop in loops), stride]
            moved = [[label, *(draw.choice([4, 64 << loop]) for loop in loops), step] for label, step in read]
            nested.append((site, sinks, moved))
        words = nested_content([*outer, draw.randrange(2, 10)], nested)
        rows.append((stores[0][1], stores[0][0], abi.ROW_FAMILY | abi.ROW_WIDE, words, draw.randrange(3)))
        site, sink, _, labels = a_store(draw.randrange(1, 3))
        if seed % 3:
            rows.append((sink, site, abi.ROW_WIDE, [label for label, _ in labels], 1))
    monkeypatch.setattr(tables, "CHUNK", chunk)
    assert written(trace_of(rows)) == expected(trace_of(rows))


def test_rounds_that_add_to_one_word_are_counted_where_they_meet() -> None:
    def products(first: int, rounds: int) -> tuple[int, int, int, list[int], int]:
        return a_range((rounds, [(1, 100, 0, [(200 + 2 * first, 2), (400 + 40 * first, 40)])]))

    trace = trace_of([products(0, 10), products(5, 10), products(0, 3)])
    assert written(trace) == expected(trace)
    assert [count for *_, count in written(trace)] == [2] * 3 + [1] * 2 + [2] * 5 + [1] * 5
