"""Where a program is: the stack of activations and iterations, as a linked list that accesses can keep.

A node is an activation or one iteration of a loop instance; its parent is what it runs in. Iterations of one
instance share their parent, so that the outermost difference of two places is where their lists join.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class CodeSite(NamedTuple):
    """A loop (its header) or an activation (the call that made it) of a program."""

    function: str  # function that contains the loop, or that is called
    name: str  # label of the header; empty for an activation
    line: int = -1  # line of the call in the module, -1 for loops and roots

    @property
    def is_loop(self) -> bool:
        """A loop, not an activation."""
        return bool(self.name)


@dataclass(slots=True, eq=False)
class RunPlace:
    """An activation, or one iteration of a loop."""

    parent: RunPlace | None  # what it runs in
    site: CodeSite  # which one
    instance: int  # number of the activation or loop instance, unique in the run
    iteration: int  # from 0; 0 for activations
    depth: int  # number of parents
    instructions: int = 0  # executed in it, inner ones included; complete when it has ended
    inner: dict[CodeSite, int] = field(default_factory=dict)  # instructions by site directly inside


class Parting(NamedTuple):
    """Where two places differ first, seen from outside."""

    common: RunPlace  # what contains both; for two iterations of one instance the earlier one's
    first: RunPlace | None  # the earlier place's own part below ``common``; ``None`` if it is ``common``
    second: RunPlace | None  # the later place's part
    distance: int  # iterations between them if they are iterations of one instance, else 0


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
