"""Coded columns: what was appended comes back, whole and in ranges; patterns of loops take a few bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.errors import GraphInvariantError
from commanalyzer.vcg.storage.coding import (
    Blocks,
    Coded,
    ColumnWriter,
    Int64,
    Reader,
    encoded,
    merged,
    periods,
)
from commanalyzer.vcg.storage.packing import pack, unpack
from commanalyzer.vcg.storage.spill import Spill

INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def columns(draw: st.DrawFn) -> Int64:
    """Patterns that repeat with strides, constants and noise, one after the other."""
    pieces = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            start = np.array(draw(st.lists(INT64, min_size=1, max_size=4)), np.int64)
            stride = np.array([draw(st.integers(-(2**40), 2**40)) for _ in start], np.int64)
            times = np.arange(draw(st.integers(1, 60)), dtype=np.int64)
            with np.errstate(over="ignore"):
                pieces.append((start + times[:, None] * stride).ravel())
        else:
            high = draw(st.sampled_from((1, 2, 3, 15, 255, 2**20, 2**33, 2**62)))
            pieces.append(np.array(draw(st.lists(st.integers(-high, high), max_size=40)), np.int64))
    return np.concatenate([np.zeros(0, np.int64), *pieces])


@settings(deadline=None)  # the first example compiles
@given(values=columns(), key=st.integers(1, 5), cut=st.integers(0, 300), data=st.data())
def test_whole_columns_and_ranges_come_back(values: Int64, key: int, cut: int, data: st.DataObject) -> None:
    writer = ColumnWriter(Spill(data.draw(st.sampled_from((None, 0, 50)))))
    for piece in (values[:cut], values[cut:]):
        (hints,) = periods(np.arange(len(piece)) % key, np.arange(1, len(piece) + 1))
        writer.append(piece, hints)
    coded = unpack(*pack(writer.finish()))
    reader = Reader.of(coded)
    assert coded.length == len(values)
    assert np.array_equal(reader.expand(), values)
    low = data.draw(st.integers(0, len(values)))
    high = data.draw(st.integers(low, len(values)))
    assert np.array_equal(reader.expand(low, high), values[low:high])
    ranges, whole = np.array([[0, low], [low, high - low]]), np.empty(high, np.int64)
    reader.fill_ranges(whole, *ranges, is_sum=True)
    with np.errstate(over="ignore"):
        assert np.array_equal(whole, np.cumsum(values[:high]))


@pytest.mark.parametrize(("width", "rounds"), [(1, 9000), (3, 9000), (700, 40), (9000, 4)])
def test_ranges_of_long_patterns_come_back(width: int, rounds: int) -> None:
    start, stride = np.arange(width) ** 2 % 1009, np.arange(width) % 7 - 3
    values = (start + np.arange(rounds)[:, None] * stride).ravel()
    (hints,) = periods(np.arange(len(values)) % width, np.arange(1, len(values) + 1))
    reader = Reader.of(encoded(values, hints))
    for low in (0, 1, width - 1, width, 2 * width + 1):
        for high in (low, low + 1, low + width, len(values) - width // 2, len(values)):
            assert np.array_equal(reader.expand(low, high), values[low:high])
            sums = np.empty(high - low, np.int64)
            reader.fill_ranges(sums, np.array([low]), np.array([high - low]), is_sum=True)
            assert np.array_equal(sums, np.cumsum(values[low:high]))


@settings(deadline=None)
@given(values=columns(), data=st.data())
def test_known_patterns_lie_between_values(values: Int64, data: st.DataObject) -> None:
    """Patterns from 0 to 3 rounds, also those that go on with the one before, and constants."""
    small = st.integers(-3, 3)
    width = data.draw(st.lists(st.integers(1, 3), max_size=6))
    repeat = data.draw(st.lists(st.integers(1, 4), min_size=len(width), max_size=len(width)))
    start, stride = (data.draw(st.lists(small, min_size=sum(width), max_size=sum(width))) for _ in range(2))
    before = sorted(
        data.draw(st.lists(st.integers(0, len(values)), min_size=len(width), max_size=len(width)))
    )
    known = Blocks(*(np.array(c, np.int64) for c in (before, width, repeat, start, stride)))
    expected, at, first = [], 0, 0
    for here, w, times in zip(before, width, repeat, strict=True):
        block = range(first, first + w)
        expected += [
            *values[at:here].tolist(),
            *(start[j] + i * stride[j] for i in range(times) for j in block),
        ]
        at, first = here, first + w
    expected += values[at:].tolist()
    writer = ColumnWriter(Spill())
    (hints,) = periods(np.arange(len(values)) % 3, np.arange(1, len(values) + 1))
    writer.append(values, hints, known=known)
    assert writer.length == len(expected)
    assert Reader.of(writer.finish()).expand().tolist() == expected


def test_patterns_that_go_on_are_one() -> None:
    """Three times ten rounds of the same pattern, the constant 7 before, between and behind constants."""
    ten, none = np.full(3, 10), np.zeros(3, np.int64)
    pairs = Blocks(none, np.full(3, 2), ten, np.array([0, 5, 30, 5, 60, 5]), np.array([3, 0] * 3))
    writer = ColumnWriter(Spill())
    writer.append(np.zeros(0, np.int64), known=pairs)
    assert [table.tolist() for table in writer.finish().tables] == [[2], [30], [0, 5], [3, 0]]  # type: ignore[union-attr]
    constants = Blocks(np.array([2, 2, 4]), np.ones(3, np.int64), ten, np.full(3, 7), none)
    writer = ColumnWriter(Spill())
    writer.append(np.full(6, 7), known=constants)
    assert Reader.of(writer.finish()).expand().tolist() == [7] * 36


def test_loop_nests_take_a_few_bytes() -> None:
    """Five sources of a 200 x 300 stencil; operands of a 40 x 40 x 40 matrix product; both 64-bit."""
    line = np.arange(1, 299)[:, None] + np.array([-300, -1, 0, 1, 300])
    stencil = (np.arange(1, 199)[:, None, None] * 300 + line).ravel()
    (rows,) = periods(np.zeros(len(stencil) // 5, np.int64), np.arange(5, len(stencil) + 1, 5))
    assert encoded(stencil, rows).nbytes < 300
    i, j, k = np.meshgrid(*[np.arange(40)] * 3, indexing="ij")
    product = np.stack([i * 40 + k, 1600 + k * 40 + j], axis=-1).ravel()
    (terms,) = periods(np.zeros(len(product) // 2, np.int64), np.arange(2, len(product) + 1, 2))
    assert encoded(product, terms).nbytes < 1000


@pytest.mark.parametrize(("bits", "most"), [(1, 1), (2, 3), (4, 15), (8, 255), (24, 2**24 - 1)])
def test_noise_takes_the_bits_of_its_range(bits: int, most: int) -> None:
    noise = np.random.default_rng(1).integers(0, most + 1, 8000)
    noise[[0, -1]] = 0, most
    coded = encoded(noise + 10**12)
    assert len(coded.literal) <= 8000 * bits // 8
    assert coded.nbytes <= 8000 * max(bits, 2) // 8 + 300  # tables
    assert np.array_equal(Reader.of(coded).expand() - 10**12, noise)


def test_inconsistent_tables_are_refused() -> None:
    good = encoded(np.arange(10))
    bad = Coded(11, good.width, good.repeat, good.start, good.stride, good.literal)
    with pytest.raises(GraphInvariantError, match="do not make up"):
        Reader.of(bad)


def test_spilled_columns_lie_in_files() -> None:
    spill = Spill(budget_bytes=1000)
    writer = ColumnWriter(spill)
    noise = np.random.default_rng(1).integers(0, 256, 5000)
    for piece in np.split(noise, 5):
        writer.append(piece)
    coded = writer.finish()
    assert (spill.memory_bytes, spill.file_bytes) == (0, 5000)
    assert isinstance(coded.literal, np.memmap)
    assert np.array_equal(Reader.of(coded).expand(), noise)


def test_hints_are_merged_in_order_and_the_first_ones_first() -> None:
    first = np.array([1, 4, 4, 9]), np.array([10, 11, 12, 13])
    second = np.array([0, 4, 7]), np.array([20, 21, 22])
    at, lag = merged(first, second)
    assert at.tolist() == [0, 1, 4, 4, 4, 7, 9]
    assert lag.tolist() == [20, 10, 11, 12, 21, 22, 13]


def test_runs_that_save_nothing_and_their_neighbours() -> None:
    short = [0, 1, 2, 3, *15 * [9], 5]  # gain: more than 14 equal entries of 1 byte
    writer = ColumnWriter(Spill(), entry_bytes=1)
    writer.append(np.array(short))
    coded = writer.finish()
    assert np.asarray(coded.width).tolist() == [0, 1, 0]
    assert np.asarray(coded.repeat).tolist() == [4, 15, 1]
    assert Reader.of(coded).expand().tolist() == short
    writer = ColumnWriter(Spill(), entry_bytes=1)
    writer.append(np.array(short[:-2] + short[-1:]))  # one less is as long as a block of its own
    assert np.asarray(writer.finish().width).tolist() == [0]


def _one_block(width: int, repeat: int, start: list[int], stride: list[int], length: int) -> Coded:
    widths, repeats, starts, strides = (np.array(x, np.int64) for x in ([width], [repeat], start, stride))
    return Coded(length, widths, repeats, starts, strides, np.zeros(16, np.uint8))


@pytest.mark.parametrize(
    "column",
    [
        _one_block(0, 32, [0], [3], 32),  # literals of a size that is not written are read beyond their bytes
        _one_block(0, 1 << 61, [0], [64], 1 << 61),  # their bytes are a multiple of 2 ** 64
        _one_block(4, 1 << 62, [0] * 4, [0] * 4, 0),  # so are the entries
        _one_block(-1, 2, [0], [0], 2),
    ],
)
def test_blocks_that_are_not_those_of_the_column_are_refused(column: Coded) -> None:
    with pytest.raises(GraphInvariantError):
        Reader.of(column)


@pytest.mark.parametrize(
    "values",
    [
        [5, 5, 5, 5, 5],
        [0, 3, 6, 9, 12, 15, 40, -2, 7],
        [1 << 62, -(1 << 62), 0, 9, (1 << 63) - 1],
        *([int(x) for x in np.random.default_rng(k).integers(0, 1 << 4 * k, 5000)] for k in range(1, 12)),
    ],
)
def test_bounds_are_those_of_the_entries(values: list[int]) -> None:
    column = encoded(np.array(values, np.int64))
    assert Reader.of(column).bounds() == (min(values), max(values))


def test_bounds_see_patterns_that_run_over() -> None:
    with pytest.raises(GraphInvariantError, match="64 bits"):
        Reader.of(replace(_one_block(1, 5, [1 << 62], [1 << 62], 5), literal=np.zeros(0, np.uint8))).bounds()
