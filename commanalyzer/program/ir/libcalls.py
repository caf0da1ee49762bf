"""What external functions do to values: the facts shared by instrumentation and interpretation.

The facts themselves are rows of TOML files (``commanalyzer/program/ir/library/`` and the user's own), read by
:mod:`commanalyzer.program.ir.library_files`, where their format is described. Nothing here knows a function
by name.

Floating-point operations: add, subtract, multiply, divide, square root, rounding, minimum and maximum count
1, sign changes through ``fabs``/``copysign`` 0, a fused multiply-add 2. Elementary functions use the weights
of normalised FLOPs that are customary since the Livermore loops: 8 for exp, log, sine and relatives, 16
where two of them are needed (pow, sincos, hyperbolics, error and gamma functions). Complex products count 6,
quotients 11. Counts are per lane.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path

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
    """Effect of one external function: a row of the table.

    Attributes:
        kind: Kind of effect.
        flops: Floating-point operations per call and lane.
        size: Bytes allocated, copied, filled or permuted.
        pointer: Argument that is freed, reallocated, copied to, filled or permuted; for ``ALLOCATE`` the
            argument through which the new address is stored (``posix_memalign``), -1 if it is the result.
        source: Argument that is copied from.
        alignment: Argument that gives the alignment of an allocation, -1 for 16 bytes.
        zeroed: The new memory is zero.
        element: Bytes of the elements that are permuted.
        reads: Memory whose values are sources.
        writes: Memory that gets new values.
        width: Bytes of the values in ``reads`` and ``writes``.
        values: Scalar arguments that are sources; ``None`` for all.
        values_from: All arguments from this one on are sources as well (variadic functions), -1 for none.
        calls: Arguments that are functions of the program, called back.
    """

    kind: CallKind
    flops: int = 0
    size: ByteCount | None = None
    pointer: int = -1
    source: int = -1
    alignment: int = -1
    zeroed: bool = False
    element: ByteCount | None = None
    reads: tuple[MemoryRange, ...] = ()
    writes: tuple[MemoryRange, ...] = ()
    width: int = 8
    values: tuple[int, ...] | None = None
    values_from: int = -1
    calls: tuple[int, ...] = ()

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

    Attributes:
        rows: Effect per name or pattern.
        files: Files of the user that were read.
        own: Names in the user's files.
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

        Raises:
            ConfigError: If such a row is the user's.
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
