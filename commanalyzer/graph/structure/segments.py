"""Array helpers for compressed sparse rows: gather ranges, group pairs.

Pairs of indices are packed into 64-bit keys and sorted, which is both faster and smaller than a dense V x p
array.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.graph.value_graph import Bool, Int32, Int64, Rows


def expand_ranges(start: Int64, length: Int64) -> Int64:
    """Return the concatenation of ``arange(start[i], start[i] + length[i])`` over all i."""
    total = int(length.sum())
    ends = np.cumsum(length)
    return np.asarray(np.arange(total, dtype=np.int64) + np.repeat(start - (ends - length), length))


def pointer_from_counts(counts: Int64 | Bool) -> Int64:
    """Return int64[n + 1], the row pointer of ``n`` rows with the given numbers of entries."""
    pointer = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=pointer[1:])
    return pointer


def sorted_unique(keys: Int64) -> Int64:
    """Return the distinct values of ``keys``, ascending; ``keys`` is changed. Faster than hashing them."""
    keys.sort()
    return keys[group_starts(keys)]


def group_starts(sorted_keys: Int32 | Int64) -> Int64:
    """Return int64[G], where each run of equal values in ``sorted_keys`` begins."""
    if len(sorted_keys) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1]))).astype(np.int64)


def order_by(key: Int32 | Int64, size: int) -> tuple[Int64, Int32 | Int64]:
    """Return where the entries of each key in [0, size) begin, and their indices: int64[size + 1], int[N]."""
    from scipy.sparse import csr_array

    n = len(key)
    by_key = csr_array((np.ones(n, np.int8), key, np.arange(n + 1)), shape=(n, size)).tocsc()
    return by_key.indptr.astype(np.int64), by_key.indices


def row_of_term(rows: Rows) -> Int64:
    """Return int64[T], the row that each term belongs to."""
    return np.repeat(np.arange(rows.num_rows, dtype=np.int64), np.diff(rows.term_ptr))


def sink_of_source(rows: Rows) -> Int32:
    """Return int32[S], the sink that each source entry flows to."""
    return np.repeat(rows.row_sink, np.diff(rows.row_ptr))


def count_of_source(rows: Rows) -> Int64:
    """Return int64[S], how often the row of each source entry happened."""
    return np.repeat(rows.row_count, np.diff(rows.row_ptr))
