"""Links of a large graph: value graph + numbers of its values -> bytes between each two numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.division.coarsening import kernels
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Int32, Int64

_FIRST_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Links:
    """Links between coarse vertices (0 to N - 1) and hubs (from N), each pair once, in order of pairs."""

    one: Int64  # [L], the lower number
    other: Int64  # [L], the higher one
    sums: Int64  # [L, 3], bytes, bytes shared by readers (in 64ths), and uses by hubs


def find_links(
    graph: AnyGraph,
    number: Int32,
    num_coarse: int,
    num_numbers: int,
    readers: Int32,
    *,
    most: int | None = None,
) -> Links | None:
    """Return the links of all pairs of numbers; ``None`` as soon as there are more than ``most`` coarse ones.

    ``number`` (int32[V]) are coarse vertices, hubs from ``num_coarse`` on, ``num_numbers`` in all;
    ``readers`` (int32[V]) source entries that read each value.
    """
    values = kernels.Values(number, graph.versions, graph.width_bytes, readers)
    table = kernels.LinkTable(
        keys=np.full(_FIRST_SLOTS, -1, np.int64),
        sums=np.zeros((_FIRST_SLOTS, 3), np.int64),
        entries=np.zeros(2, np.int64),
        num_coarse=num_coarse,
        linked=np.full(num_numbers, -1, np.int32),
        place=np.zeros(num_numbers, np.int32),
    )
    for piece in row_slices(graph):
        row = term = 0
        while True:  # one step per growth of the table
            row, term = kernels.add_links(piece, row, term, values, table)
            if row == piece.num_rows:
                break
            keys, sums = kernels.grown(table.keys, table.sums)
            table = table._replace(keys=keys, sums=sums)
            table.linked.fill(-1)
        if most is not None and table.entries[kernels.INNER] > most:
            return None
    keys, sums = table.keys, table.sums
    filled = np.flatnonzero(keys >= 0)
    order = filled[np.argsort(keys[filled])]
    return Links(keys[order] >> 32, keys[order] & 0xFFFFFFFF, sums[order])
