"""What a division of an affinity graph cuts, and how even it is."""

from __future__ import annotations

import numpy as np

from commanalyzer.partition.libraries.adjacency import Adjacency
from commanalyzer.vcg.graph import Float64, Int32


def edge_cut(graph: Adjacency, part: Int32) -> int:
    """Bytes of the edges whose ends lie in different parts."""
    one = np.repeat(part, np.diff(graph.pointer))
    return int(graph.edge_bytes[one != part[graph.neighbour]].sum()) // 2


def imbalance(work_flops: Float64, part: Int32, num_parts: int) -> float:
    """Work of the part with most over the mean."""
    load = np.bincount(part, work_flops, num_parts)
    return float(load.max() / load.mean())
