"""What an object file or executable carries: records in the section ``.commanalyzer``.

A record is: magic (8 bytes), length of header and of payload (two little-endian uint32), the header
(JSON) and the zlib-compressed payload. Records follow each other; zeros between them are padding of linkers.
Level 1 of zlib takes milliseconds and saves about half of bitcode with debug information.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from commanalyzer.foundation.documents import parse_json
from commanalyzer.foundation.errors import ConfigError

SECTION = ".commanalyzer"
_MAGIC = b"CMNLYZR1"
_LENGTHS = struct.Struct("<II")

Kind = Literal["module", "object", "link"]


@dataclass(frozen=True, slots=True)
class Record:
    """One source, object or link step.

    Attributes:
        kind: ``module``: bitcode of a source; ``object``: machine code that has no IR; ``link``: how a
            program or shared object was linked.
        name: Source, object or output file as the user named it.
        language: ``c``, ``c++``, ``fortran``, ``ir``, ``assembler``; for ``link`` that of the driver.
        compiler: For ``link``: command of the user's compiler; empty for the bundled one.
        options: For ``link``: libraries and search paths to link with again.
        note: Why an ``object`` has no IR; for ``link`` options that an analysis does not repeat.
        payload: Bitcode or object file.
    """

    kind: Kind
    name: str
    language: str = ""
    compiler: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    note: str = ""
    payload: bytes = b""

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
    found: list[Record] = []
    place = 0
    while (start := content.find(_MAGIC, place)) >= 0:
        body = start + len(_MAGIC) + _LENGTHS.size
        if content[place:start].strip(b"\0") or body > len(content):
            raise _damaged(where)
        header_size, payload_size = _LENGTHS.unpack_from(content, start + len(_MAGIC))
        place = body + header_size + payload_size
        if place > len(content):
            raise _damaged(where)
        found.append(_record(content[body : body + header_size], content[body + header_size : place], where))
    if content[place:].strip(b"\0"):
        raise _damaged(where)
    return tuple(found)


def _record(header: bytes, packed: bytes, where: str) -> Record:
    try:
        fields = parse_json(header)
        fields["compiler"], fields["options"] = tuple(fields["compiler"]), tuple(fields["options"])
        return Record(**fields, payload=zlib.decompress(packed))
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise _damaged(where) from error


def _damaged(where: str) -> ConfigError:
    return ConfigError(
        f"expected records of this version in section {SECTION}, found other data",
        where=where,
        hint="build the program again with the compilers of this commanalyzer",
    )
