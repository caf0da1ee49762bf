"""Strongly connected components of registers that depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def strong_components(names: Iterable[str], inputs: Callable[[str], Iterable[str]]) -> list[tuple[str, ...]]:
    """Tarjan's algorithm without recursion.

    Args:
        names: Where to start.
        inputs: What a register depends on.

    Returns:
        Components, each behind everything that it depends on.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    result: list[tuple[str, ...]] = []

    def enter(name: str) -> tuple[str, Iterator[str]]:
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


def _pop_component(root: str, stack: list[str], on_stack: set[str]) -> tuple[str, ...]:
    members: list[str] = []
    while True:
        name = stack.pop()
        on_stack.discard(name)
        members.append(name)
        if name == root:
            return tuple(reversed(members))
