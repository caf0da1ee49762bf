"""Range mappers: which elements of a buffer a block of work items accesses.

The words are those of Celerity's built-in range mappers (paper, Section 2.1), and ``irregular`` for what none
of them says. A mapper is written and read as text:

=====================  ================================================================================
``one-to-one``         each work item accesses the element of its own index
``neighborhood(1,0)``  and those up to this far away, per dimension
``slice(1)``           all elements along dimension 1, its own index in the others
``fixed(2:3,0:8)``     the same box of elements for all, ``first:end`` per dimension
``all``                the whole buffer
``irregular``          elements that depend on data
=====================  ================================================================================

Spellings of Celerity's interface (``one_to_one``, ``neighborhood<2>(1, 1)``) are read, too.
"""

from __future__ import annotations

import re
from typing import Literal, cast, get_args

from commanalyzer.foundation.errors import ConfigError

MapperKind = Literal["one-to-one", "neighborhood", "slice", "fixed", "all", "irregular"]
MAPPER_KINDS: tuple[MapperKind, ...] = get_args(MapperKind)
MOST_DIMENSIONS = 3  # of a buffer or a kernel's range: what SYCL knows
Box = tuple[tuple[int, int], ...]

_TEXT = re.compile(r"(?P<kind>[a-z]+(?:[-_][a-z]+)*)(?:<\d>)?(?:\((?P<values>[^()]*)\)|\{\})?")
_HINT = "one-to-one, neighborhood(1,1), slice(0), fixed(0:1,0:8), all or irregular"


class MapperError(ConfigError):
    """A range mapper is unknown or has arguments that do not fit."""


class RangeMapper:
    """Which elements a block of work items accesses; documents have it as text.

    Attributes:
        kind: Word of the vocabulary.
        radius: Of a neighborhood: distance in elements per dimension.
        dimension: Of a slice: the dimension in which it takes all elements; -1 otherwise.
        box: Of a fixed range: first element and the one after the last, per dimension.

    Raises:
        MapperError: If the arguments do not belong to the kind.
    """

    __slots__ = ("box", "dimension", "kind", "radius")

    def __init__(
        self, kind: MapperKind, radius: tuple[int, ...] = (), dimension: int = -1, box: Box = ()
    ) -> None:
        self.kind, self.radius, self.dimension, self.box = kind, radius, dimension, box
        if self.kind not in MAPPER_KINDS:
            raise MapperError(f"unknown range mapper {self.kind!r}", hint=f"write {_HINT}")
        for name, is_given, owner in (
            ("a radius", bool(self.radius), "neighborhood"),
            ("a dimension", self.dimension != -1, "slice"),
            ("a box", bool(self.box), "fixed"),
        ):
            if is_given != (self.kind == owner):
                verb = "lacks" if self.kind == owner else "has"
                raise MapperError(f"range mapper {self.kind} {verb} {name}", hint=f"write {_HINT}")
        if max(len(self.radius), len(self.box)) > MOST_DIMENSIONS or self.dimension >= MOST_DIMENSIONS:
            raise MapperError(f"range mapper {self.kind} has more than {MOST_DIMENSIONS} dimensions")
        if min(self.radius, default=0) < 0 or self.dimension < -1:
            raise MapperError(f"range mapper {self.kind} has a negative argument")
        if any(not 0 <= first < end for first, end in self.box):
            raise MapperError("range mapper fixed needs 0 <= first < end in each dimension")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeMapper) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if self.kind == "neighborhood":
            return f"neighborhood({','.join(map(str, self.radius))})"
        if self.kind == "slice":
            return f"slice({self.dimension})"
        if self.kind == "fixed":
            return f"fixed({','.join(f'{first}:{end}' for first, end in self.box)})"
        return self.kind

    def region(self, chunk: Box, shape: tuple[int, ...]) -> Box:
        """Elements of a buffer of ``shape`` that it grants to a ``chunk`` of work items.

        The buffer's dimensions take the chunk's by position; if the chunk has fewer, a slice's other
        dimensions take them in order, and what is left counts from 0 to 1. Everything is clipped to the
        buffer. An irregular access is granted the whole buffer, which is what has to be declared for it.
        """
        whole = tuple((0, extent) for extent in shape)
        if self.kind in ("all", "irregular"):
            return whole
        own = self.box if self.kind == "fixed" else self._following(chunk, len(shape))
        if self.kind == "neighborhood":
            own = tuple((low - r, high + r) for (low, high), r in zip(own, self.radius, strict=True))
        if self.kind == "slice":
            own = tuple(whole[d] if d == self.dimension else own[d] for d in range(len(shape)))
        return tuple(
            (min(max(low, 0), extent), min(max(high, 0), extent))
            for (low, high), extent in zip(own, shape, strict=True)
        )

    def _following(self, chunk: Box, dimensions: int) -> Box:
        others = [d for d in range(dimensions) if d != self.dimension or len(chunk) >= dimensions]
        taken = dict(zip(others, chunk, strict=False))
        return tuple(taken.get(d, (0, 1)) for d in range(dimensions))

    @property
    def celerity(self) -> str:
        """As an expression of Celerity's interface; an irregular access has to be declared as ``all``."""
        name = {"one-to-one": "one_to_one", "irregular": "all"}.get(self.kind, self.kind)
        if self.kind == "neighborhood":
            return f"celerity::access::{name}({', '.join(map(str, self.radius))})"
        if self.kind == "slice":
            return f"celerity::access::{name}({self.dimension})"
        if self.kind == "fixed":
            offset = ", ".join(str(first) for first, _ in self.box)
            extent = ", ".join(str(end - first) for first, end in self.box)
            return (
                f"celerity::access::{name}(celerity::subrange<{len(self.box)}>({{{offset}}}, {{{extent}}}))"
            )
        return f"celerity::access::{name}{{}}"


def parse_mapper(text: str) -> RangeMapper:
    """A mapper from its text.

    Raises:
        MapperError: If the word is unknown or the arguments do not fit it.
    """
    found = _TEXT.fullmatch(text.strip().lower().replace("celerity::access::", ""))
    kind = found["kind"].replace("_", "-") if found else ""
    if found is None or kind not in MAPPER_KINDS:
        raise MapperError(f"unknown range mapper {text!r}", hint=f"write {_HINT}")
    values = [value.strip() for value in (found["values"] or "").split(",") if value.strip()]
    known = cast(MapperKind, kind)
    try:
        if known == "neighborhood":
            return RangeMapper(known, radius=tuple(int(v) for v in values))
        if known == "slice":
            (dimension,) = map(int, values)
            return RangeMapper(known, dimension=dimension)
        if known == "fixed":
            ends = [tuple(map(int, v.split(":"))) for v in values]
            return RangeMapper(known, box=tuple((first, end) for first, end in ends))
        if values:
            raise ValueError
    except ValueError as error:
        raise MapperError(f"wrong arguments of range mapper {text!r}", hint=f"write {_HINT}") from error
    return RangeMapper(known)
