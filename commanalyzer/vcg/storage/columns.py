"""Columns of a graph that is kept coded: which there are, how they are coded and expanded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from commanalyzer.vcg.graph import Int64
from commanalyzer.vcg.storage.coding import Coded, ColumnWriter, Reader
from commanalyzer.vcg.storage.spill import Spill

PIECE_FLOWS = 1 << 20
"""Flows that are coded at once."""


@dataclass(frozen=True, slots=True)
class Column:
    """Name, type when expanded, and about the bytes of an entry that no pattern covers."""

    name: str
    dtype: np.dtype[np.generic]
    entry_bytes: int


def _column(name: str, dtype: str, entry_bytes: int) -> Column:
    return Column(name, np.dtype(dtype), entry_bytes)


VERTEX_COLUMNS = (
    _column("home_object", "int32", 1),
    _column("home_offset", "int64", 3),
    _column("width_bytes", "uint8", 1),
    _column("versions", "int64", 1),
    _column("is_temporary", "bool", 1),
    _column("is_input", "bool", 1),
    _column("producer_site", "int32", 1),
    _column("work_flops", "float64", 8),
)
ROW_COLUMNS = (
    _column("row_sink", "int32", 3),
    _column("row_count", "int64", 1),
    _column("row_site", "int32", 1),
    _column("row_fold", "uint8", 1),
    _column("row_accumulates", "bool", 1),
    _column("row_terms", "int64", 1),
)
TERM_COLUMNS = (_column("term_sources", "int64", 1),)
FLOW_COLUMNS = (_column("source", "int32", 3), _column("source_role", "uint8", 1))
COLUMNS = (*VERTEX_COLUMNS, *ROW_COLUMNS, *TERM_COLUMNS, *FLOW_COLUMNS)


def coded(column: Int64, spill: Spill) -> Coded:
    """Return a column in coded form."""
    writer = ColumnWriter(spill)
    for first in range(0, len(column), PIECE_FLOWS):
        writer.append(column[first : first + PIECE_FLOWS])
    return writer.finish()


def row_columns(
    coded_columns: Mapping[str, Coded], pages: Iterable[Int64]
) -> Iterator[tuple[NDArray[np.generic], ...]]:
    """Yield some columns of all rows, page by page."""
    columns = {c.name: c for c in ROW_COLUMNS}
    readers = [(columns[name], Reader.of(column)) for name, column in coded_columns.items()]
    for low, high in pairwise(int(page[0]) for page in pages):
        yield tuple(entries(column, reader, low, high) for column, reader in readers)


def entries(column: Column, reader: Reader, low: int, high: int) -> NDArray[np.generic]:
    """Return the entries ``low`` to ``high - 1`` of a column."""
    out = np.empty(high - low, column.dtype)
    is_float = column.dtype.kind == "f"
    reader.fill(out.view(np.int64) if is_float else out, low)
    return out
