"""Files of other tools: numbers to lines, written atomically.

The communication matrix as MatrixMarket, CSV and GraphML of the quotient graph; graphs for other
partitioners as METIS ``.graph`` and ``.part``, hMETIS ``.hgr``, which count vertices from 1 and have positive
weights. An :class:`ArtifactError` says that a file cannot be written.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import networkx
import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

from commanalyzer.communication.matrix import Communication
from commanalyzer.division.libraries.adjacency import Adjacency
from commanalyzer.division.libraries.metis import integer_work
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import (
    Float64,
    Int32,
    Int64,
    ValueGraph,
    count_of_source,
    group_starts,
    pointer_from_counts,
    sink_of_source,
    sorted_unique,
)


def number_lines(numbers: Int64, line_ptr: Int64) -> str:
    """Return lines of space-separated numbers; line i holds ``numbers[line_ptr[i]:line_ptr[i + 1]]``."""
    ends = np.full(len(numbers), " ", dtype=object)
    ends[line_ptr[1:] - 1] = "\n"
    return "".join(chain.from_iterable(zip(map(str, numbers.tolist()), ends.tolist(), strict=True)))


def interleave(first: Int64, pointer: Int64, columns: Sequence[Int64]) -> tuple[Int64, Int64]:
    """Return numbers and line pointer: line i is ``first[i]``, then row i of the columns side by side."""
    width = len(columns)
    lengths = np.diff(pointer) * width + 1
    line_ptr = pointer_from_counts(lengths)
    numbers = np.empty(int(line_ptr[-1]), dtype=np.int64)
    head = np.zeros(len(numbers), dtype=np.bool_)
    head[line_ptr[:-1]] = True
    numbers[head] = first
    numbers[~head] = np.stack(list(columns), axis=1).ravel()
    return numbers, line_ptr


def write_matrix_market(path: Path, communication: Communication) -> None:
    """Write the byte matrix (row sends to column) as a MatrixMarket coordinate file of integers."""
    stream = io.BytesIO()
    matrix = coo_array(communication.comm_bytes)
    mmwrite(stream, matrix, comment="bytes sent from part (row) to part (column)", symmetry="general")
    write_text(path, stream.getvalue().decode(), force=True)


def write_matrix_csv(path: Path, communication: Communication) -> None:
    """Write one line per pair of parts that communicate: ``sender,receiver,bytes,messages``."""
    sender, receiver = np.nonzero(communication.comm_bytes)
    columns = (
        sender,
        receiver,
        communication.comm_bytes[sender, receiver],
        communication.messages[sender, receiver],
    )
    stream = io.StringIO()
    title = "sender,receiver,bytes,messages"
    np.savetxt(stream, np.stack(columns, axis=1), "%d", ",", header=title, comments="")
    write_text(path, stream.getvalue(), force=True)


def quotient_graph(communication: Communication, work_flops: Float64) -> networkx.DiGraph:
    """Return the graph of p parts: node attribute ``work_flops``, edge attributes ``bytes``, ``messages``.

    Raises:
        ArtifactError: If ``work_flops``, float64[p], is of another number of parts.
    """
    p = communication.num_parts
    if len(work_flops) != p:
        raise ArtifactError(f"expected the work of {p} parts, found {len(work_flops)}")
    graph = networkx.DiGraph()
    graph.add_nodes_from((i, {"work_flops": w}) for i, w in enumerate(work_flops.tolist()))
    sender, receiver = np.nonzero(communication.comm_bytes)
    volume = communication.comm_bytes[sender, receiver].tolist()
    messages = communication.messages[sender, receiver].tolist()
    graph.add_edges_from(
        (i, j, {"bytes": b, "messages": m})
        for i, j, b, m in zip(sender.tolist(), receiver.tolist(), volume, messages, strict=True)
    )
    return graph


def write_graphml(path: Path, communication: Communication, work_flops: Float64) -> None:
    """Write the graph of parts as GraphML; arguments and errors as :func:`quotient_graph`."""
    stream = io.BytesIO()
    networkx.write_graphml_xml(quotient_graph(communication, work_flops), stream)
    write_text(path, stream.getvalue().decode(), force=True)


def write_metis_graph(path: Path, adjacency: Adjacency) -> None:
    """Write the affinity graph: header ``N E 011``, then per vertex its work and (neighbour, bytes) pairs."""
    numbers, lines = interleave(
        integer_work(adjacency.work_flops), adjacency.pointer, (adjacency.neighbour + 1, adjacency.edge_bytes)
    )
    header = f"{adjacency.num_vertices} {adjacency.num_edges} 011\n"
    write_text(path, header + number_lines(numbers, lines), force=True)


def write_partition(path: Path, part: Int32) -> None:
    """Write one part number per line, in vertex order."""
    write_text(path, "".join(f"{number}\n" for number in part.tolist()), force=True)


def write_hmetis(path: Path, graph: ValueGraph) -> None:
    """Write the value graph as a hypergraph whose connectivity metric (lambda - 1) is its volume.

    One net per value with the sinks that read it in one piece (weight: width times largest count), and one
    net per reduction with all operands of its foldable rows. Approximation: a term with several operands
    ties all of them to the fold net, since its place of computation is not a vertex. Vertex weights are work.
    """
    weights, pointer, pins = hypergraph_nets(graph)
    numbers, lines = interleave(weights, pointer, (pins + 1,))
    header = f"{len(weights)} {graph.num_vertices} 11\n"
    work = integer_work(graph.work_flops)
    vertex_lines = number_lines(work, np.arange(len(work) + 1, dtype=np.int64))
    write_text(path, header + number_lines(numbers, lines) + vertex_lines, force=True)


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
