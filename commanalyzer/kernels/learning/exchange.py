"""Bytes that move between nodes when the next task reads a buffer, from its range mappers.

Every node executes a block of work items along the first dimension, writes what the writing mapper grants to
its block, and reads what the reading mapper grants. What it reads and has not written is sent to it by the
node that wrote it; where several wrote an element, by the one whose block of rows holds it.

Reference: Stawinoga et al., Section 4: volume and kind of message passing depend on the pair of mappers
alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.mappers import Box, RangeMapper

Int64 = NDArray[np.int64]
_ROWS = RangeMapper("one-to-one")


def chunks(items: Sequence[int], num_nodes: int) -> list[Box]:
    """Block of work items of each node: even shares of the first dimension.

    Raises:
        ConfigError: If there are no items, or no nodes.
    """
    if num_nodes < 1 or not items or min(items) < 1:
        raise ConfigError(f"expected work items and nodes, found {tuple(items)} on {num_nodes} nodes")
    ends = [items[0] * k // num_nodes for k in range(num_nodes + 1)]
    rest = tuple((0, extent) for extent in items[1:])
    return [((ends[k], ends[k + 1]), *rest) for k in range(num_nodes)]


def moved_bytes(
    write: RangeMapper,
    read: RangeMapper,
    shape: Sequence[int],
    element_bytes: int,
    writing: Sequence[Box],
    reading: Sequence[Box],
) -> Int64:
    """int64[p, p], bytes from the node of the row to that of the column.

    Args:
        write: Mapper of the last write.
        read: Mapper of the read.
        shape: Elements of the buffer per dimension.
        element_bytes: Size of one.
        writing: Work items of each node in the task that writes.
        reading: In the task that reads.
    """
    size = tuple(shape)
    written = _boxes([write.region(chunk, size) for chunk in writing])
    wanted = _boxes([read.region(chunk, size) for chunk in reading])
    total = math.prod(size)
    is_divided = _volumes(written, written).sum() == np.diagonal(_volumes(written, written)).sum()
    homes = written if is_divided else _boxes([_ROWS.region(c, size) for c in chunks(size, len(writing))])
    found = _volumes(homes, wanted)
    own = np.stack(
        [_volumes(homes, _meet(wanted[[k]], written[[k]]))[:, 0] for k in range(len(wanted))], axis=1
    )
    found = found - own
    np.fill_diagonal(found, 0)
    assert found.max(initial=0) <= total
    return np.asarray(found * element_bytes)


def _boxes(boxes: Sequence[Box]) -> Int64:
    """int64[p, d, 2]."""
    return np.array(boxes, dtype=np.int64)


def _meet(a: Int64, b: Int64) -> Int64:
    return np.stack((np.maximum(a[..., 0], b[..., 0]), np.minimum(a[..., 1], b[..., 1])), axis=-1)


def _volumes(a: Int64, b: Int64) -> Int64:
    """int64[p, q], elements that each box of ``a`` and each of ``b`` share."""
    common = _meet(a[:, None], b[None, :])
    return np.asarray(np.maximum(common[..., 1] - common[..., 0], 0).prod(axis=-1))
