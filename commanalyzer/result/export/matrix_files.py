"""Communication matrix for other tools: MatrixMarket, CSV and GraphML of the quotient graph.

Text of exported files: numbers to lines, written atomically.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import networkx
import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import write_atomically
from commanalyzer.graph.value_graph import Float64, Int64, pointer_from_counts


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, replacing what is there; a reader never sees a part of it.

    Raises:
        ArtifactError: If the directory does not exist or cannot be written.
    """

    def produce(draft: Path) -> None:
        draft.write_bytes(data)

    write_atomically(path, produce, force=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8; errors as :func:`write_atomic`."""
    write_atomic(path, text.encode("utf-8"))


def number_lines(numbers: Int64, line_ptr: Int64) -> str:
    """Return lines of space-separated numbers; line i holds ``numbers[line_ptr[i]:line_ptr[i + 1]]``."""
    lengths = np.diff(line_ptr)
    # An empty line has a line end but no number: give it an empty token.
    counts = np.maximum(lengths, 1)
    pointer = pointer_from_counts(counts)
    tokens = np.full(int(pointer[-1]), "", dtype=object)
    filled = np.repeat(lengths > 0, counts)
    tokens[filled] = list(map(str, numbers.tolist()))
    ends = np.full(len(tokens), " ", dtype=object)
    ends[pointer[1:] - 1] = "\n"
    return "".join(chain.from_iterable(zip(tokens.tolist(), ends.tolist(), strict=True)))


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
    """Write the byte matrix (row sends to column) as a MatrixMarket coordinate file of integers.

    Raises:
        ArtifactError: If the file cannot be written.
    """
    stream = io.BytesIO()
    matrix = coo_array(communication.comm_bytes)
    mmwrite(stream, matrix, comment="bytes sent from part (row) to part (column)", symmetry="general")
    write_atomic(path, stream.getvalue())


def write_matrix_csv(path: Path, communication: Communication) -> None:
    """Write one line per pair of parts that communicate: ``sender,receiver,bytes,messages``.

    Raises:
        ArtifactError: If the file cannot be written.
    """
    sender, receiver = np.nonzero(communication.comm_bytes)
    columns = (
        sender,
        receiver,
        communication.comm_bytes[sender, receiver],
        communication.messages[sender, receiver],
    )
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("sender", "receiver", "bytes", "messages"))
    writer.writerows(np.stack(columns, axis=1).tolist())
    write_text(path, stream.getvalue())


def quotient_graph(communication: Communication, work_flops: Float64) -> networkx.DiGraph:
    """Return the graph of parts: node attribute ``work_flops``, edge attributes ``bytes`` and ``messages``.

    Args:
        communication: Communication of p parts.
        work_flops: float64[p], work of each part.

    Raises:
        ArtifactError: If the number of parts differs.
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
    write_atomic(path, stream.getvalue())
