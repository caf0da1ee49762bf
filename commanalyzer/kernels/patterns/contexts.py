"""Where a program is: the stack of activations and iterations, as a linked list that accesses can keep.

A node is an activation or one iteration of a loop instance; its parent is what it runs in. Iterations of one
instance share their parent, so that the outermost difference of two places is where their lists join.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class CodeSite(NamedTuple):
    """A loop (its header) or an activation (the call that made it) of a program.

    Attributes:
        function: Function that contains the loop, or that is called.
        name: Label of the header; empty for an activation.
        line: Line of the call in the module, -1 for loops and roots.
    """

    function: str
    name: str
    line: int = -1

    @property
    def is_loop(self) -> bool:
        """A loop, not an activation."""
        return bool(self.name)


@dataclass(slots=True, eq=False)
class RunPlace:
    """An activation, or one iteration of a loop.

    Attributes:
        parent: What it runs in.
        site: Which one.
        instance: Number of the activation or loop instance, unique in the run.
        iteration: From 0; 0 for activations.
        depth: Number of parents.
        instructions: Executed in it, inner ones included; complete when it has ended.
        inner: Instructions by site directly inside.
    """

    parent: RunPlace | None
    site: CodeSite
    instance: int
    iteration: int
    depth: int
    instructions: int = 0
    inner: dict[CodeSite, int] = field(default_factory=dict)


class Parting(NamedTuple):
    """Where two places differ first, seen from outside.

    Attributes:
        common: What contains both; for two iterations of one instance the earlier one's.
        first: The earlier place's own part below ``common``; ``None`` if it is ``common``.
        second: The later place's part.
        distance: Iterations between them if they are iterations of one instance, else 0.
    """

    common: RunPlace
    first: RunPlace | None
    second: RunPlace | None
    distance: int


def parting(first: RunPlace, second: RunPlace) -> Parting:
    """Where two places of one run part."""
    a: RunPlace = first
    b: RunPlace = second
    below_a: RunPlace | None = None
    below_b: RunPlace | None = None
    while a.depth > b.depth:
        assert a.parent is not None
        below_a, a = a, a.parent
    while b.depth > a.depth:
        assert b.parent is not None
        below_b, b = b, b.parent
    while a is not b and a.parent is not b.parent:
        assert a.parent is not None and b.parent is not None
        below_a, a = a, a.parent
        below_b, b = b, b.parent
    if a is b:
        return Parting(a, below_a, below_b, 0)
    if a.instance == b.instance:
        return Parting(a, below_a, below_b, b.iteration - a.iteration)
    assert a.parent is not None  # all places of a run share the root
    return Parting(a.parent, a, b, 0)
