"""Sites and named objects of a module: stable numbers for everything the trace refers to.

A site is a place that creates values. Numbers follow the order of the canonical module's text, so they are
equal in every run of the same program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from commanalyzer.ir.model import Function, Module
from commanalyzer.vcg.graph import Fold
from commanalyzer.work import Operations

_FIELD = re.compile(r"(\w+): ([^,)]+)")
_STRING = re.compile(r'(\w+): "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """File and line; empty and 0 when unknown."""

    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What is known statically about a site.

    Attributes:
        function: Function with its ``@``.
        result: Register or description that identifies the site in its function.
        kind: ``store``, ``copy`` (store of an unchanged value), ``register``, ``fill``, ``input``, ``exit``.
        width_bytes: Width of the values created.
        place: Source place.
        fold: How terms combine.
        self_label: Index of the label that is the sink's own previous version when it is the accumulating
            operand of ``fold``; -1 otherwise.
        cost_terms: (block counter, operations per execution) of the operations whose results flow into this
            site.
        variable: Source variable of a register value, empty when unknown.
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


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """A variable or allocation site.

    Attributes:
        key: Stable identification (``@u``, ``@main/%call``).
        name: Name for people.
        function: Function with its ``@``; empty for globals.
        place: Source place.
        offset: Byte offset in its extent (local arrays share the frame of their function).
        size_bytes: Size when known statically.
    """

    key: str
    name: str
    function: str
    place: SourcePlace
    offset: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """Static costs behind one block counter (blocks that always execute together share one)."""

    function: str
    label: str
    flops: int
    loads: int
    stores: int
    instructions: int


@dataclass(slots=True)
class SiteTable:
    """Collects records while a module is planned; index = number used in the trace."""

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


class DebugInfo:
    """Source places and variable names from the module's metadata text."""

    def __init__(self, module: Module) -> None:
        self._metadata = module.metadata
        self._fields: dict[int, dict[str, str]] = {}

    def place(self, location: int) -> SourcePlace:
        """Place of a ``!DILocation`` (inlined code: where it was written)."""
        fields = self._node(location)
        if "scope" not in fields:
            return SourcePlace()
        return SourcePlace(self._file_of(self._number(fields["scope"])), int(fields.get("line", "0")))

    def callers(self, location: int) -> list[tuple[int, int, str]]:
        """Location, column and source folder of each call that inlined code came through, the inner first."""
        result = []
        for _ in range(256):  # calls nest
            location = self._number(self._node(location).get("inlinedAt", ""))
            if location < 0:
                break
            fields = self._node(location)
            folder = self._file_field(self._number(fields.get("scope", "")), "directory")
            result.append((location, int(fields.get("column", "0")), folder))
        return result

    def subprogram_place(self, function: Function) -> SourcePlace:
        """Place of a function's definition."""
        fields = self._node(function.debug_subprogram)
        return SourcePlace(self._file_of(function.debug_subprogram), int(fields.get("line", "0")))

    def variable(self, number: int) -> tuple[str, SourcePlace]:
        """Name and declaration of a ``!DILocalVariable`` or the global behind an expression node."""
        fields = self._node(number)
        if "var" in fields:
            number = self._number(fields["var"])
            fields = self._node(number)
        place = SourcePlace(self._file_of(number), int(fields.get("line", "0")))
        return fields.get("name", ""), place

    def variables_of(self, function: Function) -> dict[str, int]:
        """Variable that first held each register; the function's own before those of inlined functions."""
        result: dict[str, int] = {}
        own: set[str] = set()
        for record in function.debug_records:
            register = record.value.split()[-1]
            is_own = self.subprogram_of_variable(record.variable) == function.debug_subprogram
            if record.kind == "value" and (register not in result or (is_own and register not in own)):
                result[register] = record.variable
                if is_own:
                    own.add(register)
        return result

    def subprogram_of_variable(self, number: int) -> int:
        """Metadata number of the function that declares a local variable, -1 when unknown."""
        for _ in range(64):  # scopes nest
            if "DISubprogram(" in self._metadata.get(number, ""):
                return number
            number = self._number(self._node(number).get("scope", ""))
        return -1

    def _number(self, text: str) -> int:
        return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else -1

    def _node(self, number: int) -> dict[str, str]:
        if number not in self._fields:
            text = self._metadata.get(number, "")
            fields = dict(_FIELD.findall(_STRING.sub("", text)))
            fields.update(_STRING.findall(text))
            self._fields[number] = fields
        return self._fields[number]

    def _file_of(self, number: int) -> str:
        return self._file_field(number, "filename")

    def _file_field(self, number: int, wanted: str) -> str:
        for _ in range(64):  # scopes nest
            fields = self._node(number)
            if "filename" in fields:
                return fields.get(wanted, "")
            following = fields.get("file") or fields.get("scope")
            if following is None:
                return ""
            number = self._number(following)
        return ""
