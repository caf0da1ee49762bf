"""Debug information of a module: places, variables, their types, and which member lies at which offset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from commanalyzer.program.ir.constants import unescaped
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


class Spot(NamedTuple):
    """A location with its place, the path of the file, the column (0 when unknown) and function there."""

    location: int
    place: SourcePlace
    path: str
    column: int
    subprogram: int


class DebugInfo:
    """Source places and variable names from the module's metadata: the text of its nodes."""

    def __init__(self, module: Module) -> None:
        self.metadata = module.metadata
        self._fields: dict[int, dict[str, str]] = {}
        self._spots: dict[int, list[Spot]] = {}
        self._globals = {n: text for n, text in module.metadata.items() if "DIGlobalVariable(" in text}

    def place(self, number: int) -> SourcePlace:
        """Place of a location (inlined code: where it was written), or of what is declared."""
        return SourcePlace(self.file_of(number), int(self.fields(number).get("line", "0")))

    def items(self, number: int) -> list[int]:
        """Numbers of the nodes that a list refers to, -1 for those that are absent."""
        return [self.number(word) for word in _ITEM.findall(self.metadata.get(number, ""))]

    def spots(self, location: int) -> list[Spot]:
        """A location, and the calls that inlined code there came through, the innermost first."""
        if location not in self._spots:
            found, at = list[Spot](), location
            while not found or (at >= 0 and len(found) < 256):  # a damaged module may lead back here
                fields, place, subprogram = self.fields(at), self.place(at), self.subprogram_of_variable(at)
                folder = self.file_of(self.number(fields.get("scope", "")), "directory")
                path, column = str(Path(folder) / place.file), int(fields.get("column", "0"))
                found.append(Spot(at, place, path, column, subprogram))
                at = self.number(fields.get("inlinedAt", ""))
            self._spots[location] = found
        return self._spots[location]

    def variable(self, number: int) -> tuple[str, SourcePlace]:
        """Name and declaration of a ``!DILocalVariable`` or the global behind an expression node."""
        fields = self.fields(number)
        if "var" in fields:
            number = self.number(fields["var"])
        return self.fields(number).get("name", ""), self.place(number)

    def offset(self, number: int) -> int:
        """Bytes in its symbol at which a global variable begins (``DW_OP_plus_uconst``)."""
        match = _OFFSET.search(self.metadata.get(number, ""))
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
        """Variable that first held each register; the function's own before those of inlined functions.

        A phi that nothing says it of is the variable that holds all its registers: a sum behind its loop.
        """
        result: dict[str, int] = {}
        own: set[str] = set()
        for record in function.debug_records:
            register = record.register
            is_own = self.subprogram_of_variable(record.variable) == function.debug_subprogram
            if record.kind == "value" and (register not in result or (is_own and register not in own)):
                result[register] = record.variable
                if is_own:
                    own.add(register)
        for phi in (i for i in function.instructions if i.opcode == "phi"):
            held = {result.get(o.text) for o in phi.operands if o.is_local}
            if len(held) == 1 and (variable := held.pop()) is not None:
                result.setdefault(phi.name, variable)
        return result

    def subprogram_of_variable(self, number: int) -> int:
        """Metadata number of the function that declares a local variable, -1 when unknown."""
        for _ in range(64):  # scopes nest
            if "DISubprogram(" in self.metadata.get(number, ""):
                return number
            number = self.number(self.fields(number).get("scope", ""))
        return -1

    def owner(self, subprogram: int, function: Function) -> str:
        """Function that has a subprogram: ``function``, or one that is inlined in it."""
        if subprogram in (-1, function.debug_subprogram):
            return function.name
        fields = self.fields(subprogram)
        return fields.get("linkageName") or fields.get("name", function.name)

    def number(self, text: str) -> int:
        """Number of the node that a field refers to, -1 for none."""
        return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else -1

    def fields(self, number: int) -> dict[str, str]:
        """Named fields of a node, as printed."""
        if number not in self._fields:
            text = self.metadata.get(number, "")
            fields = dict(_FIELD.findall(_STRING.sub("", text)))
            fields.update((k, unescaped(word).decode(errors="replace")) for k, word in _STRING.findall(text))
            self._fields[number] = fields
        return self._fields[number]

    def file_of(self, number: int, wanted: str = "filename") -> str:
        """Source file of a node, or its ``directory``; empty when unknown."""
        for _ in range(64):  # scopes nest
            fields = self.fields(number)
            if "filename" in fields:
                return fields.get(wanted, "")
            following = fields.get("file") or fields.get("scope")
            if following is None:
                return ""
            number = self.number(following)
        return ""


