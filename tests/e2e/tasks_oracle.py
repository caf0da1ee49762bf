"""Counts what applications move, work item by work item, from a description of their loops."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Element = tuple[str, int]
Item = tuple[int, int]


@dataclass(frozen=True)
class Loop:
    """Work items in order, what each reads and writes, and the range of the index that is divided."""

    items: tuple[Item, ...]
    reads: Callable[[int, int], Iterable[Element]]
    writes: Callable[[int, int], Iterable[Element]]
    split: int = 0


def loop(
    rows: range,
    columns: range,
    reads: Callable[[int, int], Iterable[Element]],
    writes: Callable[[int, int], Iterable[Element]],
    split: int = 0,
) -> Loop:
    return Loop(tuple((i, j) for i in rows for j in columns), reads, writes, split)


def moved_elements(loops: Iterable[Loop], num_nodes: int) -> int:
    """Elements that are sent: once per version and node that needs it."""
    holders: dict[Element, set[int]] = {}
    moved = 0
    for task in loops:
        indices = [item[task.split] for item in task.items]
        first, extent = min(indices), max(indices) - min(indices) + 1
        for item in task.items:
            node = (item[task.split] - first) * num_nodes // extent
            for element in task.reads(*item):
                if element in holders and node not in holders[element]:
                    moved += 1
                    holders[element].add(node)
            for element in task.writes(*item):
                holders[element] = {node}
    return moved


def _nothing(i: int, j: int) -> list[Element]:
    return []


def _fill(name: str, rows: int, columns: int) -> Loop:
    return loop(range(rows), range(columns), _nothing, lambda i, j: [(name, i * columns + j)])


def _sum(name: str, count: int) -> Loop:
    return loop(range(count), range(1), lambda i, j: [(name, i)], _nothing)


def _around(name: str, n: int, star: bool) -> Callable[[int, int], list[Element]]:
    near = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if not star or not a or not b]
    return lambda i, j: [(name, (i + a) * n + j + b) for a, b in near]


def stencil(n: int, source: str, sink: str, star: bool) -> list[Loop]:
    """2dconv, jacobi2d and (source and sink the same) seidel."""
    inner = range(1, n - 1)
    names = dict.fromkeys((source, sink))
    return [
        *(_fill(name, n, n) for name in names),
        loop(inner, inner, _around(source, n, star), lambda i, j: [(sink, i * n + j)]),
        _sum(sink, n * n),
    ]


def line(n: int) -> list[Loop]:
    """jacobi1d."""
    return [
        _fill("a", n, 1),
        _fill("res", n, 1),
        loop(
            range(1, n - 1),
            range(1),
            lambda i, j: [("a", i - 1), ("a", i), ("a", i + 1)],
            lambda i, j: [("res", i)],
        ),
        _sum("res", n),
    ]


def fields(n: int, steps: int) -> list[Loop]:
    """fdtd2d."""
    m = n + 1
    loops = [_fill("fict", steps, 1), _fill("ex", n, m), _fill("ey", m, n), _fill("hz", n, n)]
    for t in range(steps):
        loops += [
            loop(
                range(1),
                range(n),
                lambda i, j, t=t: [("fict", t)],  # type: ignore[misc]
                lambda i, j: [("ey", j)],
                split=1,
            ),
            loop(
                range(1, n),
                range(n),
                lambda i, j: [("ey", i * n + j), ("hz", i * n + j), ("hz", (i - 1) * n + j)],
                lambda i, j: [("ey", i * n + j)],
            ),
            loop(
                range(n),
                range(1, n),
                lambda i, j: [("ex", i * m + j), ("hz", i * n + j), ("hz", i * n + j - 1)],
                lambda i, j: [("ex", i * m + j)],
            ),
            loop(
                range(n),
                range(n),
                lambda i, j: [
                    ("ex", i * m + j),
                    ("ex", i * m + j + 1),
                    ("ey", i * n + j),
                    ("ey", (i + 1) * n + j),
                    ("hz", i * n + j),
                ],
                lambda i, j: [("hz", i * n + j)],
            ),
        ]
    return [*loops, _sum("hz", n * n)]
