"""ELF files for x86-64: reads sections and dynamic entries, adds a section to an object file.

Written here because a compiler wrapper starts for every source file: the ELF libraries that can also
write cost more to import than the compiler takes to run. Format: System V gABI, chapters 4 and 5.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<QQ")
_IDENT = b"\x7fELF\x02\x01\x01"
RELOCATABLE = 1
_X86_64 = 62
_PROGBITS, _STRTAB, _DYNAMIC_SECTION, _NOBITS = 1, 3, 6, 8
_MAX_SECTIONS = 0xFF00
DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 14, 15, 29


@dataclass(frozen=True, slots=True)
class Section:
    """Entry of the section table; fields as in the gABI, ``name`` resolved."""

    name: str
    name_offset: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    def packed(self) -> bytes:
        """The 64 bytes of the entry."""
        return _SECTION.pack(
            self.name_offset, self.kind, self.flags, self.address, self.offset,
            self.size, self.link, self.info, self.alignment, self.entry_size,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ElfFile:
    """A parsed file: its bytes, type (``e_type``), sections and the index of their names."""

    data: bytes
    kind: int
    sections: tuple[Section, ...]
    names_index: int

    def content(self, name: str) -> bytes:
        """Bytes of the sections called ``name``, one after the other; empty if there is none."""
        found = [s for s in self.sections if s.name == name and s.kind != _NOBITS]
        return b"".join(self.data[s.offset : s.offset + s.size] for s in found)


def is_elf(path: Path) -> bool:
    """The file starts like an ELF file of any kind."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == _IDENT[:4]
    except OSError:
        return False


def read_elf(path: Path) -> ElfFile | None:
    """The file, ``None`` if it is not a 64-bit ELF file for x86-64 or is damaged.

    Raises:
        OSError: If it cannot be read.
    """
    return parse_elf(path.read_bytes())


def parse_elf(data: bytes) -> ElfFile | None:
    """As :func:`read_elf`, from bytes."""
    if len(data) < _HEADER.size or not data.startswith(_IDENT):
        return None
    fields = _HEADER.unpack_from(data)
    kind, machine, table, count, names_index = fields[1], fields[2], fields[6], fields[12], fields[13]
    if machine != _X86_64 or table + count * _SECTION.size > len(data) or not 0 < names_index < count:
        return None
    entries = list(_SECTION.iter_unpack(data[table : table + count * _SECTION.size]))
    start = entries[names_index][4]
    sections = tuple(Section(_text(data, start + entry[0]), *entry) for entry in entries)
    return ElfFile(data, kind, sections, names_index)


def dynamic_entries(elf: ElfFile, tag: int) -> tuple[str, ...]:
    """Texts of the dynamic entries with ``tag`` (``DT_NEEDED``, ...), in order."""
    for section in elf.sections:
        if section.kind == _DYNAMIC_SECTION and section.link < len(elf.sections):
            strings = elf.sections[section.link].offset
            content = elf.data[section.offset : section.offset + section.size]
            whole = content[: len(content) // _DYNAMIC.size * _DYNAMIC.size]
            return tuple(
                _text(elf.data, strings + value) for t, value in _DYNAMIC.iter_unpack(whole) if t == tag
            )
    return ()


def with_section(elf: ElfFile, name: str, content: bytes) -> bytes:
    """Bytes of an object file with one more section, which is not loaded at run time.

    The old bytes stay where they are; content, names and section table are put behind them.

    Raises:
        ConfigError: If the object has too many sections for this format.
    """
    if elf.kind != RELOCATABLE or len(elf.sections) >= _MAX_SECTIONS:
        raise ConfigError(f"expected an object file with less than {_MAX_SECTIONS} sections")
    names = elf.sections[elf.names_index]
    texts = elf.data[names.offset : names.offset + names.size] + name.encode() + b"\0"
    body = bytearray(elf.data)
    content_at = len(body)
    body += content
    names_at = len(body)
    body += texts
    body += bytes(-len(body) % 8)
    table_at = len(body)
    sections = list(elf.sections)
    sections[elf.names_index] = replace(names, offset=names_at, size=len(texts))
    sections.append(Section(name, names.size, _PROGBITS, 0, 0, content_at, len(content), 0, 0, 1, 0))
    body += b"".join(section.packed() for section in sections)
    header = list(_HEADER.unpack_from(body))
    header[6], header[12] = table_at, len(sections)
    _HEADER.pack_into(body, 0, *header)
    return bytes(body)


def carrier(name: str, content: bytes) -> bytes:
    """An object file with nothing but one section (and the note that it wants no executable stack)."""
    empty = Section("", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    texts = b"\0.shstrtab\0.note.GNU-stack\0"
    table_at = _HEADER.size + len(texts) + -len(texts) % 8
    sections: Sequence[Section] = (
        empty,
        replace(empty, name_offset=1, kind=_STRTAB, offset=_HEADER.size, size=len(texts), alignment=1),
        replace(empty, name_offset=11, kind=_PROGBITS, offset=_HEADER.size, alignment=1),
    )
    ident = _IDENT + bytes(16 - len(_IDENT))
    header = _HEADER.pack(
        ident, RELOCATABLE, _X86_64, 1, 0, 0, table_at, 0, _HEADER.size, 0, 0, _SECTION.size, len(sections), 1
    )
    padding = bytes(table_at - _HEADER.size - len(texts))
    bare = parse_elf(header + texts + padding + b"".join(section.packed() for section in sections))
    if bare is None:
        raise ConfigError("expected a well-formed carrier object")
    return with_section(bare, name, content)


def add_section(path: Path, name: str, content: bytes) -> bool:
    """Add a section to the object file at ``path``; false if it is not an object file for x86-64.

    The file is replaced whole: no other process ever sees half of it.

    Raises:
        OSError: If it cannot be read or written.
    """
    elf = read_elf(path)
    if elf is None or elf.kind != RELOCATABLE:
        return False
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(with_section(elf, name, content))
        draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _text(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset)
    return data[offset : end if end >= 0 else len(data)].decode("utf-8", "replace")
