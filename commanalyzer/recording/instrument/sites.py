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
    """What is known statically about a site."""

    function: str
    result: str  # register or description that identifies the site in its function (with its ``@``)
    # ``store``, ``copy`` (store of an unchanged value), ``register``, ``fill``, ``input``, ``exit``
    kind: str
    width_bytes: int  # width of the values created; 0: as wide as those that are copied
    place: SourcePlace
    fold: Fold = Fold.NONE  # how terms combine
    # index of the label that is the sink's own previous version when it is the accumulating operand of
    # ``fold``; -1 otherwise
    self_label: int = -1
    # (block counter, operations per execution) of the operations whose results flow into this site
    cost_terms: tuple[tuple[int, Operations], ...] = ()
    variable: str = ""  # source variable of a register value, empty when unknown
    loop: LoopPlace = NO_LOOP  # the innermost loop that it is in
    source: str = ""  # function that the variable is in, or else the place: what is inlined keeps its own
    readers: tuple[int, ...] = ()  # sites that the values of a register flow into, as far as known


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A variable, or a call that is part of the paths of allocations."""

    key: str  # stable identification (``@u``, ``@main/%call``)
    name: str  # name for people
    function: str  # function with its ``@``; empty for globals
    place: SourcePlace
    offset: int = 0  # byte offset in its extent (local arrays share the frame of their function)
    size_bytes: int = 0  # size when known statically
    # who holds the blocks that a call leaves in its result (-1) or behind an argument
    holders: Mapping[int, Holder] = field(default_factory=dict)
    # what lies in it: members of a structure, variables of a COMMON block
    parts: tuple[MemberPlace, ...] = ()
    is_piece: bool = False  # the call returns a piece of a larger block, whose size nobody says
    # where the user's code makes the call, the innermost of inlined frames first
    frames: tuple[UserFrame, ...] = ()
    strides: tuple[int, ...] = ()  # bytes from each plane, then row to the next, where the object has such
    record_bytes: int = 0  # bytes of the structures that it is an array of, 0 for other arrays
    is_constant: bool = False  # what lies there are literals: a variable that nothing may be stored to

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
    converges: bool = False  # in an innermost loop in another one, which ends by what it computes


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
