"""Sources of rows in final form: vertices instead of labels, self-sources out, no source twice in a term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.flows import Fold
from tests.reference.expand import CHUNK, FlatRows, chunks, pointer

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chains:
    """Terms and sources of all rows.

    Attributes:
        source: int32[S], vertices.
        role: uint8[S].
        source_ptr: int64[T + 1], first source of each term; no term is empty.
        term_row: int64[T], row of each term, not decreasing.
        fold: int64[R], a site's fold where the sink really was its own operand, else ``NONE``.
        accumulates: bool[R], the row reads its own sink.
    """

    source: Int32
    role: UInt8
    source_ptr: Int64
    term_row: Int64
    fold: Int64
    accumulates: Bool


def make_chains(
    flat: FlatRows,
    source: Int32,
    role: UInt8,
    sink: Int64,
    site_fold: Int64,
    self_label: Int64,
    is_register: Bool,
) -> Chains:
    """Bring expanded rows into final form.

    Args:
        flat: Expanded rows.
        source: int32[S], vertex of each label, -1 for none.
        role: uint8[S].
        sink: int64[R], vertex, -1 for fills.
        site_fold: int64[R], fold of the row's site.
        self_label: int64[R], which plain label is the sink's own version in the fold, -1 for none.
        is_register: bool[R].
    """
    num_rows = len(sink)
    is_self = np.zeros(len(source), bool)
    for first, last in chunks(np.diff(flat.row_start)):
        begin, end = flat.row_start[first], flat.row_start[last]
        lengths = np.diff(flat.row_start[first : last + 1])
        is_self[begin:end] = source[begin:end] == np.repeat(sink[first:last], lengths)
    own = np.flatnonzero(is_self)
    row_of_own = np.searchsorted(flat.row_start, own, side="right") - 1
    accumulates = np.zeros(num_rows, bool)
    accumulates[row_of_own] = True
    by_operation = np.zeros(num_rows, bool)
    by_operation[row_of_own[own - flat.row_start[row_of_own] == self_label[row_of_own]]] = True
    fold = np.where(is_register | by_operation, site_fold, int(Fold.NONE))
    start, row = _joined_segments(flat, fold)
    keep = (source >= 0) & ~is_self
    source, role, keep = _distinct(source, role, keep, start)
    lengths = np.add.reduceat(keep, start[:-1], dtype=np.int64) if len(start) > 1 else np.zeros(0, np.int64)
    filled = lengths > 0
    return Chains(source[keep], role[keep], pointer(lengths[filled]), row[filled], fold, accumulates)


def _joined_segments(flat: FlatRows, fold: Int64) -> tuple[Int64, Int64]:
    """Segments of rows without a fold made one."""
    opens = np.ones(len(flat.segment_row), bool)
    opens[1:] = flat.segment_row[1:] != flat.segment_row[:-1]
    keep = opens | (fold[flat.segment_row] != int(Fold.NONE))
    return np.append(flat.segment_start[:-1][keep], flat.segment_start[-1]), flat.segment_row[keep]


def _distinct(source: Int32, role: UInt8, keep: Bool, start: Int64) -> tuple[Int32, UInt8, Bool]:
    """Sources and roles, reordered within segments where needed, and which to keep.

    Of equal sources in a segment the one with the strongest (smallest) role stays.
    """
    length = np.diff(start)
    key = (source.astype(np.int64) << 2) | role
    key[~keep] = -1  # removed ones come first when sorted
    if not len(length):
        return source, role, keep
    by_length = np.argsort(length, kind="stable")
    sizes, first_of_size = np.unique(length[by_length], return_index=True)
    for size, segments in zip(sizes.tolist(), np.split(by_length, first_of_size[1:]), strict=True):
        if size < 2:
            continue
        step = max(1, CHUNK // size)
        for first in range(0, len(segments), step):
            _sort_table(key, keep, start[segments[first : first + step]], size)
    return (key >> 2).astype(np.int32), (key & 3).astype(np.uint8), keep


def _sort_table(key: Int64, keep: Bool, begin: Int64, size: int) -> None:
    """Sort segments of equal size and unmark repeated sources."""
    at = begin[:, None] + np.arange(size)
    table = key[at]
    if size == 2:
        swap = table[:, 0] > table[:, 1]
        table[swap] = table[swap][:, ::-1]
    else:
        table.sort(axis=1)
    key[at] = table
    fresh = table >= 0
    fresh[:, 1:] &= (table[:, 1:] >> 2) != (table[:, :-1] >> 2)
    keep[at] = fresh
