"""Source types of memory: which member of a structure lies at which offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commanalyzer.program.ir.names.debug_info import DebugInfo, is_fortran, is_library

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
    """What lies at an offset of an object.

    Attributes:
        path: Members and constant indices that lead there (``.mesh.x[2]``); empty for the object itself.
        type: Metadata number of its type, -1 when unknown.
        offset: Bytes that are left within it.
    """

    path: str
    type: int
    offset: int


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

        Members of objects of the C++ library have no names: ``velocity[1]`` is in a ``std::array``.

        Args:
            type_: Type of the object.
            offset: Bytes in it.
            has_indices: Elements of arrays are told apart.
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

    def arrays(self, type_: int) -> Iterator[tuple[str, int, int, int]]:
        """Arrays that are members of a structure: path, first byte, bytes, metadata number of the member."""
        yield from self._arrays(type_, "", 0, 0)

    def _arrays(self, type_: int, path: str, start: int, level: int) -> Iterator[tuple[str, int, int, int]]:
        plain = self.plain(type_)
        fields = self._debug.fields(plain)
        if fields.get("tag") not in _RECORDS - {"DW_TAG_union_type"} or level == _MOST_LEVELS:
            return
        separator = "%" if is_fortran(self._debug.file_of(plain)) else "."
        is_named = not is_library(self._debug.file_of(plain))
        for number in self._debug.items(self._debug.number(fields.get("elements", ""))):
            part = self._debug.fields(number)
            if part.get("tag") not in _PARTS or "DIFlagStaticMember" in part.get("flags", ""):
                continue
            first, of_part = (
                start + int(part.get("offset", "0")) // 8,
                self._debug.number(part.get("baseType", "")),
            )
            name = path + separator + part["name"] if is_named and "name" in part else path
            if self.is_array(of_part) and name:
                yield name, first, self._size(of_part), number
            else:
                yield from self._arrays(of_part, name, first, level + 1)

    def is_record(self, type_: int) -> bool:
        """The type is a structure, class or union."""
        return self._debug.fields(self.plain(type_)).get("tag") in _RECORDS

    def is_array(self, type_: int) -> bool:
        """The type is an array whose elements lie there."""
        fields = self._debug.fields(self.plain(type_))
        return fields.get("tag") == "DW_TAG_array_type" and not _points(fields)

    def row_strides(self, type_: int, file: str) -> tuple[int, ...]:
        """Return the bytes from each plane, then row to the next of an array; nothing where not known.

        Args:
            type_: Type of the array.
            file: Source file that declares it: Fortran's first index is the fastest one.
        """
        fields = self._debug.fields(self.plain(type_))
        if fields.get("tag") != "DW_TAG_array_type" or _points(fields):
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

    def _part(self, record: dict[str, str], offset: int) -> tuple[str, int, int] | None:
        """Name, type and first byte of the member or base of a record that contains a byte."""
        for number in self._debug.items(self._debug.number(record.get("elements", ""))):
            fields = self._debug.fields(number)
            if fields.get("tag") not in _PARTS or "DIFlagStaticMember" in fields.get("flags", ""):
                continue
            start = int(fields.get("offset", "0")) // 8
            type_ = self._debug.number(fields.get("baseType", ""))
            if start <= offset < start + self._size(type_):
                return fields.get("name", ""), type_, start
        return None

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
            for number, text in self._debug.nodes().items():
                if "DICompositeType(" in text and "identifier: " in text and "DIFlagFwdDecl" not in text:
                    self._complete[self._debug.fields(number)["identifier"]] = number
        return self._complete.get(fields.get("identifier", ""), type_)
