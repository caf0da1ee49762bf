"""Homes, chains, labels and register contents of the interpreter.

Labels are the sources of a register value (paper Section 3.1, the dynamic slice walked back to loads): a
mapping from home to role. Label mappings are shared between registers and never changed in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from commanalyzer.foundation.flows import SourceRole


class Home(NamedTuple):
    """Where a value lives.

    Attributes:
        kind: ``global``, ``heap``, ``stack`` or ``exit``; ``constant``: a literal, which is no source.
        object: ``@variable``, ``@function/%register`` of the allocating instruction, or ``return``.
        depth: Recursion depth of the function for ``stack`` (0: outermost live activation), otherwise 0.
        offset_bytes: Of the 4-byte word in the object; in the arena of the allocation site for ``heap``.
    """

    kind: str
    object: str
    depth: int
    offset_bytes: int

    def __str__(self) -> str:
        depth = f"#{self.depth}" if self.depth else ""
        return f"{self.object}{depth}+{self.offset_bytes}"


class Chain(NamedTuple):
    """A value-flow chain (paper Definition 4.1): a new version of ``sink`` was computed from ``sources``.

    These are homes and roles; the sink itself is one when its previous version was read.
    """

    sink: Home
    sources: frozenset[tuple[Home, SourceRole]]


EXIT_HOME = Home("exit", "return", 0, 0)
Labels = Mapping[Home, SourceRole]
NO_LABELS: Labels = {}
Data: TypeAlias = "int | float | tuple[Data, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One executed instruction of a recorded slice, numbered in program order.

    Attributes:
        line_index: Index of its line in the module.
        homes: For a load: where the loaded value lives (its sources).
        parents: Steps that made the operands, in operand order.
    """

    order: int
    function: str
    line_index: int
    value: Data
    homes: tuple[Home, ...]
    parents: tuple[Step, ...]


class Value(NamedTuple):
    """Contents of a register.

    Attributes:
        data: Integers and pointers as unsigned numbers, floating-point numbers (``x86_fp80`` as numpy long
            double), tuples for vectors, arrays and structs.
        labels: Sources.
        exact: Homes of the words whose value this is an exact copy of, otherwise ``None``.
        step: How it was computed, only when a slice is recorded.
    """

    data: Data
    labels: Labels = NO_LABELS
    exact: tuple[Home, ...] | None = None
    step: Step | None = None


def as_int(data: Data) -> int:
    """Return scalar integer or pointer data."""
    return cast(int, data)


def as_float(data: Data) -> float:
    """Return scalar floating-point data."""
    return cast(float, data)


def lanes(data: Data) -> tuple[Data, ...]:
    """Return vector, array or struct data."""
    return cast("tuple[Data, ...]", data)


def union(a: Labels, b: Labels) -> Labels:
    """Return all sources; the stronger role (DATA before CONTROL before ADDRESS) wins."""
    if not b or a is b:
        return a
    if not a:
        return b
    merged = dict(a)
    for home, role in b.items():
        known = merged.get(home)
        if known is None or role < known:
            merged[home] = role
    return merged


def with_role(labels: Labels, role: SourceRole) -> Labels:
    """Return ``labels`` with every role replaced by ``role``."""
    return dict.fromkeys(labels, role) if labels else labels
