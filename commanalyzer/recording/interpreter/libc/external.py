"""Calls that leave the module: effect on memory and labels by kind of library function.

What each function does to values is read from :mod:`commanalyzer.program.ir.libcalls`; unknown functions are
refused, because guessing would silently lose flows.

Library functions that call functions of the program: sorting and searching.

Texts that show numbers of the program: their words refer to the values, as copies do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Protocol

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.libcalls import ByteCount, CallKind, LibraryCall, LibraryModel, MemoryRange
from commanalyzer.program.ir.model import Instruction, IrType
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.activation import Observer
from commanalyzer.recording.interpreter.instructions.codec import encode, member_types, round_to, zero
from commanalyzer.recording.interpreter.instructions.intrinsics import intrinsic
from commanalyzer.recording.interpreter.instructions.operations import all_labels, lane_count
from commanalyzer.recording.interpreter.libc.library import Library
from commanalyzer.recording.interpreter.libc.mathlib import complex_product, complex_quotient
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.shadow import Shadow
from commanalyzer.recording.interpreter.values import (
    NO_LABELS,
    Data,
    Home,
    Labels,
    Value,
    as_float,
    as_int,
    union,
)


class Texts:
    """Remembers what texts show.

    Args:
        memory: Memory of the program.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._several: dict[Home, Labels] = {}  # stands for several values in one text

    def show(self, address: int, size: int, labels: Labels) -> None:
        """A text was written that shows the values ``labels`` (none: characters only)."""
        if not address or not size:
            return
        words = self._memory.touched_words(address, size)
        self._memory.own(address, size)
        if not labels:
            return
        home = next(iter(labels))
        if len(labels) > 1:
            home = Home("text", "text", 0, len(self._several))
            self._several[home] = dict.fromkeys(labels, SourceRole.DATA)
        for word in words:
            self._memory.set_value_at(word, home)

    def shown(self, address: int, size: int) -> Labels:
        """Values that a text shows."""
        if not address or not size:
            return NO_LABELS
        for word in self._memory.touched_words(address, size):
            home = self._memory.value_at(word)
            if home in self._several:
                return self._several[home]
            if home != self._memory.own_home(word):
                return {home: SourceRole.DATA}
        return NO_LABELS


class Caller(Protocol):
    """What calling back needs of the machine."""

    memory: Memory

    def run_address(self, address: int, arguments: Sequence[Value]) -> Value:
        """Execute the function at an address of the program."""


def sort(host: Caller, base: int, size: int, element: int, compare: int, context: Sequence[Value]) -> None:
    """Apply ``qsort``: the elements change places and stay the values they are (stable).

    Args:
        host: The machine.
        base: Address of the array.
        size: Bytes of the array.
        element: Bytes of an element.
        compare: Address of the comparison.
        context: Further arguments of the comparison (``qsort_r``).
    """
    if element == 0 or size // element < 2:
        return
    memory = host.memory
    count = size // element
    data = memory.read(base, size)
    homes = [memory.value_at(base + offset) for offset in range(0, size, memory.word_bytes)]

    def order(i: int, j: int) -> int:
        # elements are compared where they lie, before any of them moves
        arguments = [Value(base + i * element), Value(base + j * element), *context]
        return signed(as_int(host.run_address(compare, arguments).data), 32)

    sequence = sorted(range(count), key=cmp_to_key(order))
    memory.write(base, b"".join(data[i * element : (i + 1) * element] for i in sequence))
    memory.own(base, size)
    if (base | element) % memory.word_bytes:
        return  # elements share words: nothing can be followed
    words = element // memory.word_bytes
    for to, source in enumerate(sequence):
        for k in range(words):
            memory.set_value_at(base + to * element + k * memory.word_bytes, homes[source * words + k])


