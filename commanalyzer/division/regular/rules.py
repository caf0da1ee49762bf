"""Divisions named by the user: ``--decompose u=block2d`` -> rules -> owners of the named arrays.

RULE   NAME[SHAPE]=KIND        several rules make one decomposition
SHAPE  [98x98]                 optional; otherwise found from sizes and strides
KIND   block | block1d | block2d | ...        blocks on the best process grid
       block:4x2                              blocks on this grid
       cyclic | cyclic:16x16                  blocks of so many points dealt out in turn
       all:                                   NAME ``*`` stands for every array that has a shape

"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from commanalyzer.division.regular.grids import Blocks, fits, grid_name, process_grids, surface
from commanalyzer.division.regular.shapes import Array, Shaped, find_arrays, shape_families
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import HomeObject, Int32
from commanalyzer.request import ONE_DIVISION

_MOST_LISTED = 12
_SEPARATORS = (".", "%", "::")  # of members, and of scopes in Fortran


def arrays_called(
    objects: Sequence[HomeObject], arrays: Sequence[Array], name: str, where: str
) -> list[Array]:
    """Return the arrays called ``name`` of those of the graph; errors as of :func:`require_called`."""
    known = [objects[a.number].name for a in arrays]
    require_called(known, name, where)
    return [a for a, found in zip(arrays, are_called(known, name), strict=True) if found]


def are_called(known: Sequence[str], *names: str) -> list[bool]:
    """Which of ``known`` are one of ``names``, or where none is, end in it: ``x`` finds ``domain.x``."""
    found: set[str] = set()
    for name in names:
        endings = tuple(separator + name for separator in _SEPARATORS)
        found |= {name} & set(known) or {k for k in known if k.endswith(endings)}
    return [k in found for k in known]


def require_called(known: Sequence[str], name: str, where: str) -> None:
    """Raise ``ConfigError`` unless one of ``known`` is what the option or file ``where`` calls ``name``."""
    if not any(are_called(known, name)):
        raise ConfigError(
            f"expected the name of an array, found {name!r}",
            where=where,
            hint=f"arrays of this run: {', '.join(list(dict.fromkeys(known))[:_MOST_LISTED])}",
        )


_OPTION = "--decompose"
_RULE = re.compile(
    r"(?P<name>[^=\[\]]+)(?:\[(?P<shape>[^\]]*)\])?=(?P<kind>block|cyclic)(?P<dims>[1-9]d)?(?::(?P<numbers>.+))?"
)
_NUMBERS = re.compile(r"[1-9]\d{0,9}(?:x[1-9]\d{0,9}){0,8}")
_GRAMMAR = "NAME=block2d, NAME=block:4x4, NAME[64x32]=block or NAME=cyclic:16x16"


@dataclass(frozen=True, slots=True)
class Rule:
    """How the arrays of one name are divided."""

    text: str  # as the user wrote it
    name: str  # variable, ``*`` for all arrays
    extents: tuple[int, ...]  # shape, empty if it is to be found
    kind: Literal["block", "cyclic"]  # blocks, or blocks dealt out in turn
    dims: int  # number of divided dimensions, 0 if it is to be chosen
    # Process grid (``block``) or points of a block (``cyclic``), empty if to be chosen.
    numbers: tuple[int, ...]


def parse_rule(text: str) -> Rule:
    """Rule that ``text`` states; ``ConfigError`` where it is none, or shape and grid differ in dimensions."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"expected a rule such as {_GRAMMAR}, found {text!r}", where=_OPTION)
    extents = _numbers(text, match["shape"])
    numbers = _numbers(text, match["numbers"])
    dims = {len(extents), len(numbers), int(match["dims"][0]) if match["dims"] else 0} - {0}
    if len(dims) > 1:
        wrong = f"expected as many dimensions in the shape as in the division, found {text!r}"
        raise ConfigError(wrong, where=_OPTION)
    kind: Literal["block", "cyclic"] = "block" if match["kind"] == "block" else "cyclic"
    return Rule(text.strip(), match["name"].strip(), extents, kind, max(dims, default=0), numbers)


def _numbers(text: str, part: str | None) -> tuple[int, ...]:
    if part is None:
        return ()
    if _NUMBERS.fullmatch(part) is None:
        raise ConfigError(f"expected sizes such as 64x32, found {part!r} in {text!r}", where=_OPTION)
    return tuple(map(int, part.split("x")))


