"""What external functions do to values: the facts shared by instrumentation and interpretation.

The facts themselves are rows of TOML files (``commanalyzer/program/ir/library/`` and the user's own), whose
keys ``docs/reference/library-model.md`` explains. Nothing here knows a function by name.

Floating-point operations: add, subtract, multiply, divide, square root, rounding, minimum and maximum count
1, sign changes through ``fabs``/``copysign`` 0, a fused multiply-add 2. Elementary functions use the weights
of normalised FLOPs that are customary since the Livermore loops: 8 for exp, log, sine and relatives, 16
where two of them are needed (pow, sincos, hyperbolics, error and gamma functions). Complex products count 6,
quotients 11. Counts are per lane.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from commanalyzer.foundation.documents import Count, Fields, parse_toml, typed
from commanalyzer.foundation.errors import ConfigError


class CallKind(Enum):
    """Effect of an external call on values.

    ``PURE``: the result, and what ``writes`` names, have the sources of the arguments and of what ``reads``
    names. ``FORMAT``: numbers to text; the text that is written carries the values it shows. ``PARSE``: text
    to numbers; they have the values that the text shows as sources. ``ALLOCATE``/``FREE``/``REALLOCATE``:
    heap. ``MAP``/``UNMAP``/``REMAP``: pages, with the arguments of mmap, munmap and mremap. ``COPY``:
    memcpy-like. ``FILL``: memset-like. ``PERMUTE``: elements change places and stay the values they are.
    ``INPUT``: from outside; what ``writes`` names gets new values without sources. ``OUTPUT``: leaves the
    program; nothing is recorded. ``IGNORE``: no effect on values. ``EXIT``: does not return. ``THREAD``:
    starts a thread, which is refused.
    """

    PURE = "pure"
    FORMAT = "format"
    PARSE = "parse"
    ALLOCATE = "allocate"
    FREE = "free"
    REALLOCATE = "reallocate"
    MAP = "map"
    UNMAP = "unmap"
    REMAP = "remap"
    COPY = "copy"
    FILL = "fill"
    PERMUTE = "permute"
    INPUT = "input"
    OUTPUT = "output"
    IGNORE = "ignore"
    EXIT = "exit"
    THREAD = "thread"


_PAGE_ARGUMENTS = {CallKind.MAP: 6, CallKind.UNMAP: 2, CallKind.REMAP: 4}


@dataclass(frozen=True, slots=True)
class ByteCount:
    """Number of bytes behind a pointer, known when the function is called.

    The product of ``constant``, the arguments ``arguments`` and the differences of the pointer arguments
    ``differences`` (end, start). ``is_string``: up to and including the first zero byte instead, at most
    the argument ``arguments[0]`` if there is one.
    ``is_scanned``: as the scanf conversions of argument ``arguments[0]`` say.
    """

    constant: int = 1
    arguments: tuple[int, ...] = ()
    differences: tuple[tuple[int, int], ...] = ()
    is_string: bool = False
    is_scanned: bool = False

    @property
    def is_constant(self) -> bool:
        """The same number for every call."""
        return not (self.arguments or self.differences or self.is_string or self.is_scanned)

    @property
    def uses(self) -> tuple[int, ...]:
        """Arguments that it is computed from."""
        return (*self.arguments, *(a for pair in self.differences for a in pair))


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """Bytes behind the pointer argument ``pointer``; for scanf the first of the pointers."""

    pointer: int
    size: ByteCount


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """Effect of one external function: a row of the table."""

    kind: CallKind
    flops: int = 0  # floating-point operations per call and lane
    size: ByteCount | None = None  # bytes allocated, copied, filled or permuted
    # argument that is freed, reallocated, copied to, filled or permuted; for ``ALLOCATE`` the argument
    # through which the new address is stored (``posix_memalign``), -1 if it is the result
    pointer: int = -1
    source: int = -1  # argument that is copied from
    alignment: int = -1  # argument that gives the alignment of an allocation, -1 for 16 bytes
    zeroed: bool = False
    element: ByteCount | None = None  # bytes of the elements that are permuted
    reads: tuple[MemoryRange, ...] = ()
    writes: tuple[MemoryRange, ...] = ()  # memory that gets new values
    width: int = 8  # bytes of the values in ``reads`` and ``writes``
    values: tuple[int, ...] | None = None  # scalar arguments that are sources; ``None`` for all
    # all arguments from this one on are sources as well (variadic functions), -1 for none
    values_from: int = -1
    calls: tuple[int, ...] = ()  # arguments that are functions of the program, called back

    def is_source(self, index: int) -> bool:
        """The scalar argument ``index`` is a source of what the function makes."""
        if self.values is None:
            return True
        return index in self.values or 0 <= self.values_from <= index

    @property
    def num_arguments(self) -> int:
        """Arguments that a call must have for the row to make sense."""
        sizes = [s for s in (self.size, self.element) if s is not None]
        ranges = [r for r in (*self.reads, *self.writes) if not r.size.is_scanned]
        used = [self.pointer, self.source, self.alignment, *self.calls]
        used += [i for s in (*sizes, *(r.size for r in ranges)) for i in s.uses]
        used += [r.pointer for r in ranges]
        return max(max(used) + 1, _PAGE_ARGUMENTS.get(self.kind, 0))

    @property
    def stores_labels(self) -> bool:
        """What it writes has the sources of its arguments."""
        return bool(self.writes) and self.kind in (CallKind.PURE, CallKind.FORMAT)

    @property
    def reads_memory(self) -> bool:
        """Its result has sources in memory."""
        return bool(self.reads) and self.kind in (CallKind.PURE, CallKind.PARSE)


@dataclass(frozen=True)
class LibraryModel:
    """Rows by function name.

    Names are symbols as in the IR without the leading ``@``. ``llvm.*`` rows stand for their overloads
    (``llvm.sqrt`` for ``llvm.sqrt.f64``); names with ``*`` are patterns, of which the longest that matches
    wins.

    ``files`` are those of the user that were read, ``own`` the names in them.
    """

    rows: Mapping[str, LibraryCall]
    files: tuple[Path, ...] = ()
    own: frozenset[str] = frozenset()
    _found: dict[str, LibraryCall | None] = field(default_factory=dict, repr=False, compare=False)

    def call(self, name: str) -> LibraryCall | None:
        """What the external function ``name`` (no leading ``@``) does, ``None`` if it is unknown."""
        if name not in self._found:
            self._found[name] = self._find(name.strip('"'))
        return self._found[name]

    def fitting(self, name: str, num_arguments: int) -> LibraryCall | None:
        """As :meth:`call` for a call with so many arguments; ``None`` if the row speaks of others.

        Raises ConfigError if such a row is the user's.
        """
        row = self.call(name)
        if row is None or row.num_arguments <= num_arguments:
            return row
        if name in self.own:
            raise ConfigError(
                f"expected at least {row.num_arguments} arguments of {name}, "
                f"found a call with {num_arguments}",
                where=", ".join(map(str, self.files)),
                hint="arguments are counted from #0",
            )
        return None  # another function of that name

    @cached_property
    def thread_starters(self) -> frozenset[str]:
        """Functions that start threads."""
        return frozenset(name for name, row in self.rows.items() if row.kind is CallKind.THREAD)

    def _find(self, name: str) -> LibraryCall | None:
        exact = self.rows.get(name)
        if exact is not None:
            return exact
        if name.startswith("llvm."):
            stem = name.rpartition(".")[0]
            return self._find(stem) if stem != "llvm" else None
        return next((row for pattern, row in self._patterns if pattern.fullmatch(name)), None)

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], LibraryCall], ...]:
        found = sorted((name for name in self.rows if "*" in name), key=len, reverse=True)
        return tuple((re.compile(".*".join(map(re.escape, n.split("*")))), self.rows[n]) for n in found)


_T = TypeVar("_T")
_Natural = Annotated[int, msgspec.Meta(ge=0)]
_BUILT_IN = ("llvm", "libc", "libm", "cxx", "fortran")
_FACTOR = re.compile(r"(?P<number>\d+)|#(?P<argument>\d+)|\(#(?P<end>\d+)-#(?P<start>\d+)\)")
_RANGE = re.compile(r"#(\d+)\s*:\s*(.+)")
_BRACES = re.compile(r"\{([^{}]*)\}")

# Keys a row of each effect must and may have, if any; ``flops`` and ``calls`` are always allowed.
_KEYS: Mapping[CallKind, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(must.split()), frozenset(may.split()))
    for kind, must, may in (
        (CallKind.PURE, "", "reads writes width values"),
        (CallKind.FORMAT, "writes", "values"),
        (CallKind.PARSE, "reads", "writes width"),
        (CallKind.ALLOCATE, "bytes", "alignment zeroed out"),
        (CallKind.FREE, "pointer", ""),
        (CallKind.REALLOCATE, "pointer bytes", ""),
        (CallKind.COPY, "to from bytes", ""),
        (CallKind.FILL, "to bytes", ""),
        (CallKind.PERMUTE, "pointer bytes element", ""),
        (CallKind.INPUT, "", "writes"),
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

    Raises ConfigError if a file is missing or a row is not valid; it says which one and why.
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
    found: list[str] = []
    for word in key.split():
        pieces = _BRACES.split(word)  # literals and alternatives in turn
        choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(pieces)]
        found += map("".join, itertools.product(*choices))
    return tuple(found)


class _Row:
    """Reads one row; every complaint names file and key."""

    def __init__(self, key: str, entry: object, where: str) -> None:
        self._where = f"{where}, '{key}'"
        if not expand_names(key):
            raise self._error("expected the name of a function, found none")
        if not isinstance(entry, dict):
            raise self._error(f'expected {{ effect = "..." }}, found {entry!r}')
        self._entry: Fields = entry

    def read(self) -> LibraryCall:
        effect = self._entry.get("effect")
        try:
            kind = CallKind(effect)
        except ValueError:
            known = ", ".join(kind.value for kind in CallKind)
            raise self._error(f"expected an effect ({known}), found {effect!r}") from None
        must, may = _KEYS.get(kind, (frozenset(), frozenset()))
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
            flops=self._typed("flops", _Natural, 0),
            size=self._bytes("bytes", self._typed("bytes", str)) if "bytes" in given else None,
            pointer=pointers[0] if pointers else -1,
            source=self._argument("from") if "from" in given else -1,
            alignment=self._argument("alignment") if "alignment" in given else -1,
            zeroed=self._typed("zeroed", bool, default=False),
            element=self._bytes("element", self._typed("element", str)) if "element" in given else None,
            reads=self._ranges("reads"),
            writes=self._ranges("writes"),
            width=self._typed("width", Count, 8),
            values=values,
            values_from=values_from,
            calls=self._typed("calls", tuple[_Natural, ...], ()),
        )

    def _values(self) -> tuple[tuple[int, ...] | None, int]:
        """Scalar arguments that are sources: a list, or a text such as ``#2..``; all by default."""
        found = self._entry.get("values")
        if isinstance(found, str) and (match := re.fullmatch(r"#(\d+)\.\.", found)):
            return (), int(match[1])
        if found is None:
            return (None, -1) if self._entry["effect"] != CallKind.FORMAT.value else ((), -1)
        return self._typed("values", tuple[_Natural, ...]), -1

    def _ranges(self, key: str) -> tuple[MemoryRange, ...]:
        ranges = []
        for item in self._typed(key, list[str], ()):
            match = _RANGE.fullmatch(item)
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
        match = re.fullmatch(r"#(\d+)", self._typed(key, str))
        if match is None:
            raise self._error(f"expected an argument such as '#0' in '{key}', found {self._entry[key]!r}")
        return int(match[1])

    def _typed(self, key: str, kind: type[_T], default: object = None) -> _T:
        try:
            return typed(self._entry.get(key, default), kind)
        except ValueError as error:
            raise self._error(f"{error} in '{key}'") from error

    def _error(self, message: str) -> ConfigError:
        return ConfigError(message, where=self._where, hint="the format: docs/reference/library-model.md")
