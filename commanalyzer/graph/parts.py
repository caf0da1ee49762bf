"""Arrays that lie in one object: members of a structure, and pieces of a block that pointers were set to.

``double *u = pool, *v = pool + n * n;`` and allocators that cut what they return from one block: the
recorder notes where a pointer to a piece was made (an extent of kind :data:`EXTENT_PART` without bytes). A
piece reaches to the next one. It is an array of its own if no loop of the analysed region runs across its
beginning: what reads or stores on both sides of it in one go sees one array, of which the pointer is a view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.allocations import Allocations, are_fields
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.recording.abi.hooks import ADDRESS_MASK, WORD_MASK
from commanalyzer.recording.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_PART
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.recording.trace import Trace

Int64 = NDArray[np.int64]


class _Piece(NamedTuple):
    """Where a pointer into an object was set to, byte of the object, and the path that made it."""

    start: int
    path: int


def parts_of(
    sites: SiteTable, trace: Trace, allocations: Allocations, tables: Tables
) -> dict[tuple[int, int], tuple[ObjectRecord, ...]]:
    """Arrays in the objects of a recording, in order, by kind and number of the extent.

    Args:
        sites: Sites and objects of the instrumented module.
        trace: Recording.
        allocations: Its paths.
        tables: Its columns.
    """
    found = {(EXTENT_GLOBAL, n): record.parts for n, record in enumerate(sites.globals) if record.parts}
    noted = trace.extents[trace.extents["kind"] == EXTENT_PART]
    if not len(noted):
        return found
    address = noted["start"].astype(np.int64)
    crossed = _crossed(np.unique((address & ADDRESS_MASK) >> 2), tables)
    pieces: dict[tuple[int, int], list[_Piece]] = {}
    for place, piece in _pieces(trace, address, noted["object"].astype(np.int64), crossed, allocations):
        pieces.setdefault(place, []).append(piece)
    for (kind, number), made in pieces.items():
        if kind == EXTENT_HEAP and allocations.layout(number).is_one_block:
            whole, own = allocations.record(number, 0), allocations.head(number)
        elif kind == EXTENT_GLOBAL and not sites.globals[number].parts:
            whole = own = sites.globals[number]
        else:
            continue
        key = whole.key.partition("+")[0]
        found[kind, number] = tuple(_arrays(whole, own, key, made, allocations))
    return found


def _pieces(
    trace: Trace, address: Int64, path: Int64, crossed: Int64, allocations: Allocations
) -> Iterator[tuple[tuple[int, int], _Piece]]:
    """Pieces that no loop runs across, with kind and number of the extents that they lie in."""
    extents = trace.extents[trace.extents["size"] > 0]
    extents = extents[np.argsort(extents["start"], kind="stable")]
    start = extents["start"].astype(np.int64)
    which = np.searchsorted(start, address, side="right") - 1
    within = address - start[which]
    is_known = (which >= 0) & (within < extents["size"].astype(np.int64)[which])
    is_crossed = np.isin((address & ADDRESS_MASK) >> 2, crossed)
    rows = [n for n in np.unique(path[is_crossed]).tolist() if not allocations.named(n).is_piece]
    is_known &= ~is_crossed & ~np.isin(path, rows)  # what else points to rows of one array is none
    for n in np.flatnonzero(is_known).tolist():  # one step per pointer in the source and block
        extent = extents[which[n]]
        piece = _Piece(int(within[n]) + int(extent["offset"]), int(path[n]))
        yield (int(extent["kind"]), int(extent["object"])), piece


def _arrays(
    whole: ObjectRecord, own: ObjectRecord, key: str, made: Sequence[_Piece], allocations: Allocations
) -> Iterator[ObjectRecord]:
    """The arrays of one object: what lies in front of the first piece, and the pieces."""
    end = whole.offset + whole.size_bytes
    first = {piece.start: piece for piece in reversed(made) if whole.offset <= piece.start < end}
    pieces = _joined([first[start] for start in sorted(first)], end)
    bounds = [piece.start for piece in pieces] + [end]
    if pieces and bounds[0] > whole.offset:
        yield replace(
            own, key=f"{key}+{whole.offset}", offset=whole.offset, size_bytes=bounds[0] - whole.offset
        )
    paths = [piece.path for piece in pieces]
    for n, piece in enumerate(pieces):
        record = allocations.named(piece.path)
        name = f"{record.name}[{paths[:n].count(piece.path)}]" if paths.count(piece.path) > 1 else record.name
        is_rest = record.is_piece and bounds[n + 1] == end  # the end of a pool, used or not
        size = 0 if is_rest else bounds[n + 1] - piece.start
        yield replace(record, key=f"{key}+{piece.start}", name=name, offset=piece.start, size_bytes=size)


def _joined(pieces: list[_Piece], end: int) -> list[_Piece]:
    """Pieces in order; those that one path made side by side are the rows of one array, but for fields."""
    bounds = [piece.start for piece in pieces] + [end]
    result, at = list[_Piece](), 0
    for _, run in groupby(pieces, key=lambda piece: piece.path):
        members = list(run)
        sizes = np.diff(bounds[at : at + len(members) + 1])
        at += len(members)
        result += members if are_fields(len(members), int(sizes.min())) else members[:1]
    return result


def _crossed(bounds: Int64, tables: Tables) -> Int64:
    """Those of some words (int64, increasing) that loops of the analysed region run across.

    A loop runs across a word if it reads or computes words in front of it and behind it, by the same
    instruction. Constants that are written say nothing: programs clear whole blocks.
    """
    changes = np.zeros(len(bounds) + 1, np.int64)
    for low, high in _spans(tables):
        np.add.at(changes, np.searchsorted(bounds, low, side="right"), 1)
        np.add.at(changes, np.searchsorted(bounds, high, side="right"), -1)
    return bounds[np.cumsum(changes)[:-1] > 0]


def _spans(tables: Tables) -> Iterator[tuple[Int64, Int64]]:
    """First and last words, int64[n] each, of what instructions touch in runs of loops."""
    is_counted = tables.cells[:, 1] > 0
    groups = tables.groups[is_counted[tables.groups[:, 0]] & (tables.groups[:, 3] >> 32 == 0)]
    width = groups[:, 3]
    each = np.repeat(np.arange(len(groups)), width)
    run = groups[each, 1] + np.arange(len(each)) - np.repeat(np.cumsum(width) - width, width)
    begin = tables.runs[run, 0] & WORD_MASK
    last = begin + tables.runs[run, 1] * (groups[each, 2] - 1)
    yield np.minimum(begin, last), np.maximum(begin, last)
    touched = tables.touched()
    touched = touched[np.argsort(touched[:, 0], kind="stable")]
    first = np.flatnonzero(np.diff(touched[:, 0], prepend=-1))
    if len(first):
        yield np.minimum.reduceat(touched[:, 1], first), np.maximum.reduceat(touched[:, 2], first)
