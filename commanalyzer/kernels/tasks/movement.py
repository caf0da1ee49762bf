"""Bytes between tasks, and between the nodes that execute them.

Every node executes a block of each task's work items and has what these wrote. A read needs the value of the
last write of its word; if another node has that, it is sent, once per value and node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.kernels.tasks.accesses.observer import Bools, Ints
from commanalyzer.kernels.tasks.accesses.words import Words


@dataclass(frozen=True, slots=True)
class FlowTable:
    """Flows between tasks: who reads which words of whom.

    Attributes:
        source: Position of the writing word, per read that has one.
        sink: Position of the reading word.
        writer: Task that wrote.
        reader: Task that reads.
        object: Object.
        bytes: Size of the word.
    """

    source: Ints
    sink: Ints
    writer: Ints
    reader: Ints
    object: Ints
    bytes: Ints

    def edges(self) -> tuple[Ints, Ints]:
        """Distinct (writer, reader, object), int64[3, edges], and the edge of each flow."""
        return np.unique(np.stack((self.writer, self.reader, self.object)), axis=1, return_inverse=True)


def flow_table(words: Words, task: Ints, word_object: Ints, is_kept: Bools) -> FlowTable:
    """Flows of the words that are kept.

    Args:
        words: All words.
        task: Per word.
        word_object: Per word.
        is_kept: Per word: it is of a buffer, and no update of a reduction.
    """
    sink = np.flatnonzero((words.source >= 0) & is_kept)
    source = words.source[sink]
    return FlowTable(source, sink, task[source], task[sink], word_object[sink], words.bytes[sink])


def edge_bytes(flows: FlowTable, edge: Ints, num_edges: int) -> Ints:
    """Bytes of the values that flow along each edge, each counted once."""
    distinct = np.unique(np.stack((flows.source, edge)), axis=1, return_index=True)[1]
    return _summed(edge[distinct], flows.bytes[distinct], num_edges)


def moved_bytes(
    flows: FlowTable, edge: Ints, num_edges: int, node: Ints, num_nodes: int
) -> tuple[Ints, Ints]:
    """Bytes that each edge needs from other nodes, and those of them that no earlier task has brought.

    Args:
        flows: The flows.
        edge: Edge, per flow.
        num_edges: Number of edges.
        node: Node of each word access; ``num_nodes`` for reads by all nodes.
        num_nodes: Number of nodes.
    """
    everywhere = node[flows.sink] == num_nodes
    flow = np.concatenate((np.flatnonzero(~everywhere), np.repeat(np.flatnonzero(everywhere), num_nodes)))
    reader = node[flows.sink[flow]]
    reader[reader == num_nodes] = np.tile(np.arange(num_nodes), int(everywhere.sum()))
    is_sent = node[flows.source[flow]] != reader
    flow, reader = flow[is_sent], reader[is_sent]
    order = np.argsort(flow, kind="stable")
    flow, reader = flow[order], reader[order]
    needed = np.unique(np.stack((flows.source[flow], edge[flow], reader)), axis=1, return_index=True)[1]
    moved = np.unique(np.stack((flows.source[flow], reader)), axis=1, return_index=True)[1]
    return (
        _summed(edge[flow[needed]], flows.bytes[flow[needed]], num_edges),
        _summed(edge[flow[moved]], flows.bytes[flow[moved]], num_edges),
    )


def folded_bytes(task: Ints, word: Ints, node: Ints, sizes: Ints) -> dict[int, int]:
    """Bytes of partial results that nodes other than one send for the words of reductions, by task.

    Args:
        task: Per contribution.
        word: Word that is contributed to.
        node: Node that contributes.
        sizes: Bytes of the word.
    """
    contributed = np.unique(np.stack((task, word, node, sizes)), axis=1)
    words = np.unique(np.stack((task, word, sizes)), axis=1)
    result: dict[int, int] = {}
    for columns, sign in ((contributed, 1), (words, -1)):
        for number in np.unique(columns[0]).tolist():
            result[number] = result.get(number, 0) + sign * int(columns[-1][columns[0] == number].sum())
    return result


def _summed(group: Ints, values: Ints, size: int) -> Ints:
    result = np.zeros(size, np.int64)
    np.add.at(result, group, values)
    return result
