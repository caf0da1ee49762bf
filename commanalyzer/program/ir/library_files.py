"""Reads library models: TOML files with one row per function.

A row is ``names = { effect = "...", ... }`` in the table ``[functions]``. ``names`` are symbols separated by
blanks; ``{a,b}`` stands for its alternatives and ``*`` for anything::

    [functions]
    "{sin,cos}{,f,l}" = { effect = "pure", flops = 8 }
    modf = { effect = "pure", flops = 1, writes = ["#1: 8"] }
    memcpy = { effect = "copy", to = "#0", from = "#1", bytes = "#2" }
    calloc = { effect = "allocate", bytes = "#0*#1", zeroed = true }
    cblas_ddot = { effect = "pure", reads = ["#1: 8*#0", "#3: 8*#0"], values = [] }

``#n`` is argument n (0 is the first; a hidden pointer to a returned structure counts). Byte counts are
products of numbers, ``#n`` and ``(#n-#m)``; ``string`` means up to the zero byte (``string #n``: at most so
many bytes), ``scanf #n`` what the conversions of format n say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from commanalyzer.foundation.documents import parse_toml
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.ir.libcalls import ByteCount, CallKind, LibraryCall, LibraryModel, MemoryRange

_BUILT_IN = ("llvm", "libc", "libm", "cxx", "fortran")
_FACTOR = re.compile(r"(?P<number>\d+)|#(?P<argument>\d+)|\(#(?P<end>\d+)-#(?P<start>\d+)\)")
_RANGE = re.compile(r"#(\d+)\s*:\s*(.+)")
_BRACES = re.compile(r"\{([^{}]*)\}")

# Keys a row of each effect must and may have; ``flops`` and ``calls`` are always allowed.
_KEYS: Mapping[CallKind, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(must.split()), frozenset(may.split()))
    for kind, must, may in (
        (CallKind.PURE, "", "reads writes width values"),
        (CallKind.FORMAT, "writes", "values"),
        (CallKind.PARSE, "reads", "writes width"),
        (CallKind.ALLOCATE, "bytes", "alignment zeroed out"),
        (CallKind.FREE, "pointer", ""),
        (CallKind.REALLOCATE, "pointer bytes", ""),
        (CallKind.MAP, "", ""),
        (CallKind.UNMAP, "", ""),
        (CallKind.REMAP, "", ""),
        (CallKind.COPY, "to from bytes", ""),
        (CallKind.FILL, "to bytes", ""),
        (CallKind.PERMUTE, "pointer bytes element", ""),
        (CallKind.INPUT, "", "writes"),
        (CallKind.OUTPUT, "", ""),
        (CallKind.IGNORE, "", ""),
        (CallKind.EXIT, "", ""),
        (CallKind.THREAD, "", ""),
    )
}
_POINTER_KEYS = ("pointer", "to", "out")


@lru_cache(maxsize=1)
def default_library() -> LibraryModel:
    """The rows that come with the package."""
    rows: dict[str, LibraryCall] = {}
    for name in _BUILT_IN:
        resource = files("commanalyzer.program.ir") / "library" / f"{name}.toml"
        rows.update(_rows(resource.read_text(encoding="utf-8"), f"{name}.toml"))
    return LibraryModel(rows)


@lru_cache(maxsize=8)
def library_with(*paths: Path) -> LibraryModel:
    """The package's rows, extended and replaced by those of the user's files, later files last.

    Raises:
        ConfigError: If a file is missing or a row is not valid; says which one and why.
    """
    rows = dict(default_library().rows)
    own: set[str] = set()
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the library model cannot be read: {error}", where=str(path)) from error
        found = _rows(text, str(path))
        own.update(found)
        rows.update(found)
    return LibraryModel(rows, paths, frozenset(own))


def _rows(text: str, where: str) -> dict[str, LibraryCall]:
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"expected a TOML file, found: {error}", where=where) from error
    unknown = sorted(document.keys() - {"functions"})
    if unknown or not isinstance(document.get("functions"), dict):
        found = f"the key '{unknown[0]}'" if unknown else "none"
        raise ConfigError(f"expected one table [functions], found {found}", where=where)
    rows: dict[str, LibraryCall] = {}
    for key, entry in document["functions"].items():
        row = _Row(key, entry, where).read()
        for name in expand_names(key):
            if name in rows:
                raise ConfigError(f"expected one row for '{name}', found two", where=f"{where}, '{key}'")
            rows[name] = row
    return rows


def expand_names(key: str) -> tuple[str, ...]:
    """Names that a key stands for: ``"{sin,cos}{,f} abs"`` are five."""
    return tuple(name for word in key.split() for name in _expand(word))


def _expand(word: str) -> list[str]:
    pieces = _BRACES.split(word)  # literals and alternatives in turn
    choices = [[p] if i % 2 == 0 else p.split(",") for i, p in enumerate(pieces)]
    return ["".join(parts) for parts in itertools.product(*choices)]


class _Row:
    """Reads one row; every complaint names file and key."""

    def __init__(self, key: str, entry: object, where: str) -> None:
        self._where = f"{where}, '{key}'"
        if not expand_names(key):
            raise self._error("expected the name of a function, found none")
        if not isinstance(entry, dict):
            raise self._error(f'expected {{ effect = "..." }}, found {entry!r}')
        self._entry: Mapping[str, Any] = entry

    def read(self) -> LibraryCall:
        kind = self._kind()
        must, may = _KEYS[kind]
        given = self._entry.keys() - {"effect", "flops", "calls"}
        if missing := sorted(must - given):
            raise self._error(f"expected '{missing[0]}' for effect '{kind.value}', found none")
        if unknown := sorted(given - must - may):
            allowed = ", ".join(sorted({*must, *may, "flops", "calls"}))
            raise self._error(f"expected only {allowed} for effect '{kind.value}', found '{unknown[0]}'")
        values, values_from = self._values()
        pointers = [self._argument(k) for k in _POINTER_KEYS if k in given]
        return LibraryCall(
            kind,
            flops=self._number("flops", 0, 0),
            size=self._get("bytes", self._bytes),
            pointer=pointers[0] if pointers else -1,
            source=self._argument("from") if "from" in given else -1,
            alignment=self._argument("alignment") if "alignment" in given else -1,
            zeroed=self._boolean("zeroed"),
            element=self._get("element", self._bytes),
            reads=self._ranges("reads"),
            writes=self._ranges("writes"),
            width=self._number("width", 8, 1),
            values=values,
            values_from=values_from,
            calls=self._numbers("calls"),
        )

    def _kind(self) -> CallKind:
        effect = self._entry.get("effect")
        try:
            return CallKind(effect)
        except ValueError:
            known = ", ".join(kind.value for kind in CallKind)
            raise self._error(f"expected an effect ({known}), found {effect!r}") from None

    def _values(self) -> tuple[tuple[int, ...] | None, int]:
        """Scalar arguments that are sources: a list, or a text such as ``#2..``; all by default."""
        found = self._entry.get("values")
        if isinstance(found, str) and (match := re.fullmatch(r"#(\d+)\.\.", found)):
            return (), int(match[1])
        if found is None:
            return (None, -1) if self._entry["effect"] != CallKind.FORMAT.value else ((), -1)
        return self._numbers("values"), -1

    def _get(self, key: str, read: Callable[[str, str], ByteCount]) -> ByteCount | None:
        return read(key, self._text(key, self._entry[key])) if key in self._entry else None

    def _ranges(self, key: str) -> tuple[MemoryRange, ...]:
        found = self._entry.get(key, [])
        if not isinstance(found, list):
            raise self._error(f"expected a list such as ['#1: 8'] in '{key}', found {found!r}")
        ranges = []
        for item in found:
            match = _RANGE.fullmatch(self._text(key, item))
            if match is None:
                raise self._error(f"expected '#ARGUMENT: BYTES' in '{key}', found '{item}'")
            ranges.append(MemoryRange(int(match[1]), self._bytes(key, match[2])))
        return tuple(ranges)

    def _bytes(self, key: str, text: str) -> ByteCount:
        text = text.strip()
        if match := re.fullmatch(r"string( #(\d+))?", text):
            return ByteCount(arguments=(int(match[2]),) if match[2] else (), is_string=True)
        if match := re.fullmatch(r"scanf #(\d+)", text):
            return ByteCount(arguments=(int(match[1]),), is_scanned=True)
        constant, arguments, differences = 1, [], []
        for factor in text.split("*"):
            match = _FACTOR.fullmatch(factor.strip())
            if match is None:
                raise self._error(
                    f"expected a product such as '8*#2' or '(#1-#0)', 'string' or 'scanf #n' in '{key}', "
                    f"found '{text}'"
                )
            if match["number"]:
                constant *= int(match["number"])
            elif match["argument"]:
                arguments.append(int(match["argument"]))
            else:
                differences.append((int(match["end"]), int(match["start"])))
        return ByteCount(constant, tuple(arguments), tuple(differences))

    def _argument(self, key: str) -> int:
        match = re.fullmatch(r"#(\d+)", self._text(key, self._entry[key]))
        if match is None:
            raise self._error(f"expected an argument such as '#0' in '{key}', found {self._entry[key]!r}")
        return int(match[1])

    def _text(self, key: str, found: object) -> str:
        if not isinstance(found, str):
            raise self._error(f"expected a text in '{key}', found {found!r}")
        return found

    def _number(self, key: str, default: int, least: int) -> int:
        found = self._entry.get(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise self._error(f"expected a whole number of at least {least} in '{key}', found {found!r}")
        return found

    def _numbers(self, key: str) -> tuple[int, ...]:
        found = self._entry.get(key, [])
        if not isinstance(found, list) or not all(type(n) is int and n >= 0 for n in found):
            raise self._error(f"expected a list of argument numbers in '{key}', found {found!r}")
        return tuple(found)

    def _boolean(self, key: str) -> bool:
        found = self._entry.get(key, False)
        if not isinstance(found, bool):
            raise self._error(f"expected true or false in '{key}', found {found!r}")
        return found

    def _error(self, message: str) -> ConfigError:
        return ConfigError(message, where=self._where, hint="the format: docs/reference/library-model.md")
