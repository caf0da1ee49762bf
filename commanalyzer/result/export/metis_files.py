"""Files for other partitioners: METIS ``.graph`` and ``.part``, hMETIS ``.hgr``.

All formats count vertices from 1; weights are positive integers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.metis import integer_work
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import (
    Int32,
    Int64,
    ValueGraph,
    count_of_source,
    group_starts,
    pointer_from_counts,
    sink_of_source,
    sorted_unique,
)
from commanalyzer.result.export.matrix_files import interleave, number_lines, write_text


def write_metis_graph(path: Path, adjacency: Adjacency) -> None:
    """Write the affinity graph: header ``N E 011``, then per vertex its work and (neighbour, bytes) pairs.

    Raises:
        ArtifactError: If the file cannot be written.
    """
    numbers, lines = interleave(
        integer_work(adjacency.work_flops),
        adjacency.pointer,
        (adjacency.neighbour + 1, adjacency.edge_bytes),
    )
    header = f"{adjacency.num_vertices} {adjacency.num_edges} 011\n"
    write_text(path, header + number_lines(numbers, lines))


def write_partition(path: Path, part: Int32) -> None:
    """Write one part number per line, in vertex order.

    Raises:
        ArtifactError: If the file cannot be written.
    """
    write_text(path, number_lines(part.astype(np.int64), np.arange(len(part) + 1, dtype=np.int64)))


def read_partition(path: Path, num_vertices: int) -> Int32:
    """Return the parts that another partitioner wrote, one per line.

    Raises:
        ArtifactError: If the file cannot be read, holds other than integers or another number of vertices.
    """
    try:
        part = np.array(path.read_text(encoding="ascii").split(), dtype=np.int32)
    except (OSError, ValueError, OverflowError) as error:
        raise ArtifactError(f"cannot read a partition: {error}", where=str(path)) from error
    if len(part) != num_vertices or (num_vertices and part.min() < 0):
        raise ArtifactError(
            f"expected {num_vertices} part numbers (0, 1, ...), found {len(part)}",
            where=str(path),
            hint="the file needs one line per vertex of the exported graph",
        )
    return part


def write_hmetis(path: Path, graph: ValueGraph) -> None:
    """Write the value graph as a hypergraph whose connectivity metric (lambda - 1) is its volume.

    One net per value with the sinks that read it in one piece (weight: width times largest count), and one
    net per reduction with all operands of its foldable rows. Approximation: a term with several operands
    ties all of them to the fold net, since its place of computation is not a vertex. Vertex weights are work.

    Raises:
        ArtifactError: If the file cannot be written.
    """
    weights, pointer, pins = hypergraph_nets(graph)
    numbers, lines = interleave(weights, pointer, (pins + 1,))
    header = f"{len(weights)} {graph.num_vertices} 11\n"
    work = integer_work(graph.work_flops)
    vertex_lines = number_lines(work, np.arange(len(work) + 1, dtype=np.int64))
    write_text(path, header + number_lines(numbers, lines) + vertex_lines)


def hypergraph_nets(graph: ValueGraph) -> tuple[Int64, Int64, Int64]:
    """Return net weights in bytes int64[M], net pointer int64[M + 1] and pins int64[P] (vertices from 0).

    Expand nets come first, by value, then fold nets, by sink. Nets with a single pin are left out.
    """
    v = max(graph.num_vertices, 1)
    sink, source = sink_of_source(graph.rows).astype(np.int64), graph.rows.source.astype(np.int64)
    fold = graph.rows.row_fold != int(Fold.NONE)
    folds = np.repeat(fold, np.diff(graph.rows.row_ptr))
    # Net v is the expand net of value v, net V + t the fold net of sink t; the owner is a pin of its own net.
    net = np.where(folds, v + sink, source)
    pin = np.where(folds, source, sink)
    own = np.where(folds, sink, source)
    used = np.zeros(2 * v, dtype=np.int64)
    np.maximum.at(used, net, count_of_source(graph.rows))
    used[:v][: graph.num_vertices] = np.minimum(used[:v][: graph.num_vertices], np.maximum(graph.versions, 1))
    net, pin = np.divmod(sorted_unique(np.concatenate((net * v + pin, net * v + own))), v)
    start = group_starts(net)
    names = net[start]
    width = graph.width_bytes[names % v].astype(np.int64) if len(names) else names
    counts = np.diff(np.append(start, len(net)))
    return width * used[names], pointer_from_counts(counts), pin
