"""Trace rows as flat arrays: labels and run-coded groups written out, one entry per source.

Input: a :class:`Trace`. Output: :class:`FlatRows`. Labels are still those of the shim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.trace_layout import ROW_FILL, ROW_WIDE
from commanalyzer.trace.reader import Trace

UInt64 = NDArray[np.uint64]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Sources of all rows except fills.

    Attributes:
        row: int64[S], row of each source, not decreasing.
        term: int64[S], number of the source's term inside its row; 0 for labels outside of groups.
        position: int64[S], position among the plain labels of its row; -1 inside groups.
        label: uint64[S], label as recorded (never 0).
    """

    row: Int64
    term: Int64
    position: Int64
    label: UInt64


def expand_rows(trace: Trace) -> FlatRows:
    """Write out all labels of ``trace``; linear in the number of sources."""
    plain_row, plain_position, plain_label = _plain_labels(trace)
    group_row, group_term, group_label = _group_labels(trace)
    row = np.concatenate([plain_row, group_row])
    term = np.concatenate([np.zeros(len(plain_row), np.int64), group_term])
    position = np.concatenate([plain_position, np.full(len(group_row), -1, np.int64)])
    label = np.concatenate([plain_label, group_label])
    keep = label != 0
    if not len(group_row):  # plain labels are in row order already
        return FlatRows(row[keep], term[keep], position[keep], label[keep])
    order = np.argsort(row[keep], kind="stable")
    return FlatRows(row[keep][order], term[keep][order], position[keep][order], label[keep][order])


def segment_positions(lengths: Int64) -> Int64:
    """0, 1, ..., length-1 for every segment, one after the other."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)


def _plain_labels(trace: Trace) -> tuple[Int64, Int64, UInt64]:
    heads = trace.heads
    flags = heads["flags"].astype(np.int64)
    count = heads["num_labels"].astype(np.int64)
    wide = (flags & ROW_WIDE) != 0
    units = count * np.where(wide, 2, 1)
    first_unit = np.cumsum(units) - units
    rows = np.flatnonzero((flags & ROW_FILL) == 0)
    lengths = count[rows]
    row = np.repeat(rows, lengths)
    position = segment_positions(lengths)
    at = first_unit[row] + position * np.where(wide[row], 2, 1)
    units_array = np.asarray(trace.labels)
    low = units_array[at]
    label = heads["sink"][row] + low.astype(np.int64).astype(
        np.uint64
    )  # modulo 2^64: differences may be negative
    is_wide = wide[row]
    if is_wide.any():
        at_wide = at[is_wide]
        bits = units_array.view(np.uint32)
        label[is_wide] = bits[at_wide].astype(np.uint64) | (
            bits[at_wide + 1].astype(np.uint64) << np.uint64(32)
        )
    return row, position, label


def fill_lengths(trace: Trace, rows: Int64) -> Int64:
    """Number of words that each fill row covers."""
    flags = trace.heads["flags"].astype(np.int64)
    units = trace.heads["num_labels"].astype(np.int64) * np.where((flags & ROW_WIDE) != 0, 2, 1)
    first = (np.cumsum(units) - units)[rows]
    bits = np.asarray(trace.labels).view(np.uint32)
    low, high = bits[first].astype(np.int64), bits[first + 1].astype(np.int64)
    return np.asarray(low | (high << 32))


def _group_labels(trace: Trace) -> tuple[Int64, Int64, UInt64]:
    groups = trace.groups
    count, width = groups["count"].astype(np.int64), groups["width"].astype(np.int64)
    group_row = groups["row"].astype(np.int64)
    # terms of a row are numbered from 1 through all its groups
    terms_before = np.cumsum(count) - count
    first_of_row = np.ones(len(group_row), bool)
    first_of_row[1:] = group_row[1:] != group_row[:-1]
    base = np.maximum.accumulate(np.where(first_of_row, terms_before, 0)) if len(group_row) else terms_before
    lengths = count * width
    group = np.repeat(np.arange(len(group_row), dtype=np.int64), lengths)
    within = segment_positions(lengths)
    index, slot = np.divmod(within, width[group])
    first = groups["first"].astype(np.int64)[group]
    is_listed = (groups["is_listed"] != 0)[group]
    label = np.empty(len(group), np.uint64)
    label[is_listed] = trace.listed[(first + within)[is_listed]]
    in_run = ~is_listed
    run = (first + slot)[in_run]
    advance = (index[in_run] * trace.runs["stride"][run]).astype(np.uint64)
    label[in_run] = trace.runs["start"][run] + advance
    return group_row[group], 1 + (terms_before - base)[group] + index, label
