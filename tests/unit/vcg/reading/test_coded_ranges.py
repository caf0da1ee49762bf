"""Ranges that stay coded make the graph that the reference builds of the rows they stand for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.abi.hooks import ADDRESS, CONTROL
from commanalyzer.abi.trace_layout import EXTENT, EXTENT_GLOBAL, ROW_WIDE
from commanalyzer.instrument.sites import ObjectRecord, SiteRecord, SiteTable
from commanalyzer.ir.names.debug_info import SourcePlace
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg import build
from commanalyzer.vcg.graph import Fold
from commanalyzer.vcg.reading import tables
from commanalyzer.vcg.reading.coded_ranges import CodedRanges
from tests.graphs import assert_same_graph
from tests.reference.build import build_graph as reference
from tests.unit.vcg.reading.test_ranges import Store, a_range, trace_of

PLACE = SourcePlace()
SITES = SiteTable(
    sites=[
        SiteRecord("@f", "0", "store", 8, PLACE),
        SiteRecord("@f", "1", "store", 8, PLACE, Fold.SUM, 0),
        SiteRecord("@f", "2", "store", 8, PLACE, Fold.SUM, 1),
    ],
    globals=[ObjectRecord("@a", "a", "", PLACE), ObjectRecord("@b", "b", "", PLACE)],
)


def with_arrays(trace: Trace) -> Trace:
    """Words 100 to 499 and 500 to 899 are arrays; others belong to nothing."""
    arrays = [(4 * 100, 4 * 400, 0, 0, EXTENT_GLOBAL, 0), (4 * 500, 4 * 400, 0, 1, EXTENT_GLOBAL, 0)]
    return replace(trace, extents=np.array(arrays, EXTENT))


def kept_segments(trace: Trace) -> list[bool]:
    found: list[CodedRanges] = []

    class Noted(CodedRanges):
        @classmethod
        def of(cls, *arguments: object) -> CodedRanges:
            found.append(CodedRanges.of(*arguments))  # type: ignore[arg-type]
            return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "CodedRanges", Noted)
        assert_same_graph(build.build_graph(trace, SITES), reference(trace, SITES))
    return [bool(kept) for kept in found[0].is_kept]


@pytest.mark.parametrize(
    ("store", "rounds", "is_kept"),
    [
        ((0, 100, 2, [(500, 2), (502, 2), (300, 0)]), 20, True),
        ((0, 100, 2, [(500, 2), (502, 2)]), 7, False),  # short
        ((0, 100, -2, [(504, 2)]), 8, False),  # sinks go down, below the first word of the array
        ((0, 138, -2, [(504, 2), (500 | CONTROL, 2), (504 | ADDRESS, 2)]), 20, True),
        ((0, 102, 2, [(100, 2), (104, 2)]), 20, True),  # reads what the round before stored
        ((1, 100, 2, [(100, 2), (500, 2)]), 20, True),  # accumulates by its operation
        ((2, 100, 2, [(100, 2), (500, 2)]), 20, True),  # accumulates otherwise
        ((0, 100, 2, [(138, -2), (500, 2)]), 20, False),  # a source and the sink meet
        ((0, 100, 2, [(500, 2), (520, 0)]), 20, False),  # the order of sources changes
        ((0, 100, 2, [(480, 2)]), 20, False),  # across the border of the arrays: vertices are no line
        ((0, 100, 2, [(899, 2)]), 20, False),
        ((0, 100, 2, []), 20, True),
    ],
)
def test_segments_that_make_lines_stay_coded(store: Store, rounds: int, is_kept: bool) -> None:
    assert kept_segments(with_arrays(trace_of([a_range((rounds, [store]), count=3)]))) == [is_kept]


def rows_of(draw: random.Random) -> Iterator[tuple[int, int, int, list[int], int]]:
    """Ranges of one to three stores, with plain rows between them."""
    stride = draw.choice([2, -2])
    for _ in range(4):
        stores: list[Store] = []
        area = draw.randrange(5)
        for site in range(draw.randrange(1, 4)):
            sink = 104 + 78 * area + 4 * site + (stride < 0) * 58
            first = [sink, sink - 2, 560 + 2 * draw.randrange(50), 700, 1000]
            labels = [
                (
                    draw.choice(first) | draw.choice([0, 0, CONTROL, ADDRESS]),
                    draw.choice([stride] * 16 + [0, 4]),
                )
                for _ in range(draw.randrange(5))
            ]
            stores.append((site, sink, stride, labels))
        yield a_range((draw.randrange(5, 30), stores), count=draw.randrange(3))
        if draw.randrange(2):
            yield 100 + 2 * draw.randrange(90), draw.randrange(3), ROW_WIDE, [500 + 2 * draw.randrange(99)], 2


@pytest.mark.parametrize(("chunk", "seeds"), [(1, range(6, 12)), (50, range(6, 16)), (1 << 20, range(40))])
def test_random_ranges_make_the_graph_of_their_rows(
    monkeypatch: pytest.MonkeyPatch, chunk: int, seeds: range
) -> None:
    monkeypatch.setattr(tables, "CHUNK", chunk)
    monkeypatch.setattr(build, "CHUNK", max(chunk, 50))
    kept = []
    for seed in seeds:
        kept += kept_segments(with_arrays(trace_of(list(rows_of(random.Random(seed))))))
    assert 0 < sum(kept) < len(kept)
