"""Files of other tools: numbers to lines, written atomically.

The communication matrix as MatrixMarket, CSV and GraphML of the quotient graph; graphs for other
partitioners as METIS ``.graph`` and ``.part``, hMETIS ``.hgr``, which count vertices from 1 and have positive
weights. An :class:`ArtifactError` says that a file cannot be written.

Measurements for Extra-P 4, as JSON Lines (one object per line) or as text.

``{"params": {"p": 4, "n": 256}, "callpath": "main->sweep", "metric": "comm_bytes", "value": [614.0]}``

The text form names the points once and then gives their values, metric by metric::

    PARAMETER p n
    POINTS (4 256) (16 256)
    METRIC comm_bytes
    REGION main->sweep
    DATA 614.0
    DATA 1228.0
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


CALLPATH_SEPARATOR = "->"
_MOST_TEXT_PARAMETERS = 4


@dataclass(frozen=True, slots=True)
class Measurement:
    """Values of one metric at one point of a parameter space."""

    parameters: Mapping[str, float]  # name and value of every parameter, for example ``{"p": 4, "n": 256}``
    callpath: Sequence[str]  # functions from the outermost to the innermost
    metric: str  # name of the metric, for example ``comm_bytes``; not ``time`` unless it is one
    values: Sequence[float]  # repetitions


def write_extrap(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements in the order given; the first one fixes the order of the parameters.

    Raises:
        ArtifactError: If there is no measurement, one has other parameters than the first or no value, a name
            contains ``->``, or the file cannot be written.
    """
    names = _names(measurements, path)
    write_text(path, "".join(_line(m, names) for m in measurements), force=True)


def write_extrap_text(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements as text; all metrics and call paths must have the same points in the same order.

    Raises:
        ArtifactError: As :func:`write_extrap`; also if points differ, or there are more than four parameters.
    """
    names = _names(measurements, path)
    if len(names) > _MOST_TEXT_PARAMETERS:
        raise ArtifactError(
            f"expected at most {_MOST_TEXT_PARAMETERS} parameters in Extra-P's text form, found {len(names)}",
            where=str(path),
            hint="write JSON Lines",
        )
    sections: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in measurements:
        key = (measurement.metric, CALLPATH_SEPARATOR.join(measurement.callpath))
        sections.setdefault(key, []).append(measurement)
    points = {tuple(_point(m, names) for m in section) for section in sections.values()}
    if len(points) != 1:
        raise ArtifactError(
            "expected the same points for all metrics, found different ones",
            where=str(path),
            hint="write JSON Lines",
        )
    lines = [f"PARAMETER {' '.join(names)}", f"POINTS {' '.join(next(iter(points)))}"]
    for (metric, callpath), section in sections.items():
        lines += [f"METRIC {metric}", f"REGION {callpath}"]
        lines += [f"DATA {' '.join(map(repr, map(float, m.values)))}" for m in section]
    write_text(path, "\n".join(lines) + "\n", force=True)


def _point(measurement: Measurement, names: Sequence[str]) -> str:
    text = " ".join(f"{measurement.parameters[name]:.17g}" for name in names)
    return f"({text})" if len(names) > 1 else text


def _names(measurements: Sequence[Measurement], path: Path) -> list[str]:
    """Names of the parameters, in the order of the first measurement; raises as :func:`write_extrap`."""
    if not measurements:
        raise ArtifactError("expected at least one measurement, found none", where=str(path))
    names = list(measurements[0].parameters)
    for m in measurements:
        if sorted(m.parameters) != sorted(names):
            raise ArtifactError(
                f"expected parameters {sorted(names)}, found {sorted(m.parameters)}", where=str(path)
            )
        if not m.callpath or any(CALLPATH_SEPARATOR in name or not name for name in m.callpath):
            raise ArtifactError(
                f"call path {list(m.callpath)} needs names without '{CALLPATH_SEPARATOR}'", where=str(path)
            )
        if not m.values:
            raise ArtifactError(f"metric {m.metric} has no value", where=str(path))
    return names


def _line(measurement: Measurement, names: Sequence[str]) -> str:
    record = {
        "params": {name: measurement.parameters[name] for name in names},
        "callpath": CALLPATH_SEPARATOR.join(measurement.callpath),
        "metric": measurement.metric,
        "value": list(measurement.values),
    }
    return json.dumps(record) + "\n"
