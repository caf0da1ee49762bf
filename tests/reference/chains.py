"""Sources of rows in final form: vertices instead of labels, self-sources out, no source twice in a term."""

from dataclasses import dataclass

import numpy as np

from commanalyzer.foundation.flows import Fold
from tests.reference.arrays import Bool, Int32, Int64, UInt8
from tests.reference.expand import FlatRows, pointer


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
        source: int32[S], vertex of each label, -1 for none.
        role: uint8[S].
        sink: int64[R], vertex, -1 for fills.
        site_fold: int64[R], fold of the row's site.
        self_label: int64[R], which plain label is the sink's own version in the fold, -1 for none.
        is_register: bool[R].
    """
    num_rows = len(sink)
    is_self = source == np.repeat(sink, np.diff(flat.row_start))
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
    """Sources and roles, in order within segments, and which to keep.

    Of equal sources in a segment the one with the strongest (smallest) role stays.
    """
    segment = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.lexsort((role, source, segment))
    source, role, keep = source[order], role[order], keep[order]
    keep[1:] &= (source[1:] != source[:-1]) | (segment[1:] != segment[:-1])
    return source, role, keep
