"""Reads an executable's records, and those of the shared objects it is linked with.

ELF files for x86-64: reads sections and dynamic entries, adds a section to an object file.

Written here because a compiler wrapper starts for every source file: the ELF libraries that can also
write cost more to import than the compiler takes to run. Format: System V gABI, chapters 4 and 5.

What an object file or executable carries: records in the section ``.commanalyzer``.

A record is: magic (8 bytes), length of header and of payload (two little-endian uint32), the header
(JSON) and the zlib-compressed payload. Records follow each other; zeros between them are padding of linkers.
Level 1 of zlib takes milliseconds and saves about half of bitcode with debug information.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from commanalyzer.foundation.documents import parse_json
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.inputs.sources import hint_of

SECTION = ".commanalyzer"
_MAGIC = b"CMNLYZR1"
_LENGTHS = struct.Struct("<II")

Kind = Literal["module", "object", "link"]


@dataclass(frozen=True, slots=True)
class Record:
    """One source, object or link step."""

    # ``module``: bitcode of a source; ``object``: machine code that has no IR; ``link``: how a program or
    # shared object was linked
    kind: Kind
    name: str  # source, object or output file as the user named it
    language: str = ""  # ``c``, ``c++``, ``fortran``, ``ir``, ``assembler``; for ``link`` that of the driver
    compiler: tuple[str, ...] = ()  # for ``link``: command of the user's compiler; empty for the bundled one
    options: tuple[str, ...] = ()  # for ``link``: libraries and search paths to link with again
    note: str = ""  # why an ``object`` has no IR; for ``link`` options that an analysis does not repeat
    payload: bytes = b""  # bitcode or object file

    def encoded(self) -> bytes:
        """Bytes of the record."""
        fields = asdict(self)
        del fields["payload"]
        header = json.dumps(fields, sort_keys=True).encode()
        packed = zlib.compress(self.payload, 1)
        return _MAGIC + _LENGTHS.pack(len(header), len(packed)) + header + packed


def encode_records(records: Iterable[Record]) -> bytes:
    """Content of a section."""
    return b"".join(record.encoded() for record in records)


def decode_records(content: bytes, where: str) -> tuple[Record, ...]:
    """Records of a section, in the linker's order; ConfigError if it is damaged or of another version."""
    found, place = list[Record](), 0
    try:
        while (start := content.find(_MAGIC, place)) >= 0:
            header_size, payload_size = _LENGTHS.unpack_from(content, start + len(_MAGIC))
            body = start + len(_MAGIC) + _LENGTHS.size
            payload, end = body + header_size, body + header_size + payload_size
            if content[place:start].strip(b"\0") or end > len(content):
                raise ValueError("something between records, or no end")
            fields = parse_json(content[body:payload])
            fields["compiler"], fields["options"] = tuple(fields["compiler"]), tuple(fields["options"])
            found.append(Record(**fields, payload=zlib.decompress(content[payload:end])))
            place = end
        if content[place:].strip(b"\0"):
            raise ValueError("something behind records")
    except (ValueError, KeyError, TypeError, struct.error, zlib.error) as error:
        raise ConfigError(
            f"expected records of this version in section {SECTION}, found other data",
            where=where,
            hint="build the program again with the compilers of this commanalyzer",
        ) from error
    return tuple(found)


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
class ElfSection:
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
    sections: tuple[ElfSection, ...]
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
    """The file, ``None`` if it is not a 64-bit ELF file for x86-64 or is damaged; OSError if not readable."""
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
    sections = tuple(ElfSection(_text(data, start + entry[0]), *entry) for entry in entries)
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

    The old bytes stay where they are; content, names and section table are put behind them. Raises
    ConfigError if the object has too many sections for this format.
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
    sections.append(ElfSection(name, names.size, _PROGBITS, 0, 0, content_at, len(content), 0, 0, 1, 0))
    body += b"".join(section.packed() for section in sections)
    header = list(_HEADER.unpack_from(body))
    header[6], header[12] = table_at, len(sections)
    _HEADER.pack_into(body, 0, *header)
    return bytes(body)


