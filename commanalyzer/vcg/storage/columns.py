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


@dataclass(frozen=True, slots=True)
class Column:
    """Name, and type when expanded."""

    name: str
    dtype: np.dtype[np.generic]


def _column(name: str, dtype: str) -> Column:
    return Column(name, np.dtype(dtype))


VERTEX_COLUMNS = (
    _column("home_object", "int32"),
    _column("home_offset", "int64"),
    _column("width_bytes", "uint8"),
    _column("versions", "int64"),
    _column("is_temporary", "bool"),
    _column("is_input", "bool"),
    _column("producer_site", "int32"),
    _column("work_flops", "float64"),
)
ROW_COLUMNS = (
    _column("row_sink", "int32"),
    _column("row_count", "int64"),
    _column("row_site", "int32"),
    _column("row_fold", "uint8"),
    _column("row_accumulates", "bool"),
    _column("row_terms", "int64"),
)
TERM_COLUMNS = (_column("term_sources", "int64"),)
FLOW_COLUMNS = (_column("source", "int32"), _column("source_role", "uint8"))
COLUMNS = (*VERTEX_COLUMNS, *ROW_COLUMNS, *TERM_COLUMNS, *FLOW_COLUMNS)


def coded(column: Int64, spill: Spill) -> Coded:
    """Return a column in coded form."""
    writer = ColumnWriter(spill)
    writer.append(column)
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
