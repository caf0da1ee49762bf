"""A division among fewer parts gives one among more: parts -> pieces of each, divided by METIS.

What is found for fewer parts is a good beginning where the search among more goes wrong.
"""

from __future__ import annotations

import math

import numpy as np

from commanalyzer.partition.budget import Limit
from commanalyzer.partition.libraries.adjacency import Adjacency
from commanalyzer.partition.libraries.concurrency import Caller
from commanalyzer.partition.libraries.metis import partition
from commanalyzer.vcg.graph import Int32
from commanalyzer.vcg.structure.segments import expand_ranges, pointer_from_counts


def usual_growth(fewer: int, more: int) -> float:
    """Return how many times as many bytes blocks of two dimensions send among more parts.

    Square blocks cut 2 (sqrt p - 1) lines. Slabs grow faster and cubes more slowly: what grows faster than
    squares although fewer parts were divided well is worth another look.
    """
    return (math.sqrt(more) - 1.0) / (math.sqrt(fewer) - 1.0)


def split_parts(
    adjacency: Adjacency,
    part: Int32,
    num_parts: int,
    pieces: int,
    *,
    seed: int,
    imbalance: float,
    caller: Caller,
    limit: Limit,
) -> Int32:
    """Return int32[N], parts of the vertices where each part is divided into as many pieces.

    Args:
        adjacency: Affinity graph.
        part: int32[N], parts.
        num_parts: Number of these.
        pieces: Of each part, at least 2.
        seed: Seed of METIS.
        imbalance: Allowed excess of the largest piece over the mean of its part.
        caller: What calls METIS.
        limit: How long METIS may take for all parts.

    Raises:
        PartitionError: If a part has fewer vertices than pieces, or METIS fails.
    """
    order = np.argsort(part, kind="stable")  # vertices of a part stay in order: so do their neighbours
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    one = adjacency.vertex_of_edge()
    inside = np.flatnonzero(part[one] == part[adjacency.neighbour])
    degree = np.bincount(one[inside], minlength=len(part))
    edge = inside[expand_ranges(pointer_from_counts(degree)[order], degree[order])]
    pointer, neighbour = pointer_from_counts(degree[order]), rank[adjacency.neighbour[edge]]
    begin = pointer_from_counts(np.bincount(part, minlength=num_parts))
    result = np.empty(len(part), np.int32)
    for number in range(num_parts):  # one step per part
        first, last = begin[number : number + 2].tolist()
        low, high = pointer[[first, last]].tolist()
        some = Adjacency(
            pointer[first : last + 1] - low,
            neighbour[low:high] - first,
            adjacency.edge_bytes[edge[low:high]],
            adjacency.work_flops[order[first:last]],
        )
        found = partition(some, pieces, seed=seed, imbalance=imbalance, caller=caller, limit=limit)
        result[order[first:last]] = number * pieces + found.part
    return result
