"""Shapes of buffers, from the strides with which loops go through them.

An access whose address is a linear function of the iterations of the loops around it is *affine*; its
coefficients are strides. A stride is the pitch of a dimension if the same access has a smaller one whose
loop stays within it: ``a[i * n + j]`` with j below n. If no access shows one, those of one loop are
compared: a row and a column of a symmetric matrix. Pitches that divide neither the buffer nor each other (a
diagonal) are none.

Accesses that the compiler moved out of a loop although the source has them inside.

A load whose value the loop uses, and a store of a value that the loop computes, belong to the kernel: work
items read the one and contribute to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.kernels.patterns.carried import FunctionRegisters
from commanalyzer.kernels.tasks.accesses.observer import AccessLog, Bools, Ints
from commanalyzer.kernels.tasks.mappers import MOST_DIMENSIONS
from commanalyzer.program.ir.cfg import Loop


class Outside(NamedTuple):
    """Accesses outside a loop that belong to it: lines of loads that it uses, of stores that it computes."""

    loads: frozenset[int] = frozenset()
    stores: frozenset[int] = frozenset()


def moved_outside(registers: FunctionRegisters, loop: Loop) -> Outside:
    """Accesses around ``loop`` that belong to it; loads of bounds, indices and addresses do not."""
    loads: set[int] = set()
    stores: set[int] = set()
    indices = registers.index_loads()
    for name, definition in registers.definition.items():
        is_inside = registers.is_inside(name, loop)
        if definition.opcode == "load" and not is_inside and definition.first_line not in indices:
            users = [u for n in registers.ahead(name, None) for u in registers.users.get(n, ())]
            if any(registers.block_of[u.first_line] in loop.blocks for u in users):
                loads.add(definition.first_line)
        if is_inside and definition.opcode not in ("load", "getelementptr"):
            stores.update(
                user.first_line
                for n in registers.ahead(name, None)
                for user in registers.users.get(n, ())
                if user.opcode == "store" and registers.block_of[user.first_line] not in loop.blocks
            )
    return Outside(frozenset(loads), frozenset(stores))


@dataclass(frozen=True, slots=True)
class Linear:
    """An access as a linear function of iterations."""

    strides: tuple[int, ...]  # bytes per iteration, of the loops that are not constant
    spans: tuple[int, ...]  # largest minus smallest iteration of these loops

    def steps(self) -> list[tuple[int, int]]:
        """Sizes of the strides, with the spans of their loops."""
        return [(abs(s), span) for s, span in zip(self.strides, self.spans, strict=True) if s]


def pitches_of(linears: Sequence[tuple[int, Linear]], size_bytes: int) -> set[int]:
    """Bytes between rows, between planes, ...; ``linears`` are accesses of the buffer, with their loops."""
    together = [access.steps() for _, access in linears]
    found = {row for steps in together for row in _rows(steps, size_bytes)}
    if found:
        return found
    for loop in {loop for loop, _ in linears}:
        steps = [step for at, access in linears if at == loop for step in access.steps()]
        found |= _rows(steps, size_bytes)
    return found


def _rows(steps: Sequence[tuple[int, int]], size_bytes: int) -> set[int]:
    return {
        row for row, _ in steps for step, span in steps
        if step < row < size_bytes and step * span < row and not size_bytes % row
    }  # fmt: skip


def linear(offset: Ints, iterations: Ints) -> Linear | None:
    """Offsets as a linear function of iterations; ``None`` if they are none.

    ``offset``: int64[n], bytes; ``iterations``: int64[loops, n].
    """
    spans = np.ptp(iterations, axis=1) if iterations.size else np.zeros(len(iterations), np.int64)
    varying = np.flatnonzero(spans)
    if not len(varying):
        return Linear((), ()) if not np.ptp(offset) else None
    matrix: NDArray[np.float64] = np.vstack((np.ones(len(offset)), iterations[varying])).T.astype(np.float64)
    found = np.rint(np.linalg.lstsq(matrix, offset.astype(np.float64), rcond=None)[0]).astype(np.int64)
    if np.any(matrix.astype(np.int64) @ found != offset):
        return None
    return Linear(tuple(found[1:].tolist()), tuple(spans[varying].tolist()))


def loop_iterations(log: AccessLog, ancestors: Ints, accesses: Ints, root: int) -> Ints | None:
    """Iterations of the loops from depth ``root`` on, int64[loops, n]; ``None`` if places differ in depth."""
    places = log.place[accesses]
    depths = log.depth[places]
    if np.ptp(depths):
        return None
    levels = ancestors[root : int(depths[0]) + 1][:, places]
    return log.iteration[levels]


def shape_of(size_bytes: int, element_bytes: int, pitches: set[int]) -> tuple[int, ...]:
    """Extents, the slowest dimension first; ``pitches``: bytes per index, of all but the fastest."""
    kept = [element_bytes]
    for pitch in sorted(pitches):
        if pitch > kept[-1] and not pitch % kept[-1]:
            kept.append(pitch)
    kept = [element_bytes, *kept[1:][-(MOST_DIMENSIONS - 1) :]]
    outer = [-(-size_bytes // kept[-1])]
    return tuple(outer + [large // small for small, large in pairwise(kept)][::-1])


def coordinates(element: Ints, shape: tuple[int, ...]) -> Ints:
    """Indices of elements in each dimension, int64[dimensions, n]."""
    result = np.empty((len(shape), len(element)), np.int64)
    rest = element
    for d in range(len(shape) - 1, 0, -1):
        rest, result[d] = np.divmod(rest, shape[d])
    result[0] = rest
    return result


def private_objects(
    task: Ints, word_object: Ints, word: Ints, source: Ints, is_write: Bools, item: Ints
) -> set[int]:
    """Objects that are workspace: items of a task write the same words and read only what they wrote.

    All per word access; ``source``: position of the last write of what is read, -1 for none; ``item``: number
    of the work item, unique in the run.
    """
    found: set[int] = set()
    is_foreign = ~is_write & ((source < 0) | (item[source] != item))
    foreign = set(np.unique(word_object[is_foreign]).tolist())
    for index in set(np.unique(word_object).tolist()) - foreign:
        writes = np.flatnonzero((word_object == index) & is_write)
        of_items = np.unique(np.stack((task[writes], word[writes], item[writes])), axis=1)
        if of_items.shape[1] > np.unique(of_items[:2], axis=1).shape[1]:
            found.add(index)
    return found