_ALIASES = frozenset(
    f"DW_TAG_{name}"
    for name in ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type", "member")
)
_POINTERS = frozenset(
    f"DW_TAG_{name}"
    for name in ("pointer_type", "reference_type", "rvalue_reference_type", "ptr_to_member_type")
)
_RECORDS = frozenset(f"DW_TAG_{name}" for name in ("structure_type", "class_type", "union_type"))
_PARTS = frozenset({"DW_TAG_member", "DW_TAG_inheritance"})
_MOST_LEVELS = 64  # types nest


@dataclass(frozen=True, slots=True)
class Member:
    """What lies at an offset of an object: ``offset`` bytes in something of a type, which is -1 if unknown.

    Members and constant indices lead there (``.mesh.x[2]``); the path is empty for the object itself.
    """

    path: str
    type: int
    offset: int


class MemberPlace(NamedTuple):
    """A member of a structure, called by the path from there, or a variable of a COMMON block."""

    name: str
    start: int
    size_bytes: int
    place: SourcePlace
    strides: tuple[int, ...] = ()
    record_bytes: int = 0


def _points(fields: dict[str, str]) -> bool:
    """A type with these fields holds an address (of Fortran's arrays: where their data is)."""
    return fields.get("tag") in _POINTERS or "dataLocation" in fields


