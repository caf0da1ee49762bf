"""Compressed columns: what was appended comes back, whole, in ranges and one by one; loops take few bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.graph.storage import coding as module
from commanalyzer.graph.storage.coding import Coded, ColumnWriter, encoded
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.graph.value_graph import Int64

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
@given(values=columns(), piece=st.integers(1, 300), cut=st.integers(0, 300), data=st.data())
def test_whole_columns_ranges_and_entries_come_back(
    values: Int64, piece: int, cut: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        writer = ColumnWriter(Spill(data.draw(st.sampled_from((None, 0, 50)))))
        writer.append(values[:cut])
        writer.append(values[cut:])
        assert writer.length == len(values)
        column = writer.finish()
    assert column.length == len(values)
    assert np.array_equal(column.expand(), values)
    low = data.draw(st.integers(0, len(values)))
    high = data.draw(st.integers(low, len(values)))
    assert np.array_equal(column.expand(low, high), values[low:high])
    sums = np.empty(high - low, np.int64)
    column.fill(sums, low, is_sum=True)
    with np.errstate(over="ignore"):
        assert np.array_equal(sums, np.cumsum(values[low:high]))
    index = np.array(data.draw(st.lists(st.integers(0, max(len(values) - 1, 0)), max_size=9)), np.int64)
    found = np.empty(len(index[: len(values)]), np.int64)
    column.take(index[: len(values)], found)
    assert np.array_equal(found, values[index[: len(values)]])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64, np.int16])
def test_entries_are_converted(dtype: type[np.generic]) -> None:
    values = (np.arange(1000) % 2).astype(dtype)
    out = np.empty(700, dtype)
    encoded(values).fill(out, 123)
    assert np.array_equal(out, values[123:823])


def test_loop_nests_take_a_few_bytes() -> None:
    """Sources of a 200 x 300 stencil, 64-bit: at least 500 times fewer bytes; equal entries take none."""
    line = np.arange(1, 299)[:, None] + np.array([-300, -1, 0, 1, 300])
    stencil = (np.arange(1, 199)[:, None, None] * 300 + line).ravel()
    assert encoded(stencil).nbytes < stencil.nbytes / 500
    assert len(encoded(np.full(100_000, 7)).data) == 0


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_noise_takes_the_bytes_of_its_range(size: int) -> None:
    noise = np.random.default_rng(1).integers(0, 256**size, 8000)
    coded = encoded(noise + 10**12)
    assert coded.nbytes <= 8000 * size * 1.05 + 400
    assert np.array_equal(coded.expand() - 10**12, noise)


def test_spilled_columns_lie_in_files() -> None:
    spill = Spill(budget_bytes=1000)
    writer = ColumnWriter(spill)
    noise = np.random.default_rng(1).integers(0, 256, 5000)
    for piece in np.split(noise, 5):
        writer.append(piece)
    coded = writer.finish()
    assert (spill.memory_bytes, spill.file_bytes) == (0, len(coded.data))
    assert isinstance(coded.data, np.memmap)
    assert np.array_equal(coded.expand(), noise)


@pytest.mark.parametrize(
    ("at", "entry"), [(0, 0), (0, -1), (0, 1 << 40), (2, 3), (2, -1), (3, -1), (3, 1 << 62), (3, 0)]
)
def test_pieces_that_are_not_those_of_the_column_are_refused(at: int, entry: int) -> None:
    good = encoded(np.arange(100) ** 2)
    table = good.table.copy()
    table[0, at] = entry
    with pytest.raises(GraphInvariantError, match="do not make up"):
        Coded(table, good.data)


@pytest.mark.parametrize(("entries", "size"), [(99, 2), (101, 2), (100, 4)])
def test_pieces_of_another_size_are_refused(entries: int, size: int) -> None:
    good = encoded(np.arange(100) ** 2)
    table = good.table.copy()
    table[0, 0], table[0, 2] = entries, size
    with pytest.raises(GraphInvariantError, match="cannot be expanded"):
        Coded(table, good.data).expand()


@given(st.data())
@settings(deadline=None)
def test_damaged_pieces_are_refused_or_have_their_length(data: st.DataObject) -> None:
    good = encoded(np.random.default_rng(1).integers(0, 1000, 500))
    damaged = good.data.copy()
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert len(Coded(good.table, damaged).expand()) == 500
    except GraphInvariantError as error:
        assert "cannot be expanded" in str(error)


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
    assert column.bounds() == (min(values), max(values))