def carrier(name: str, content: bytes) -> bytes:
    """An object file with nothing but one section (and the note that it wants no executable stack)."""
    empty = ElfSection("", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    texts = b"\0.shstrtab\0.note.GNU-stack\0"
    table_at = _HEADER.size + len(texts) + -len(texts) % 8
    sections: Sequence[ElfSection] = (
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

    The file is replaced whole: no other process ever sees half of it. Raises OSError if it cannot be read or
    written.
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


_HOW_TO_BUILD = (
    "build it with make CC=commanalyzer-cc CXX=commanalyzer-c++ FC=commanalyzer-fc, or with cmake "
    "-DCMAKE_C_COMPILER=commanalyzer-cc -DCMAKE_CXX_COMPILER=commanalyzer-c++; llvm-strip removes the IR"
)
_DEFAULT_DIRECTORIES = (Path("/usr/local/lib"),)


@dataclass(frozen=True, slots=True)
class ElfImage:
    """The executable or a shared object, its file name, soname, and records in the linker's order."""

    path: Path
    names: frozenset[str]
    records: tuple[Record, ...]

    def of_kind(self, kind: str) -> list[Record]:
        """Its records of one kind."""
        return [record for record in self.records if record.kind == kind]


@dataclass(frozen=True, slots=True)
class EmbeddedProgram:
    """What can be analysed of an executable."""

    # the executable, then its shared objects with IR, each once, as the dynamic linker orders them
    images: tuple[ElfImage, ...]
    # directories of needed shared objects without IR that the executable finds by its run path
    run_paths: tuple[Path, ...]

    def link_options(self) -> tuple[list[str], list[str]]:
        """Options to link the rest of the program with, and files among them that are gone."""
        analysed = frozenset(name for image in self.images[1:] for name in image.names)
        options: list[str] = []
        gone: list[str] = []
        for image in self.images:
            for record in image.of_kind("link"):
                for option in record.options:
                    if _is_analysed(option, analysed):
                        continue
                    if option.startswith("/") and not Path(option).exists():
                        gone.append(option)
                    else:
                        options.append(option.replace("$ORIGIN", str(image.path.parent)))
        return [*options, *(f"-Wl,-rpath,{path}" for path in self.run_paths)], gone


def read_program(path: Path) -> EmbeddedProgram:
    """Records of the executable at ``path`` and of its shared objects.

    Raises ConfigError if it is not an executable for x86-64 Linux, or carries no IR.
    """
    elf = _read(path)
    if elf is None:
        raise ConfigError("expected an executable for x86-64, found one for another machine", where=str(path))
    if elf.kind == RELOCATABLE:
        raise ConfigError(
            "expected an executable, found an object file",
            where=str(path),
            hint="link it, and give the program",
        )
    images = [_image(path, elf)]
    run_paths: dict[Path, None] = {}
    _follow(path, elf, images, run_paths)
    if not any(image.of_kind("module") for image in images):
        known = ", ".join(f"{r.name} ({r.note})" for image in images for r in image.of_kind("object"))
        found = f"only objects without: {known}" if known else "none"
        raise ConfigError(
            f"expected an executable with embedded IR, found {found}",
            where=str(path),
            hint=hint_of(known, _HOW_TO_BUILD),
        )
    return EmbeddedProgram(tuple(images), tuple(run_paths))


def _read(path: Path) -> ElfFile | None:
    try:
        return read_elf(path)
    except OSError as error:
        raise ConfigError(f"expected a readable file, found: {error.strerror}", where=str(path)) from error


def _image(path: Path, elf: ElfFile) -> ElfImage:
    names = frozenset((path.name, path.resolve().name, *dynamic_entries(elf, DT_SONAME)))
    return ElfImage(path.resolve(), names, decode_records(elf.content(SECTION), str(path)))


def _follow(path: Path, elf: ElfFile, images: list[ElfImage], run_paths: dict[Path, None]) -> None:
    """Breadth first over the needed shared objects, as the dynamic linker goes."""
    seen: set[Path] = {path.resolve()}
    queue = [(path, elf)]
    while queue:
        found = []
        for user, user_elf in queue:
            for library, run_path in _needed(user, user_elf, images[0]):
                library_elf = _read(library)
                if library.resolve() in seen or library_elf is None:
                    continue
                seen.add(library.resolve())
                found.append((library, library_elf))
                image = _image(library, library_elf)
                if image.of_kind("module"):
                    images.append(image)
                elif run_path:
                    run_paths[library.resolve().parent] = None
        queue = found


def _needed(user: Path, elf: ElfFile, program: ElfImage) -> Iterator[tuple[Path, bool]]:
    """Needed libraries outside the system's directories, and whether the run path leads there."""
    texts = (*dynamic_entries(elf, DT_RPATH), *dynamic_entries(elf, DT_RUNPATH))
    run_path = _directories(":".join(texts), user)
    others = [*_directories(os.environ.get("LD_LIBRARY_PATH", ""), user), *_DEFAULT_DIRECTORIES]
    others += [Path(o[2:]) for r in program.of_kind("link") for o in r.options if o.startswith("-L")]
    for name in dynamic_entries(elf, DT_NEEDED):
        if "/" in name:
            candidates = [(Path(name), False)]
        else:
            candidates = [(d / name, True) for d in run_path] + [(d / name, False) for d in others]
        found = next((c for c in candidates if is_elf(c[0])), None)
        if found is not None:
            yield found


def _directories(text: str, user: Path) -> list[Path]:
    origin = str(user.resolve().parent)
    parts = (part.replace("${ORIGIN}", "$ORIGIN") for part in text.split(":") if part)
    return [Path(part.replace("$ORIGIN", origin)) for part in parts]


def _is_analysed(option: str, analysed: frozenset[str]) -> bool:
    """The option names a shared object whose IR is part of the analysis."""
    if option.startswith("/"):
        path = Path(option)
        return not analysed.isdisjoint((path.name, path.resolve().name))
    library = option.removeprefix("-l")
    names = [library[1:]] if library.startswith(":") else [f"lib{library}.so"]
    return option.startswith("-l") and any(a == n or a.startswith(f"{n}.") for n in names for a in analysed)
