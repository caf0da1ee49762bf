"""Ranges whose rows are never written out: they go from the trace to the graph as patterns.

The rows of a segment make *lines* if sinks and sources advance from vertex to vertex by the same step in
every round, and their order within a row is the same in all rounds. A line is a block of a coded column
(:mod:`commanalyzer.vcg.storage.coding`). Segments that share rows with others (cut or merged,
:mod:`commanalyzer.vcg.reading.ranges`), that cross the border of an array, or that are short are written out.

Input: columns of a trace and the vertices of words. Output: :class:`CodedRanges`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.reading.ranges import RangeTable
from commanalyzer.vcg.storage.coding import Blocks

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]

_TERM, _SOURCE = "term_sources", ("source", "source_role")
_BEFORE = 4  # columns of pieces: rows written before; terms and sources follow


@dataclass(frozen=True, slots=True)
class CodedRanges:
    """The segments of a trace in final form.

    Attributes:
        is_kept: bool[N], the segment stays coded; all that follows is about these.
        row: int64[N + 1], row of the trace.
        first_store: int64[N + 1], first store of each segment.
        sink: int64[S, 2], vertex in the first round and step.
        own: uint8[S]: 0: the store does not read its sink, 3: by its operation, 1: otherwise.
        site: int64[S].
        first_source: int64[S + 1], first source of each store.
        source: int64[K, 2], vertex in the first round and step.
        lines: Per column of rows, terms and sources its entries in one round and their steps, and first
            entry of each segment.
    """

    is_kept: Bool
    row: Int64
    first_store: Int64
    sink: Int64
    own: UInt8
    site: Int64
    first_source: Int64
    source: Int64
    lines: Mapping[str, tuple[Int64, Int64]]

    @classmethod
    def of(
        cls,
        table: RangeTable | None,
        counts: Int64,
        places: tuple[Int64, Int64, Int32, Int32],
        self_label: Int64,
        fold: Int64,
    ) -> CodedRanges:
        """Bring the segments of ``table`` that make lines into final form.

        Args:
            table: Ranges of the trace, if any.
            counts: int64[R], how often each row of the trace happened.
            places: Starts and base of ranges of words; vertices of words and of rows.
            self_label: int64, per site the label that is the sink's own version in its operation.
            fold: int64, per site.
        """
        from commanalyzer.vcg.reading.coded_range_kernels import form_segments

        if table is None:
            return cls._none()
        is_kept, num_stores, num_labels = (
            np.zeros(len(table.rounds), np.bool_),
            len(table.stores),
            len(table.labels),
        )
        first_source = np.zeros(num_stores + 1, np.int64)
        sink, own = np.zeros((num_stores, 2), np.int64), np.zeros(num_stores, np.uint8)
        source, role = np.empty((num_labels, 2), np.int64), np.empty(num_labels, np.uint8)
        found = form_segments(
            table.columns, places, self_label, is_kept, first_source, sink, own, (source, role)
        )
        segment = np.repeat(np.arange(len(table.rounds)), np.diff(table.first_store))
        site, lengths = np.ascontiguousarray(table.stores[:, 0]), np.diff(first_source)
        of_stores = {
            "row_count": counts[table.row[segment]],
            "row_site": site,
            "row_fold": np.where(own == 3, fold[site], 0),
            "row_accumulates": own != 0,
            "row_terms": lengths > 0,
        }
        lines = {name: (table.first_store, _constant(values)) for name, values in of_stores.items()}
        lines["row_sink"] = table.first_store, sink
        first_term = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths > 0)])[table.first_store]
        lines[_TERM] = first_term, _constant(lengths[lengths > 0])
        of_segment = first_source[table.first_store]
        lines["source"] = of_segment, source[:found]
        lines["source_role"] = of_segment, _constant(role[:found])
        return cls(is_kept, table.row, table.first_store, sink, own, site, first_source, source, lines)

    @classmethod
    def _none(cls) -> CodedRanges:
        one, lines = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
        return cls(np.zeros(0, np.bool_), one, one, lines, np.zeros(0, np.uint8), one, one, lines, {})

    @property
    def columns(self) -> tuple[Int64, Int64, Int64, UInt8, Int64, Int64, Int64]:
        """Columns that say what is read and stored, for kernels."""
        return self.row, self.first_store, self.sink, self.own, self.site, self.first_source, self.source

    def blocks(self, pieces: Int64) -> dict[str, Blocks]:
        """Blocks of each column for ``pieces`` (int64[k, 7], :mod:`.form_kernels`)."""
        from commanalyzer.vcg.reading.coded_range_kernels import blocks_of

        found: dict[str, Blocks] = {}
        if not len(pieces):
            return found
        for name, (first, value) in self.lines.items():
            column = _BEFORE + (1 if name == _TERM else 2 if name in _SOURCE else 0)
            segment = pieces[:, 1]
            starts = int((first[segment + 1] - first[segment]).sum())
            before, width, repeat = (np.empty(len(pieces), np.int64) for _ in range(3))
            start, stride = np.empty(starts, np.int64), np.empty(starts, np.int64)
            count, starts = blocks_of(pieces, column, before, first, value, width, repeat, start, stride)
            found[name] = Blocks(
                before[:count], width[:count], repeat[:count], start[:starts], stride[:starts]
            )
        return found


def _constant(values: NDArray[np.generic]) -> Int64:
    """int64[n, 2], lines that stay where they are."""
    return np.stack([values.astype(np.int64), np.zeros(len(values), np.int64)], axis=1)
