"""METIS adapter: affinity graph -> partition.

METIS checks nothing: short arrays are read past their end, asymmetric graphs and bad weights pass silently,
and an impossible number of parts is "unknown exception". Everything is therefore validated before the
call (:class:`.adjacency.Adjacency` its weights, requests seed and imbalance).

Reference: paper Section 4.2.2 (multilevel partitioning, balance, cut, connected parts).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymetis

from commanalyzer.division.budget import NO_LIMIT, Limit
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.concurrency import LibraryCaller
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Float64, Int32, Int64
from commanalyzer.request import DEFAULT_IMBALANCE

_MEAN_WORK_WEIGHT = 1000.0
_IDLE_SHARE = 0.01


def partition(
    graph: Adjacency,
    num_parts: int,
    *,
    seed: int = 1,
    imbalance: float = DEFAULT_IMBALANCE,
    caller: LibraryCaller | None = None,
    limit: Limit = NO_LIMIT,
) -> Int32:
    """Return int32[N], a balanced partition with a small edge cut.

    Parts, of which there may be 1 to max(N, 1), are contiguous where the graph is a connected mesh. Vertices
    without work get a small weight, because METIS mishandles zero weights: parts may differ in the number of
    such vertices, not in work. Parts are numbered by the mean index of their vertices. ``imbalance`` is the
    allowed excess of the largest part over the mean, for example 0.03. Raises ``PartitionError`` if the
    request is impossible or METIS fails.
    """
    count = graph.num_vertices
    if not 1 <= num_parts <= max(count, 1):
        hint = "use fewer nodes or a larger problem size"
        if not count:
            hint = "the program, or the region, stores no values that could be distributed"
        raise PartitionError(f"cannot divide {count} values among {num_parts} parts", hint=hint)
    if num_parts == 1:
        return np.zeros(count, dtype=np.int32)
    # Keeping parts contiguous takes METIS a search through a part for each vertex at its border: with long
    # borders (random links) it takes minutes, and of dense graphs almost any part is.
    options = {
        "seed": seed,
        "ufactor": max(1, round(imbalance * 1000)),
        "contig": int(graph.is_connected and graph.is_mesh),
    }
    links = graph.pointer, graph.neighbour, integer_work(graph.work_flops), graph.edge_bytes
    try:
        part = (caller or LibraryCaller()).call(divide, limit, num_parts, *links, options)
    except (RuntimeError, ValueError, TypeError) as error:
        raise PartitionError(f"METIS failed on {count} vertices: {error}") from error
    return _number_by_position(_fill_empty(part, num_parts), num_parts)


def divide(
    num_parts: int,
    pointer: Int64,
    neighbour: Int64,
    vertex_weight: Int64,
    edge_weight: Int64,
    options: dict[str, int],
) -> Int32:
    """Return int32[N], parts of a graph in compressed sparse rows by METIS's k-way method, with its options.

    ``pointer`` is [N + 1], ``neighbour`` and the weights of edges are [2 E]. Raises ``RuntimeError``,
    ``ValueError`` or ``TypeError`` if METIS fails.
    """
    index = pymetis.zero_copy_dtype()
    if index != np.int64:
        raise RuntimeError(f"expected a build of METIS with numbers of 64 bits, found {index}")
    with _no_remarks():
        result = pymetis.part_graph(
            num_parts,
            pymetis.CSRAdjacency(pointer, neighbour),
            vweights=vertex_weight,
            eweights=edge_weight,
            recursive=False,
            options=pymetis.Options(**options),
        )
    return np.asarray(result.vertex_part, dtype=np.int32)


@contextmanager
def _no_remarks() -> Iterator[None]:
    """Keep what METIS prints (parts that got no vertices, which it fills later) from the user's output.

    It prints by C's ``printf``, and keeps Python's lock: nothing else is written meanwhile.
    """
    c_library = ctypes.PyDLL(None)  # keeps the lock as well
    try:
        output = os.dup(1)
    except OSError:  # closed: nobody sees anything
        yield
        return
    c_library.fflush(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        c_library.fflush(None)
        os.dup2(output, 1)
        os.close(output)


def integer_work(work_flops: Float64) -> Int64:
    """Return int64[N], weights >= 1 in the order of the work; mean of the vertices with work 1000 or more.

    Vertices without work weigh 1 each and about a hundredth of the whole together at most, so that a part
    cannot have them instead of work.
    """
    positive = work_flops > 0
    count = int(positive.sum())
    if count == 0:
        return np.ones(len(work_flops), dtype=np.int64)
    mean = max(_MEAN_WORK_WEIGHT, (len(work_flops) - count) / (_IDLE_SHARE * count))
    scaled = work_flops * (mean / float(work_flops[positive].mean()))
    return np.maximum(np.rint(scaled), 1.0).astype(np.int64)


def _fill_empty(part: Int32, num_parts: int) -> Int32:
    """Return the partition with the last vertex of the most populous part moved into each empty part."""
    sizes = np.bincount(part, minlength=num_parts)
    moved = part.copy()
    for empty in np.flatnonzero(sizes == 0):
        donor = int(np.argmax(sizes))
        moved[np.flatnonzero(moved == donor)[-1]] = empty
        sizes[donor] -= 1
        sizes[empty] += 1
    return moved


def _number_by_position(part: Int32, num_parts: int) -> Int32:
    """Return the same parts, numbered by the mean index of their vertices."""
    position = np.bincount(part, np.arange(len(part), dtype=np.float64), minlength=num_parts)
    mean = position / np.bincount(part, minlength=num_parts)
    rank = np.empty(num_parts, dtype=np.int32)
    rank[np.argsort(mean, kind="stable")] = np.arange(num_parts, dtype=np.int32)
    return rank[part]