class DebugTypes:
    """Types of one module, by metadata number."""

    def __init__(self, debug: DebugInfo) -> None:
        self._debug = debug
        self._complete: dict[str, int] | None = None

    def of_variable(self, variable: int) -> int:
        """Type of a variable (or of the global behind an expression node), -1 when unknown."""
        fields = self._debug.fields(variable)
        if "var" in fields:
            fields = self._debug.fields(self._debug.number(fields["var"]))
        return self._debug.number(fields.get("type", ""))

    def of_result(self, subprogram: int) -> int:
        """Type that a function returns, -1 when unknown."""
        signature = self._debug.fields(self._debug.number(self._debug.fields(subprogram).get("type", "")))
        return next(iter(self._debug.items(self._debug.number(signature.get("types", "")))), -1)

    def pointee(self, type_: int) -> int:
        """What a pointer, reference or array descriptor points to, -1 for other types."""
        fields = self._debug.fields(self.plain(type_))
        return self._debug.number(fields.get("baseType", "")) if _points(fields) else -1

    def is_pointer(self, type_: int) -> bool:
        """The type is a pointer, a reference or an array descriptor, which begins with the address."""
        return _points(self._debug.fields(self.plain(type_)))

    def plain(self, type_: int) -> int:
        """The type behind its other names and qualifiers."""
        for _ in range(_MOST_LEVELS):
            fields = self._debug.fields(type_)
            if fields.get("tag") not in _ALIASES:
                return self._defined(type_, fields)
            type_ = self._debug.number(fields.get("baseType", ""))
        return type_

    def members(self, type_: int, offset: int, *, has_indices: bool = True) -> list[Member]:
        """Members that lead to ``offset`` of an object, and the object itself in front of them.

        Members of objects of the C++ library have no names: ``velocity[1]`` is in a ``std::array``. With
        ``has_indices``, elements of arrays are told apart.
        """
        path, is_named, found = "", True, list[Member]()
        for _ in range(_MOST_LEVELS):
            type_ = self.plain(type_)
            fields = self._debug.fields(type_)
            tag = fields.get("tag", "")
            found.append(Member(path, type_, offset))
            if tag in _RECORDS:
                is_named &= not is_library(self._debug.file_of(type_))
                part = self._part(fields, offset)
                if part is None:
                    break
                of_type, (name, type_, start) = type_, part
                separator = "%" if is_fortran(self._debug.file_of(of_type)) else "."
                path += f"{separator}{name}" if name and is_named else ""
                offset -= start
            elif tag == "DW_TAG_array_type" and not _points(fields):
                element = self._debug.number(fields.get("baseType", ""))
                size = self._size(element)
                if size <= 0:
                    break
                path += f"[{offset // size}]" if has_indices else ""
                type_, offset = element, offset % size
            else:
                break
        return found

    def part(self, name: str, start: int, size_bytes: int, place: SourcePlace, type_: int) -> MemberPlace:
        """What lies in a structure or block, of a type."""
        strides = self.row_strides(type_, place.file)
        return MemberPlace(name, start, size_bytes, place, strides, self.record_bytes(type_))

    def parts(self, type_: int, outer: MemberPlace | None = None, level: int = 0) -> Iterator[MemberPlace]:
        """Members of a structure (the member ``outer``) that are none; what the C++ library makes is one."""
        plain = self.plain(type_)
        fields, file = self._debug.fields(plain), self._debug.file_of(plain)
        path, start = outer[:2] if outer else ("", 0)
        is_wrapper, separator = is_library(file), "%" if is_fortran(file) else "."
        is_divided = fields.get("tag") in _RECORDS - {"DW_TAG_union_type"} and level < _MOST_LEVELS
        if not is_divided or (is_wrapper and outer is None):
            return
        for number, name, first, of_part in self._parts(fields):
            called, place = path + (separator + name if name else ""), self._debug.place(number)
            if outer and is_wrapper:
                called, place = path, outer.place
            part = self.part(called, start + first, self._size(of_part), place, of_part)
            within = list(self.parts(of_part, part, level + 1))
            is_one = is_library(self._debug.file_of(self.plain(of_part))) and len(within) > 1
            yield from [part] if is_one or not within else within

    def is_record(self, type_: int) -> bool:
        """The type is a structure, class or union."""
        return self._debug.fields(self.plain(type_)).get("tag") in _RECORDS

    def record_bytes(self, type_: int) -> int:
        """Bytes of the structures that an array has, or that a pointer points to; 0 for others."""
        fields = self._debug.fields(self.plain(type_))
        element = self._debug.number(fields.get("baseType", ""))
        return self._size(element) if self.is_record(element) else 0

    def is_array(self, type_: int) -> bool:
        """The type is an array whose elements lie there."""
        fields = self._debug.fields(self.plain(type_))
        return fields.get("tag") == "DW_TAG_array_type" and not _points(fields)

    def row_strides(self, type_: int, file: str) -> tuple[int, ...]:
        """Return the bytes from each plane, then row to the next of an array; nothing where not known.

        In a Fortran ``file``, which declares it, the first index is the fastest one.
        """
        fields = self._debug.fields(self.plain(type_))
        if not self.is_array(type_):
            return ()
        ranges = self._debug.items(self._debug.number(fields.get("elements", "")))
        counts = [self._debug.fields(number).get("count", "") for number in ranges]
        step = self._size(self._debug.number(fields.get("baseType", "")))
        if step <= 0 or not all(count.isdigit() for count in counts):
            return ()
        found: list[int] = []
        for count in counts[:-1] if is_fortran(file) else counts[:0:-1]:
            step *= int(count)
            found.append(step)
        return tuple(reversed(found))

    def pointed_strides(self, type_: int) -> tuple[int, ...]:
        """Return the same of the array whose rows or planes a C pointer points to: ``double (*a)[6][6]``."""
        row = self._debug.number(self._debug.fields(self.plain(type_)).get("baseType", ""))
        inner = self.row_strides(row, "")
        return (self._size(row), *inner) if self.is_array(row) and self._size(row) > 0 else ()

    def _part(self, record: dict[str, str], offset: int) -> tuple[str, int, int] | None:
        """Name, type and first byte of the member or base of a record that contains a byte."""
        every = ((name, type_, start) for _, name, start, type_ in self._parts(record))
        return next((p for p in every if p[2] <= offset < p[2] + self._size(p[1])), None)

    def _parts(self, record: dict[str, str]) -> Iterator[tuple[int, str, int, int]]:
        """Members and bases of a record: number, name, first byte and type."""
        for number in self._debug.items(self._debug.number(record.get("elements", ""))):
            fields = self._debug.fields(number)
            if fields.get("tag") in _PARTS and "DIFlagStaticMember" not in fields.get("flags", ""):
                type_ = self._debug.number(fields.get("baseType", ""))
                yield number, fields.get("name", ""), int(fields.get("offset", "0")) // 8, type_

    def _size(self, type_: int) -> int:
        """Bytes of an object, 0 when unknown."""
        fields = self._debug.fields(self.plain(type_))
        return int(fields.get("size", "0")) // 8

    def _defined(self, type_: int, fields: dict[str, str]) -> int:
        """The definition of a type that this node only declares."""
        if "DIFlagFwdDecl" not in fields.get("flags", ""):
            return type_
        if self._complete is None:
            self._complete = {}
            for number, text in self._debug.metadata.items():
                if "DICompositeType(" in text and "identifier: " in text and "DIFlagFwdDecl" not in text:
                    self._complete[self._debug.fields(number)["identifier"]] = number
        return self._complete.get(fields.get("identifier", ""), type_)