def search(host: Caller, key: Value, base: int, count: int, element: int, compare: int) -> int:
    """Address of the element that ``bsearch`` finds, 0 if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        address = base + middle * element
        found = signed(as_int(host.run_address(compare, [key, Value(address)]).data), 32)
        if found == 0:
            return address
        low, high = (middle + 1, high) if found > 0 else (low, middle)
    return 0


ABORT_STATUS, _TRAP_STATUS = 134, 132
_WITH_HANDLERS = ("exit", "err", "errx", "verr", "verrx")


class ProgramExit(Exception):
    """The program called ``exit``: a transfer of control, not an error.

    Args:
        status: Exit status.
        runs_handlers: Functions that the program gave to ``atexit`` are called.
    """

    def __init__(self, status: int, *, runs_handlers: bool = False) -> None:
        super().__init__(status)
        self.status, self.runs_handlers = status, runs_handlers


class Host(Caller, Protocol):
    """What external calls need of the machine."""

    shadow: Shadow

    @property
    def site(self) -> str:
        """Name of the executed call."""


class Externals:
    """Executes external calls.

    Args:
        host: The machine.
        stdin: Standard input of the program.
        model: What external functions do.
        observer: Is told of every call.
    """

    def __init__(self, host: Host, stdin: bytes, model: LibraryModel, observer: Observer) -> None:
        self._observer = observer
        self._host = host
        self._model = model
        self._texts = Texts(host.memory)
        self.library = Library(host.memory, stdin)
        self.flops = 0
        self.at_exit: list[tuple[int, Value]] = []

    def call(self, name: str, instruction: Instruction, values: Sequence[Value]) -> Value:
        """Execute an external call and return its result.

        Raises:
            UnsupportedIrError: If the function is not known, or cannot be interpreted.
            ProgramExit: If it ends the program.
        """
        fact = self._model.fitting(name, len(values))
        if fact is None:
            raise _unsupported(name, instruction, "an external function with known effect")
        self.flops += fact.flops * _lanes(instruction)
        self._observer.called(name, fact.kind, instruction)
        handler = _KINDS.get(fact.kind)
        if handler is None:
            raise _unsupported(name, instruction, "no threads and no mapped pages")
        return handler(self, name, fact, instruction, values)

    def _allocate(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        memory = self._host.memory
        size = _bytes(fact.size, values)
        alignment = max(16, as_int(values[fact.alignment].data)) if fact.alignment >= 0 else 16
        address = memory.allocate(self._host.site, size, alignment)
        if fact.zeroed and size:
            memory.write(address, bytes(size))
        if fact.pointer < 0:
            return Value(address)
        target = as_int(values[fact.pointer].data)
        memory.write(target, address.to_bytes(8, "little"))
        memory.own(target, 8)
        return Value(0)

    def _free(self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]) -> Value:
        self._host.memory.release(as_int(values[fact.pointer].data))
        return Value(0)

    def _reallocate(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        memory = self._host.memory
        size = _bytes(fact.size, values)
        old = as_int(values[fact.pointer].data)
        address = memory.allocate(self._host.site, size)
        kept = min(memory.block_size(old), size) if old else 0
        if kept:
            self._copy_bytes(address, old, kept)
        memory.release(old)
        return Value(address)

    def _copy(self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]) -> Value:
        target, source = as_int(values[fact.pointer].data), as_int(values[fact.source].data)
        if fact.size is not None and fact.size.is_string:
            size = len(self._host.memory.read_string(source)) + 1
        else:
            size = _bytes(fact.size, values)
        if size:
            self._copy_bytes(target, source, size)
        return Value(target + size if name == "mempcpy" else target)

    def _copy_bytes(self, target: int, source: int, size: int) -> None:
        data = self._host.memory.read(source, size)
        self._host.shadow.copy(target, source, size)
        self._host.memory.write(target, data)

    def _fill(self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]) -> Value:
        size = _bytes(fact.size, values)
        target = as_int(values[fact.pointer].data)
        byte = 0 if "bzero" in name else as_int(values[1].data) & 0xFF
        if size:
            wide = (as_int(values[1].data) & 0xFFFFFFFF).to_bytes(4, "little") * (size // 4)
            self._host.memory.write(target, wide if name == "wmemset" else bytes([byte]) * size)
            self._host.shadow.fill(target, size)
        return Value(target)

    def _pure(self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]) -> Value:
        labels = all_labels([value for i, value in enumerate(values) if fact.is_source(i)])
        for read in fact.reads:
            labels = union(labels, self._read(read, fact.width, values))
        data = [value.data for value in values]
        if name.startswith("llvm."):
            return Value(intrinsic(name, instruction.type, instruction.operands, data), labels)
        if name in _COMPLEX:
            pair = _COMPLEX[name](*(as_float(d) for d in data))
            members = member_types(instruction.type)
            return Value(tuple(round_to(m, x) for m, x in zip(members, pair, strict=True)), labels)
        base, suffix = (name, "") if name in _SPLITTING else (name[:-1], name[-1:])
        if base not in _SPLITTING or suffix not in _WIDTHS:
            return Value(self._data(name, instruction, data), labels)
        result, outputs = _SPLITTING[base](as_float(data[0]))
        output_type = parse_type("i32" if base == "frexp" else _WIDTHS[suffix])
        for written, output in zip(fact.writes, outputs, strict=True):
            self._create(as_int(data[written.pointer]), encode(output_type, output), labels)
        return Value(_fit(instruction.type, result), labels)

    def _read(self, read: MemoryRange, width: int, values: Sequence[Value]) -> Labels:
        start = as_int(values[read.pointer].data)
        places = range(start, start + _bytes(read.size, values), width)
        return dict.fromkeys(map(self._host.memory.value_at, places), SourceRole.DATA)

    def _permute(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        if not fact.calls:
            raise _unsupported(name, instruction, "a sort with a comparison of the program")
        compare = as_int(values[fact.calls[0]].data)
        base, size = as_int(values[fact.pointer].data), _bytes(fact.size, values)
        sort(self._host, base, size, _bytes(fact.element, values), compare, values[fact.calls[0] + 1 :])
        return Value(0)

    def _format(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        labels = all_labels([value for i, value in enumerate(values) if fact.is_source(i)])
        result = Value(self._data(name, instruction, [value.data for value in values]))
        for written in fact.writes:
            address = as_int(values[written.pointer].data)
            self._texts.show(address, self._text_bytes(written, values), labels)
        return result

    def _parse(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        labels = NO_LABELS
        for read in fact.reads:
            shown = self._texts.shown(as_int(values[read.pointer].data), self._text_bytes(read, values))
            labels = union(labels, shown)
        result = Value(self._data(name, instruction, [value.data for value in values]), labels)
        self._scanned(labels)
        return result

    def _text_bytes(self, found: MemoryRange, values: Sequence[Value]) -> int:
        address = as_int(values[found.pointer].data)
        if not found.size.is_string:
            return _bytes(found.size, values)
        limits = [as_int(values[index].data) for index in found.size.arguments]
        if not address or 0 in limits:
            return 0
        return min([len(self._host.memory.read_string(address)) + 1, *limits])

    def _scanned(self, labels: Labels) -> None:
        """Give what scanf has just assigned its values."""
        for address, image, is_number in self.library.assigned:
            if is_number:
                self._create(address, image, labels)
            else:
                self._texts.show(address, len(image), labels)
        self.library.assigned.clear()

    def _create(self, address: int, image: bytes, labels: Labels) -> None:
        self._host.memory.write(address, image)
        self._host.shadow.create(address, labels)
        self._host.memory.own(address, len(image))

    def _input(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        data = self._data(name, instruction, [value.data for value in values])
        self._scanned(NO_LABELS)
        for written in fact.writes:
            address = as_int(values[written.pointer].data) if written.pointer < len(values) else 0
            size = 0 if written.size.is_scanned else self._text_bytes(written, values)
            if address and size:
                self._host.shadow.fill(address, size)
        return Value(data)

    def _effectless(
        self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        if name.startswith("llvm."):
            return self._intrinsic_without_effect(name, instruction, values)
        if name in ("__cxa_atexit", "atexit"):
            argument = values[1] if len(values) > 1 else Value(0)
            self.at_exit.append((as_int(values[0].data), argument))
            return Value(0)
        if name == "bsearch":
            key, base, count, element, compare = values
            place = search(self._host, key, *(as_int(v.data) for v in (base, count, element, compare)))
            return Value(place)
        if name == "__cxa_guard_acquire":
            return Value(int(self._host.memory.read(as_int(values[0].data), 1) == b"\0"))
        if name == "__cxa_guard_release":
            self._host.memory.write(as_int(values[0].data), b"\1")
        return Value(self._data(name, instruction, [value.data for value in values]))

    def _intrinsic_without_effect(
        self, name: str, instruction: Instruction, values: Sequence[Value]
    ) -> Value:
        if name.startswith(("llvm.va_", "llvm.eh.")):
            raise _unsupported(name, instruction, "no variadic definitions and no exception handling")
        if name.startswith(("llvm.threadlocal.address", "llvm.invariant.start", "llvm.annotation")):
            return values[0]
        return Value(zero(instruction.type) if instruction.type.kind != "void" else 0)

    def _exit(self, name: str, fact: LibraryCall, instruction: Instruction, values: Sequence[Value]) -> Value:
        if name in ("exit", "_exit", "_Exit", "quick_exit", "err", "errx", "verr", "verrx"):
            raise ProgramExit(as_int(values[0].data) & 0xFF, runs_handlers=name in _WITH_HANDLERS)
        if name in ("__cxa_throw", "__cxa_rethrow") or name.startswith("_ZSt"):
            raise _unsupported(name, instruction, "no C++ exception to be thrown")
        raise ProgramExit(_TRAP_STATUS if name.startswith("llvm.") else ABORT_STATUS)

    def _data(self, name: str, instruction: Instruction, data: Sequence[Data]) -> Data:
        function = self.library.function(name)
        if function is None:
            raise _unsupported(name, instruction, "an external function that can be interpreted")
        return _fit(instruction.type, function(data))


def _fit(type_: IrType, data: Data) -> Data:
    """Return what a C function returned as data of the printed type."""
    if type_.kind in ("int", "ptr"):
        return as_int(data) & ((1 << type_.bits) - 1)
    return round_to(type_, as_float(data)) if type_.kind == "float" else 0


def _lanes(instruction: Instruction) -> int:
    if instruction.type.kind == "vector":
        return instruction.type.count
    return max((lane_count(o.type) for o in instruction.operands), default=1)


def _bytes(size: ByteCount | None, values: Sequence[Value]) -> int:
    assert size is not None
    factors = [as_int(values[index].data) for index in size.arguments]
    factors += [as_int(values[end].data) - as_int(values[start].data) for end, start in size.differences]
    return size.constant * math.prod(factors)


def _unsupported(name: str, instruction: Instruction, expected: str) -> UnsupportedIrError:
    return UnsupportedIrError(
        f"expected {expected}, found a call of {name}",
        where=f"line {instruction.first_line + 1}",
        hint="run the program natively instead of interpreting it, or add its source to the analysis",
    )


def _modf(x: float) -> tuple[Data, tuple[Data, ...]]:
    fraction, whole = math.modf(x)
    return fraction, (whole,)


def _frexp(x: float) -> tuple[Data, tuple[Data, ...]]:
    fraction, exponent = math.frexp(x)
    return fraction, (exponent & 0xFFFFFFFF,)


def _sincos(x: float) -> tuple[Data, tuple[Data, ...]]:
    return 0, (math.sin(x), math.cos(x))


_SPLITTING: dict[str, Callable[[float], tuple[Data, tuple[Data, ...]]]] = {
    "modf": _modf,
    "frexp": _frexp,
    "sincos": _sincos,
}
_COMPLEX: dict[str, Callable[..., tuple[float, float]]] = {
    **dict.fromkeys(("__muldc3", "__mulsc3", "__mulxc3"), complex_product),
    **dict.fromkeys(("__divdc3", "__divsc3", "__divxc3"), complex_quotient),
}
_WIDTHS = {"": "double", "f": "float", "l": "x86_fp80"}
_Handler = Callable[[Externals, str, LibraryCall, Instruction, Sequence[Value]], Value]
_KINDS: dict[CallKind, _Handler] = {
    CallKind.ALLOCATE: Externals._allocate,
    CallKind.FREE: Externals._free,
    CallKind.REALLOCATE: Externals._reallocate,
    CallKind.COPY: Externals._copy,
    CallKind.FILL: Externals._fill,
    CallKind.PURE: Externals._pure,
    CallKind.INPUT: Externals._input,
    CallKind.PERMUTE: Externals._permute,
    CallKind.FORMAT: Externals._format,
    CallKind.PARSE: Externals._parse,
    CallKind.OUTPUT: Externals._effectless,
    CallKind.IGNORE: Externals._effectless,
    CallKind.EXIT: Externals._exit,
}
