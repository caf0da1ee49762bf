"""Sites and named objects of a module: stable numbers for everything the trace refers to.

A site is a place that creates values. Numbers follow the order of the canonical module's text, so they are
equal in every run of the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from commanalyzer.foundation.flows import Fold
from commanalyzer.foundation.work import Operations
from commanalyzer.graph.value_graph import NO_LOOP, LoopPlace
from commanalyzer.program.ir.names.addresses import Holder
from commanalyzer.program.ir.names.debug_info import MemberPlace, SourcePlace
from commanalyzer.program.ir.names.source_text import UserFrame


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What is known statically about a site.

    Attributes:
        result: Register or description that identifies the site in its function (with its ``@``).
        kind: ``store``, ``copy`` (store of an unchanged value), ``register``, ``fill``, ``input``, ``exit``.
        width_bytes: Width of the values created; 0: as wide as those that are copied.
        fold: How terms combine.
        self_label: Index of the label that is the sink's own previous version when it is the accumulating
            operand of ``fold``; -1 otherwise.
        cost_terms: (block counter, operations per execution) of the operations whose results flow into this
            site.
        variable: Source variable of a register value, empty when unknown.
        loop: The innermost loop that it is in.
        source: Function that the variable is in, or else the place: what is inlined keeps its own.
    """

    function: str
    result: str
    kind: str
    width_bytes: int
    place: SourcePlace
    fold: Fold = Fold.NONE
    self_label: int = -1
    cost_terms: tuple[tuple[int, Operations], ...] = ()
    variable: str = ""
    loop: LoopPlace = NO_LOOP
    source: str = ""


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A variable, or a call that is part of the paths of allocations.

    Attributes:
        key: Stable identification (``@u``, ``@main/%call``).
        name: Name for people.
        function: Function with its ``@``; empty for globals.
        offset: Byte offset in its extent (local arrays share the frame of their function).
        size_bytes: Size when known statically.
        holders: Who holds the blocks that a call leaves in its result (-1) or behind an argument.
        parts: What lies in it: members of a structure, variables of a COMMON block.
        is_piece: The call returns a piece of a larger block, whose size nobody says.
        frames: Where the user's code makes the call, the innermost of inlined frames first.
        strides: Bytes from each plane, then row to the next, where the object has such.
        record_bytes: Bytes of the structures that it is an array of, 0 for other arrays.
        is_constant: What lies there are literals: a variable that nothing may be stored to.
    """

    key: str
    name: str
    function: str
    place: SourcePlace
    offset: int = 0
    size_bytes: int = 0
    holders: Mapping[int, Holder] = field(default_factory=dict)
    parts: tuple[MemberPlace, ...] = ()
    is_piece: bool = False
    frames: tuple[UserFrame, ...] = ()
    strides: tuple[int, ...] = ()
    record_bytes: int = 0
    is_constant: bool = False

    @property
    def members(self) -> tuple[ObjectRecord, ...]:
        """The parts as objects, in order; where several begin, the largest one is the last."""
        key, found = self.key.partition("+")[0], []
        for name, start, size, place, strides, record_bytes in self.parts:
            at, place = self.offset + start, self.place if self.function else place
            called = self.name + name if name[:1] in ("", ".", "%") else name
            known = f"{key}+{at}", called, self.function, place, at, size
            found.append(ObjectRecord(*known, strides=strides, record_bytes=record_bytes))
        return tuple(sorted((m for m in found if m.size_bytes), key=lambda m: (m.offset, m.size_bytes)))


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """Static costs behind one block counter (blocks that always execute together share one)."""

    function: str
    label: str
    flops: int
    loads: int
    stores: int
    instructions: int
    steering: int = 0  # comparisons of elements that only decide what is executed


@dataclass(slots=True)
class SiteTable:
    """Collects records while a module is planned; index = number used in the trace.

    Recordings of the module have one label per word of ``word_bytes``.
    """

    word_bytes: int = 4
    sites: list[SiteRecord] = field(default_factory=list)
    globals: list[ObjectRecord] = field(default_factory=list)
    allocations: list[ObjectRecord] = field(default_factory=list)
    frames: list[tuple[ObjectRecord, ...]] = field(default_factory=list)
    blocks: list[BlockRecord] = field(default_factory=list)
    externals: list[str] = field(default_factory=list)

    def add_site(self, record: SiteRecord) -> int:
        """Append a site and return its number."""
        self.sites.append(record)
        return len(self.sites) - 1

    def external(self, name: str) -> int:
        """Number of an unmodelled external function."""
        if name not in self.externals:
            self.externals.append(name)
        return self.externals.index(name)
