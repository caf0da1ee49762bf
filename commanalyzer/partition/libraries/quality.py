"""Quality of a partition, computed without the partitioner that made it.

Reference: paper Section 4.2.2 (load balance, edge cut, connected components per node).
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.compiled import frozen
from commanalyzer.partition.libraries.adjacency import Adjacency
from commanalyzer.partition.libraries.adjacency_kernels import label_components
from commanalyzer.vcg.graph import Float64, Int32, Int64


def edge_cut(adjacency: Adjacency, part: Int32) -> int:
    """Return the bytes of all edges whose ends lie in different parts."""
    cut = part[adjacency.vertex_of_edge()] != part[adjacency.neighbour]
    return int(adjacency.edge_bytes[cut].sum()) // 2


def part_work(work_flops: Float64, part: Int32, num_parts: int) -> Float64:
    """Return float64[p], work of each part."""
    return np.bincount(part, work_flops, minlength=num_parts).astype(np.float64)


def imbalance(work_flops: Float64, part: Int32, num_parts: int) -> float:
    """Return the largest part's work over the mean, 1.0 is perfect; without any work, count vertices."""
    weight = work_flops if work_flops.sum() > 0 else np.ones(len(part), dtype=np.float64)
    load = part_work(weight, part, num_parts)
    mean = float(load.mean())
    return float(load.max()) / mean if mean > 0 else 1.0


def component_labels(adjacency: Adjacency) -> tuple[int, Int64]:
    """Return the number of connected components and int64[N], the component of each vertex."""
    label = np.arange(adjacency.num_vertices)
    links = frozen(adjacency.pointer, np.int64), frozen(adjacency.neighbour, np.int64)
    return label_components(*links, label), label
