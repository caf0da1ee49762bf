"""Checks of a coded graph that was read from a file: compiled loops do not look again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from commanalyzer.errors import GraphInvariantError
from commanalyzer.vcg.graph import LIMITS, check_limits
from commanalyzer.vcg.storage.coding import PIECE, Reader
from commanalyzer.vcg.storage.columns import ROW_COLUMNS, TERM_COLUMNS, Column, entries
from commanalyzer.vcg.storage.spill import machine_bytes
from commanalyzer.vcg.storage.store import GraphStore

_INCONSISTENT = "value graph is inconsistent:"


def require_sound(store: GraphStore) -> None:
    """Raise unless every column lies within its limits, and pages hold what their rows say.

    Takes as long as the columns have bytes and rows and terms have entries; nothing large is expanded.

    Raises:
        GraphInvariantError: If they do not.
    """
    counts = {"objects": len(store.objects), "sites": len(store.sites), "vertices": store.num_vertices}
    for name, coded in store.columns.items():
        least, most = Reader.of(coded).bounds()
        if name in LIMITS and most >= least:
            check_limits(name, least, most, counts)
        elif least < 0:
            raise GraphInvariantError(f"{_INCONSISTENT} {name} must not be negative")
    if store.pages[0].any() or np.any(np.diff(store.pages, axis=0) < 0):
        raise GraphInvariantError(f"{_INCONSISTENT} its pages do not follow each other")
    if 8 * int(np.diff(store.pages, axis=0).sum(axis=1).max(initial=0)) > machine_bytes():
        raise GraphInvariantError(f"{_INCONSISTENT} one of its pages exceeds the memory")
    for at, column in enumerate((ROW_COLUMNS[-1], TERM_COLUMNS[-1])):
        _require_sums(store, column, at)


def _require_sums(store: GraphStore, column: Column, at: int) -> None:
    """Raise unless the lengths in ``column`` add up to what pages say in the place behind ``at``."""
    reader = Reader.of(store.columns[column.name])
    for (first, total), (last, end) in pairwise(store.pages[:, at : at + 2].tolist()):
        for low in range(first, last, PIECE):
            total += int(entries(column, reader, low, min(last, low + PIECE)).sum())
        if total != end:
            raise GraphInvariantError(f"{_INCONSISTENT} {column.name} and pages differ")
