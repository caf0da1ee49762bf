"""The elements of one array divided like a graph, as mesh codes do: any owners -> owners of its elements.

A programmer can write this: a table says who has each element, arrays with as many elements use the same one,
all else is where the elements are that it is computed from. Which array: the one, with those of its length,
beside whose elements most of the work is done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from commanalyzer.division.regular.shapes import Array, Shaped
from commanalyzer.graph.value_graph import Float64, HomeObject, Int32

_PART_OF = "partition of "


def is_of_one_array(method: str) -> bool:
    """Whether a method of this name divides the elements of one array, and all else follows."""
    return method.startswith(_PART_OF)


def divided_elements(
    objects: Sequence[HomeObject],
    arrays: Sequence[Array],
    families: Sequence[Sequence[Shaped]],
    part: Int32,
    work: Float64,
    num_parts: int,
) -> tuple[str, Int32, float]:
    """Return a name, int32[V]: owners of the elements of leading arrays, -1 for what follows, and a limit.

    Each element goes where most of its work (float64[V]) is with the owners ``part`` (int32[V]); values of
    one point of an array with a shape stay together. The limit is the work of a part with one element more
    than the mean, over the mean. Without arrays, the name is empty.
    """
    owners = np.full(len(part), -1, np.int32)
    together = {s.array.number: s.components for family in families for s in family}
    by_length: dict[int, list[Array]] = defaultdict(list)
    for array in arrays:  # one step per array
        by_length[array.counts[0] // together.get(array.number, 1)].append(array)
    if not by_length:
        return "", owners, 1.0
    weights = {a.number: float(work[a.vertex].sum()) for a in arrays}
    length, leading = max(by_length.items(), key=lambda item: sum(weights[a.number] for a in item[1]))
    points = [a.index.astype(np.int64) // together.get(a.number, 1) for a in leading]
    vertex = np.concatenate([a.vertex for a in leading])
    key, number = np.unique(np.concatenate(points) * num_parts + part[vertex], return_inverse=True)
    amount = np.bincount(number, 1.0 + work[vertex])
    rising = np.argsort(amount[::-1], kind="stable")  # what comes last stays, of equal parts the lowest
    chosen = np.zeros(int(key[-1]) // num_parts + 1, np.int32)
    chosen[key[::-1][rising] // num_parts] = key[::-1][rising] % num_parts
    owners[vertex] = chosen[np.concatenate(points)]
    first = max(leading, key=lambda a: weights[a.number])
    name = f"{_PART_OF}{objects[first.number].name}[{length}], others follow"
    return name, owners, 1.0 + num_parts * np.bincount(key // num_parts, amount).max() / amount.sum()
