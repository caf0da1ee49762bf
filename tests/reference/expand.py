"""Trace rows as flat arrays: labels and packed groups written out, one entry per source.

Input: a :class:`Trace`. Output: :class:`FlatRows`. Labels are still those of the shim. Rows keep the order of
their first occurrence; time and memory are linear.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.recording import abi
from commanalyzer.recording.trace import Trace
from tests.reference.arrays import Int64, UInt64


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Sources of all rows; fills have none.

    Row r has its plain labels first, in recorded order, then the terms of its groups.

    Attributes:
        label: uint64[S], labels as recorded (0 for none).
        row_start: int64[R + 1], first source of each row.
        segment_start: int64[G + 1], first source of each segment: the plain labels of a row (if there are
            any), then one segment per term.
        segment_row: int64[G], row of each segment.
    """

    label: UInt64
    row_start: Int64
    segment_start: Int64
    segment_row: Int64


def expand_rows(trace: Trace) -> FlatRows:
    flags = trace.heads["flags"].astype(np.int64)
    is_fill = (flags & abi.ROW_FILL) != 0
    num_plain = np.where(is_fill, 0, trace.heads["num_labels"].astype(np.int64))
    groups = np.asarray(trace.groups)
    group_row = groups["row"].astype(np.int64)
    count, width = groups["count"].astype(np.int64), groups["width"].astype(np.int64)
    in_groups = np.bincount(group_row, weights=count * width, minlength=len(flags)).astype(np.int64)
    row_start = pointer(num_plain + in_groups)
    label = np.zeros(int(row_start[-1]), np.uint64)
    _write_plain(trace, flags, num_plain, row_start, label)
    _write_groups(trace, groups, row_start[:-1] + num_plain, label)
    segment_start, segment_row = _segments(num_plain, group_row, count, width)
    return FlatRows(label, row_start, segment_start, segment_row)


def pointer(lengths: Int64) -> Int64:
    """int64[n + 1], 0 and the running sum of ``lengths``."""
    result = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=result[1:])
    return result


def segment_positions(lengths: Int64) -> Int64:
    """0, 1, ..., length-1 for every segment, one after the other."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)


def fill_lengths(trace: Trace, rows: Int64) -> Int64:
    """Number of words that each fill row covers."""
    first = _first_units(trace)[rows]
    bits = np.asarray(trace.labels).view(np.uint32)
    low, high = bits[first].astype(np.int64), bits[first + 1].astype(np.int64)
    return np.asarray(low | (high << 32))


def _first_units(trace: Trace) -> Int64:
    flags = trace.heads["flags"].astype(np.int64)
    units = trace.heads["num_labels"].astype(np.int64) * np.where((flags & abi.ROW_WIDE) != 0, 2, 1)
    return np.asarray(np.cumsum(units) - units)


def expanded(units: Int64) -> Int64:
    """Labels that the units of compact rows stand for."""
    bits = units & 0xFFFFFFFF
    value, roles = bits & ((1 << abi.COMPACT_BITS) - 1), bits >> abi.COMPACT_BITS & 3
    return np.asarray(
        value + np.where(bits >> 31 == 1, abi.REGISTER, abi.COMPACT_FIRST) + roles * abi.CONTROL
    )


def _write_plain(trace: Trace, flags: Int64, num_plain: Int64, row_start: Int64, label: UInt64) -> None:
    first_unit = _first_units(trace)
    wide = (flags & abi.ROW_WIDE) != 0
    sink = np.asarray(trace.heads["sink"])
    units = np.asarray(trace.labels)
    bits = units.view(np.uint32)
    narrow_rows, wide_rows = np.flatnonzero(~wide), np.flatnonzero(wide)
    lengths = num_plain[narrow_rows]
    position = segment_positions(lengths)
    difference = units[np.repeat(first_unit[narrow_rows], lengths) + position].astype(np.int64)
    target = np.repeat(row_start[narrow_rows], lengths) + position
    # modulo 2^64, because differences may be negative
    label[target] = np.repeat(sink[narrow_rows], lengths) + difference.astype(np.uint64)
    is_compact = np.repeat(flags[narrow_rows] & abi.ROW_COMPACT != 0, lengths)
    label[target[is_compact]] = expanded(difference[is_compact]).astype(np.uint64)
    lengths = num_plain[wide_rows]
    position = segment_positions(lengths)
    at = np.repeat(first_unit[wide_rows], lengths) + 2 * position
    target = np.repeat(row_start[wide_rows], lengths) + position
    label[target] = bits[at].astype(np.uint64) | (bits[at + 1].astype(np.uint64) << np.uint64(32))


def _write_groups(trace: Trace, groups: NDArray[np.void], row_base: Int64, label: UInt64) -> None:
    """Labels of all groups; the groups of a row follow each other in the trace."""
    row = groups["row"].astype(np.int64)
    count, width = groups["count"].astype(np.int64), groups["width"].astype(np.int64)
    lengths = count * width
    start = pointer(lengths)[:-1]
    _, opens, number = np.unique(row, return_index=True, return_inverse=True)
    base = row_base[row] + start - start[opens[number]]
    first = groups["first"].astype(np.int64)
    is_listed = groups["is_listed"] != 0
    group, within = np.repeat(np.arange(len(row)), lengths), segment_positions(lengths)
    index, slot = np.divmod(within, width[group])
    target = base[group] + within
    listed = is_listed[group]
    label[target[listed]] = trace.listed[(first[group] + within)[listed]]
    run = (first[group] + slot)[~listed]
    advance = (index[~listed] * trace.runs["stride"][run]).astype(np.uint64)
    label[target[~listed]] = trace.runs["start"][run] + advance


def _segments(num_plain: Int64, group_row: Int64, count: Int64, width: Int64) -> tuple[Int64, Int64]:
    """Starts and rows of all segments, in the order of their sources."""
    with_plain = np.flatnonzero(num_plain > 0)
    row = np.concatenate([with_plain, np.repeat(group_row, count)])
    length = np.concatenate([num_plain[with_plain], np.repeat(width, count)])
    order = np.argsort(row, kind="stable")  # radix sort; plain labels stay in front of the terms
    return pointer(length[order]), row[order]
