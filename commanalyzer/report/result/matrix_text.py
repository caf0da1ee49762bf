"""A communication matrix as lines of text: in full when small, otherwise who talks to how many."""

from __future__ import annotations

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.foundation.quantities import format_bytes

LARGEST_PRINTED = 8


def matrix_lines(communication: Communication, *, full: bool = False) -> list[str]:
    """Lines that show ``communication``.

    Args:
        communication: Matrix of p nodes.
        full: Print every entry even for many nodes.
    """
    if communication.num_parts <= LARGEST_PRINTED or full:
        return _entries(communication)
    return _summary(communication)


def _entries(communication: Communication) -> list[str]:
    cells = [
        [format_bytes(value) if value else "." for value in row] for row in communication.comm_bytes.tolist()
    ]
    width = max((len(cell) for row in cells for cell in row), default=1)
    width = max(width, len(str(communication.num_parts - 1)))
    label = max(4, len(str(communication.num_parts - 1)))
    head = " ".join(f"{column:>{width}}" for column in range(communication.num_parts))
    lines = ["Sent from node (row) to node (column):", f"{'':>{label}}  {head}"]
    for index, row in enumerate(cells):
        lines.append(f"{index:>{label}}  " + " ".join(f"{cell:>{width}}" for cell in row))
    return lines


def _summary(communication: Communication) -> list[str]:
    sent = communication.comm_bytes
    partners = np.count_nonzero(sent + sent.T, axis=1)
    rows, columns = sent.sum(axis=1), sent.sum(axis=0)
    p = communication.num_parts
    lines = [f"Who talks to whom on {p} nodes:"]
    low, middle, high = int(partners.min()), float(np.median(partners)), int(partners.max())
    lines.append(f"  partners per node  {low} to {high}, median {middle:g}")
    for name, amounts in (("sent per node", rows), ("received per node", columns)):
        top = int(np.argmax(amounts))
        mean = format_bytes(float(amounts.mean()))
        lines.append(f"  {name:<17}  mean {mean}, most {format_bytes(int(amounts[top]))} (node {top})")
    source, target = np.unravel_index(int(np.argmax(sent)), sent.shape)
    if sent.any():
        amount = format_bytes(int(sent[source, target]))
        lines.append(f"  largest pair       {amount} from node {source} to node {target}")
    return lines
