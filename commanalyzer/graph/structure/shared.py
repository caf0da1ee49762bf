"""Rows that join values of several owners: all others move nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled_in_place, frozen
from commanalyzer.graph.storage.large import AnyGraph
from commanalyzer.graph.storage.rows import chosen_rows
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.value_graph import Bool, Int32, Rows


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Rows of a graph, in order; a :class:`~commanalyzer.graph.storage.slices.Sliceable`.

    Attributes:
        graph: The graph.
        owner: int32[V], owners; values with others than 0 to ``num_owners`` - 1 do not count.
        num_owners: Number of owners.
    """

    graph: AnyGraph
    owner: Int32
    num_owners: int

    def slices(self, flows: int = 0, wanted: Bool | None = None) -> Iterator[Rows]:
        """Yield what these rows are in each slice, arguments as of :func:`.row_slices`."""
        owner = frozen(self.owner, np.int32)
        for rows in row_slices(self.graph, flows, wanted):
            is_shared = np.zeros(rows.num_rows, np.bool_)
            mark_shared(rows, owner, self.num_owners, is_shared)
            yield chosen_rows(rows, is_shared)


@compiled_in_place
def mark_shared(rows: Any, owner: Any, num_owners: Any, is_shared: Any) -> None:
    """Mark the rows of a slice that join values of several owners; others than these are nobody's."""
    for r in range(len(rows.row_sink)):
        home = owner[rows.row_sink[r]]
        for i in range(rows.source_ptr[rows.term_ptr[r]], rows.source_ptr[rows.term_ptr[r + 1]]):
            other = owner[rows.source[i]]
            if 0 <= other < num_owners:
                is_shared[r] |= 0 <= home < num_owners and home != other
                home = other