def rule_owners(graph: AnyGraph, rules: Sequence[Rule], num_parts: int) -> Int32 | None:
    """Return int32[V], owners of the elements that ``rules`` name, -1 for all others.

    ``None`` if a rule's process grid is for another number of parts. Elements that are used nearly everywhere
    are where their array says, as others are. Raises ``ConfigError`` if a rule names no array, or one whose
    shape is not known and not given.
    """
    arrays = find_arrays(graph, np.zeros(graph.num_vertices, np.bool_))
    families = shape_families(graph, arrays)
    owner, is_named = np.full(graph.num_vertices, -1, np.int32), np.zeros(graph.num_vertices, np.bool_)
    for rule in sorted(rules, key=lambda rule: rule.name != "*"):  # for all arrays, but those that are named
        if rule.kind == "block" and rule.numbers and math.prod(rule.numbers) != num_parts:
            return None
        members = _members(graph, arrays, families, rule)
        grid = _grid(rule, members, num_parts)
        sizes, blocks = tuple[int, ...](), Blocks(graph, members)
        if rule.kind == "cyclic":
            usual = (max(1, e // (2 * g)) for e, g in zip(blocks.extents, grid, strict=True))
            sizes = rule.numbers or tuple(usual)
        found = blocks.owners(blocks.cuts(grid, sizes=sizes))
        own = found >= 0
        if (is_named & own).any() or (rule.name == "*" and (owner[own] >= 0).any()):
            message = f"expected one rule for each array, found another: {rule.text}"
            raise ConfigError(message, where=_OPTION, hint=ONE_DIVISION)
        is_named |= own & (rule.name != "*")
        owner[own] = found[own]
    return owner


def _members(
    graph: AnyGraph, arrays: Sequence[Array], families: Sequence[Sequence[Shaped]], rule: Rule
) -> list[Shaped]:
    """Arrays that the rule is about, with their shapes; one that only their size allows is asked for."""
    named = list(arrays)
    if rule.name != "*":
        named = arrays_called(graph.objects, arrays, rule.name, f"{_OPTION} {rule.text}")
    if rule.extents:
        return _given(graph, named, rule)
    numbers = {id(a) for a in named}
    for family in sorted(families, key=len, reverse=True):
        members = [s for s in family if id(s.array) in numbers]
        dims = len(members[0].extents) if members else -1
        if dims == rule.dims or (not rule.dims and (dims == 1 or any(s.is_known for s in members))):
            return members
    if rule.dims in (0, 1):
        return [Shaped(a, (a.counts[0],)) for a in named]
    raise ConfigError(
        f"expected an array whose shape has {rule.dims} dimensions, found none in its size and strides",
        where=f"{_OPTION} {rule.text}",
        hint=f"give its shape: {rule.name}[ROWSxCOLUMNS]=...",
    )


def _given(graph: AnyGraph, named: Sequence[Array], rule: Rule) -> list[Shaped]:
    """Arrays with the shape of the rule; of ``*``, those that can have it."""
    points = math.prod(rule.extents)
    counts = [next((c for c in a.counts if c % points == 0), 0) for a in named]
    fitting = [Shaped(a, rule.extents, c // points) for a, c in zip(named, counts, strict=True) if c]
    if not fitting or (rule.name != "*" and len(fitting) < len(named)):
        misfit = next(a for a, c in zip(named, counts, strict=True) if not c)
        raise ConfigError(
            f"expected a shape of {misfit.counts[0]} elements (or a part of them per component), "
            f"found {grid_name(rule.extents)}",
            where=f"{_OPTION} {rule.text}",
            hint="structures are elements as wholes" if graph.objects[misfit.number].record_bytes else "",
        )
    return fitting


def _grid(rule: Rule, members: Sequence[Shaped], num_parts: int) -> tuple[int, ...]:
    """The grid of the rule, else the one with the least surface."""
    if rule.kind == "block" and rule.numbers:
        return rule.numbers
    extents = members[0].extents
    grids = [g for g in process_grids(num_parts, len(extents)) if fits(g, extents)]
    if not grids:
        raise ConfigError(
            f"expected at least {num_parts} points to divide, found {grid_name(extents)}",
            where=f"{_OPTION} {rule.text}",
        )
    return min(grids, key=lambda g: (surface(g, extents), g))
