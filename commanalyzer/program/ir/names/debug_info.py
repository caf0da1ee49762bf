"""Debug information of a module: source places, variables and the types behind them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.program.ir.model import Function, Module

_FIELD = re.compile(r"(\w+): ([^,)]+)")
_STRING = re.compile(r'(\w+): "((?:[^"\\]|\\.)*)"')
_OFFSET = re.compile(r"DW_OP_plus_uconst, (\d+)")
_ITEM = re.compile(r"null|!\d+")
_LIBRARY = ("/include/c++/", "/libcxx/", "/libstdc++/", "/bits/")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """File and line; empty and 0 when unknown."""

    file: str = ""
    line: int = 0


def is_library(file: str) -> bool:
    """Whether ``file`` belongs to the C++ library."""
    return any(part in f"/{file}" for part in _LIBRARY)


def is_fortran(file: str) -> bool:
    """Whether ``file`` is a Fortran source: members are written ``a%b``."""
    return re.search(r"\.f(?:or|tn|\d\d)?$", file, re.IGNORECASE) is not None


class DebugInfo:
    """Source places and variable names from the module's metadata text."""

    def __init__(self, module: Module) -> None:
        self._metadata = module.metadata
        self._fields: dict[int, dict[str, str]] = {}
        self._callers: dict[int, list[tuple[int, int, str]]] = {}
        self._globals = {n: text for n, text in module.metadata.items() if "DIGlobalVariable(" in text}

    def place(self, location: int) -> SourcePlace:
        """Place of a ``!DILocation`` (inlined code: where it was written)."""
        fields = self.fields(location)
        if "scope" not in fields:
            return SourcePlace()
        return SourcePlace(self.file_of(self.number(fields["scope"])), int(fields.get("line", "0")))

    def depth(self, location: int) -> int:
        """Number of calls that inlined code came through."""
        return len(self.callers(location))

    def items(self, number: int) -> list[int]:
        """Numbers of the nodes that a list refers to, -1 for those that are absent."""
        return [self.number(word) for word in _ITEM.findall(self._metadata.get(number, ""))]

    def nodes(self) -> Mapping[int, str]:
        """Printed text of every node."""
        return self._metadata

    def callers(self, location: int) -> list[tuple[int, int, str]]:
        """Location, column and source folder of each call that inlined code came through, the inner first."""
        if location not in self._callers:
            found, at = list[tuple[int, int, str]](), location
            while len(found) < 256 and (at := self.number(self.fields(at).get("inlinedAt", ""))) >= 0:
                found.append(self.position(at))  # calls nest, and a damaged module may lead back here
            self._callers[location] = found
        return self._callers[location]

    def position(self, location: int) -> tuple[int, int, str]:
        """A location, its column and source folder."""
        fields = self.fields(location)
        folder = self._file_field(self.number(fields.get("scope", "")), "directory")
        return location, int(fields.get("column", "0")), folder

    def scopes(self, location: int) -> list[int]:
        """Metadata numbers of the functions that a location is in, by inlining: the innermost first."""
        every = [location, *(number for number, _, _ in self.callers(location))]
        return [self.subprogram_of_variable(number) for number in every]

    def subprogram_place(self, function: Function) -> SourcePlace:
        """Place of a function's definition."""
        fields = self.fields(function.debug_subprogram)
        return SourcePlace(self.file_of(function.debug_subprogram), int(fields.get("line", "0")))

    def variable(self, number: int) -> tuple[str, SourcePlace]:
        """Name and declaration of a ``!DILocalVariable`` or the global behind an expression node."""
        fields = self.fields(number)
        if "var" in fields:
            number = self.number(fields["var"])
            fields = self.fields(number)
        place = SourcePlace(self.file_of(number), int(fields.get("line", "0")))
        return fields.get("name", ""), place

    def offset(self, number: int) -> int:
        """Bytes in its symbol at which a global variable begins (``DW_OP_plus_uconst``)."""
        match = _OFFSET.search(self._metadata.get(number, ""))
        return int(match.group(1)) if match else 0

    def is_artificial(self, number: int) -> bool:
        """The compiler made a variable (``__end1`` of a loop over a range); ``this`` is the user's."""
        flags = self.fields(number).get("flags", "")
        return "DIFlagArtificial" in flags and "DIFlagObjectPointer" not in flags

    def global_variable(self, symbol: str) -> int:
        """Metadata number of the global variable with this symbol, -1 for none."""
        names = (f'{name}: "{symbol}"' for name in ("linkageName", "name"))
        return next((n for text in names for n, node in self._globals.items() if text in node), -1)

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
            number = self.number(self.fields(number).get("scope", ""))
        return -1

    def number(self, text: str) -> int:
        """Number of the node that a field refers to, -1 for none."""
        return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else -1

    def fields(self, number: int) -> dict[str, str]:
        """Named fields of a node, as printed."""
        if number not in self._fields:
            text = self._metadata.get(number, "")
            fields = dict(_FIELD.findall(_STRING.sub("", text)))
            fields.update(_STRING.findall(text))
            self._fields[number] = fields
        return self._fields[number]

    def file_of(self, number: int) -> str:
        """Source file of a node, empty when unknown."""
        return self._file_field(number, "filename")

    def _file_field(self, number: int, wanted: str) -> str:
        for _ in range(64):  # scopes nest
            fields = self.fields(number)
            if "filename" in fields:
                return fields.get(wanted, "")
            following = fields.get("file") or fields.get("scope")
            if following is None:
                return ""
            number = self.number(following)
        return ""
