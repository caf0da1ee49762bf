"""What depends on each other, such as registers: strongly connected components, and all that is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strong_components(
    names: Iterable[Node], inputs: Callable[[Node], Iterable[Node]]
) -> list[tuple[Node, ...]]:
    """Tarjan's algorithm without recursion.

    Args:
        names: Where to start.
        inputs: What a node depends on.

    Returns:
        Components, each behind everything that it depends on.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    result: list[tuple[Node, ...]] = []

    def enter(name: Node) -> tuple[Node, Iterator[Node]]:
        number[name] = low[name] = len(number)
        stack.append(name)
        on_stack.add(name)
        return name, iter(inputs(name))

    for root in names:
        work = [] if root in number else [enter(root)]
        while work:
            name, pending = work[-1]
            following = next(pending, None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[name])
                if low[name] == number[name]:
                    result.append(_pop_component(name, stack, on_stack))
            elif following not in number:
                work.append(enter(following))
            elif following in on_stack:
                low[name] = min(low[name], number[following])
    return result


def reached(start: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """All nodes on ways from ``start``, these included, in the order in which they are found."""
    found = dict.fromkeys(start)
    pending = list(found)
    while pending:
        fresh = [node for node in dict.fromkeys(following(pending.pop())) if node not in found]
        found.update(dict.fromkeys(fresh))
        pending += fresh
    return found


def _pop_component(root: Node, stack: list[Node], on_stack: set[Node]) -> tuple[Node, ...]:
    members: list[Node] = []
    while True:
        name = stack.pop()
        on_stack.discard(name)
        members.append(name)
        if name == root:
            return tuple(reversed(members))
