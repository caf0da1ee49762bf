"""Calls that leave the module: effect on memory and labels by kind of library function.

What each function does to values is read from :mod:`commanalyzer.program.ir.libcalls`; unknown functions are
refused, because guessing would silently lose flows. Sorting and searching call functions of the program; the
words of texts that show its numbers refer to the values, as copies do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Protocol

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.libcalls import ByteCount, CallKind, LibraryCall, LibraryModel, MemoryRange
from commanalyzer.program.ir.model import Instruction, IrType
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.activation import Observer
from commanalyzer.recording.interpreter.instructions.arithmetic import (
    SPLITTING,
    all_labels,
    complex_product,
    complex_quotient,
)
from commanalyzer.recording.interpreter.instructions.intrinsics import intrinsic
from commanalyzer.recording.interpreter.libc.library import Library
from commanalyzer.recording.interpreter.memory import Memory, Shadow
from commanalyzer.recording.interpreter.values import (
    NO_LABELS,
    Data,
    Home,
    Labels,
    Value,
    as_float,
    as_int,
    encode,
    member_types,
    round_to,
    union,
    zero,
)


class Texts:
    """Remembers what texts show."""

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


class Host(Protocol):
    """What external calls need of the machine."""

    memory: Memory
    shadow: Shadow

    @property
    def site(self) -> str:
        """Name of the executed call."""

    def run_address(self, address: int, arguments: Sequence[Value]) -> Value:
        """Execute the function at an address of the program."""


def sort(host: Host, base: int, size: int, element: int, compare: int, context: Sequence[Value]) -> None:
    """Apply ``qsort``: the elements change places and stay the values they are (stable).

    Array and elements have ``size`` and ``element`` bytes; ``compare`` is the address of the comparison, and
    ``context`` its further arguments (``qsort_r``).
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


def search(host: Host, key: Value, base: int, count: int, element: int, compare: int) -> int:
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

    With ``runs_handlers``, functions that the program gave to ``atexit`` are called.
    """

    def __init__(self, status: int, *, runs_handlers: bool = False) -> None:
        super().__init__(status)
        self.status, self.runs_handlers = status, runs_handlers


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a library function with the values of its arguments, and what the model says of it."""

    name: str
    fact: LibraryCall
    instruction: Instruction
    values: Sequence[Value]

    @property
    def data(self) -> list[Data]:
        return [value.data for value in self.values]

    @property
    def labels(self) -> Labels:
        """Sources of what it makes, among its arguments."""
        return all_labels([value for i, value in enumerate(self.values) if self.fact.is_source(i)])

    def number(self, index: int) -> int:
        return as_int(self.values[index].data)

    def num_bytes(self, size: ByteCount | None) -> int:
        assert size is not None
        factors = [self.number(index) for index in size.arguments]
        factors += [self.number(end) - self.number(start) for end, start in size.differences]
        return size.constant * math.prod(factors)

    def refused(self, expected: str) -> UnsupportedIrError:
        return _unsupported(self.name, self.instruction, expected)


class Externals:
    """Executes external calls of ``host``, the machine; ``observer`` is told of every call."""

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

        Raises UnsupportedIrError if the function is not known or cannot be interpreted, and ProgramExit if it
        ends the program.
        """
        fact = self._model.fitting(name, len(values))
        if fact is None:
            raise _unsupported(name, instruction, "an external function with known effect")
        is_vector = instruction.type.kind == "vector"
        lanes = [instruction.type.lanes] if is_vector else [o.type.lanes for o in instruction.operands]
        self.flops += fact.flops * max(lanes, default=1)
        self._observer.called(name, fact.kind, instruction)
        call, handler = _Call(name, fact, instruction, values), _KINDS.get(fact.kind)
        if handler is None:
            raise call.refused("no threads and no mapped pages")
        return handler(self, call)

    def _allocate(self, call: _Call) -> Value:
        memory, fact = self._host.memory, call.fact
        size = call.num_bytes(fact.size)
        alignment = max(16, call.number(fact.alignment)) if fact.alignment >= 0 else 16
        address = memory.allocate(self._host.site, size, alignment)
        if fact.zeroed and size:
            memory.write(address, bytes(size))
        if fact.pointer < 0:
            return Value(address)
        target = call.number(fact.pointer)
        memory.write(target, address.to_bytes(8, "little"))
        memory.own(target, 8)
        return Value(0)

    def _free(self, call: _Call) -> Value:
        self._host.memory.release(call.number(call.fact.pointer))
        return Value(0)

    def _reallocate(self, call: _Call) -> Value:
        memory = self._host.memory
        size, old = call.num_bytes(call.fact.size), call.number(call.fact.pointer)
        address = memory.allocate(self._host.site, size)
        kept = min(memory.block_size(old), size) if old else 0
        if kept:
            self._copy_bytes(address, old, kept)
        memory.release(old)
        return Value(address)

    def _copy(self, call: _Call) -> Value:
        target, source = call.number(call.fact.pointer), call.number(call.fact.source)
        if call.fact.size is not None and call.fact.size.is_string:
            size = len(self._host.memory.read_string(source)) + 1
        else:
            size = call.num_bytes(call.fact.size)
        if size:
            self._copy_bytes(target, source, size)
        return Value(target + size if call.name == "mempcpy" else target)

    def _copy_bytes(self, target: int, source: int, size: int) -> None:
        data = self._host.memory.read(source, size)
        self._host.shadow.copy(target, source, size)
        self._host.memory.write(target, data)

    def _fill(self, call: _Call) -> Value:
        size, target = call.num_bytes(call.fact.size), call.number(call.fact.pointer)
        byte = 0 if "bzero" in call.name else call.number(1) & 0xFF
        if size:
            wide = (call.number(1) & 0xFFFFFFFF).to_bytes(4, "little") * (size // 4)
            self._host.memory.write(target, wide if call.name == "wmemset" else bytes([byte]) * size)
            self._host.shadow.fill(target, size)
        return Value(target)

    def _pure(self, call: _Call) -> Value:
        name, instruction, labels = call.name, call.instruction, call.labels
        for read in call.fact.reads:
            start = call.number(read.pointer)
            places = range(start, start + call.num_bytes(read.size), call.fact.width)
            homes = dict.fromkeys(map(self._host.memory.value_at, places), SourceRole.DATA)
            labels = union(labels, homes)
        if name.startswith("llvm."):
            return Value(intrinsic(name, instruction.type, instruction.operands, call.data), labels)
        if name in _COMPLEX:
            pair = _COMPLEX[name](*(as_float(d) for d in call.data))
            members = member_types(instruction.type)
            return Value(tuple(round_to(m, x) for m, x in zip(members, pair, strict=True)), labels)
        base, suffix = (name, "") if name in SPLITTING else (name[:-1], name[-1:])
        if base not in SPLITTING or suffix not in _WIDTHS:
            return Value(self._data(call), labels)
        found = SPLITTING[base](as_float(call.data[0]))
        output_type = parse_type("i32" if base == "frexp" else _WIDTHS[suffix])
        for written, output in zip(call.fact.writes, found[-len(call.fact.writes) :], strict=True):
            data = int(output) & 0xFFFFFFFF if base == "frexp" else output
            self._create(call.number(written.pointer), encode(output_type, data), labels)
        return Value(_fit(instruction.type, found[0]), labels)

    def _permute(self, call: _Call) -> Value:
        fact = call.fact
        if not fact.calls:
            raise call.refused("a sort with a comparison of the program")
        compare, context = call.number(fact.calls[0]), call.values[fact.calls[0] + 1 :]
        size, element = call.num_bytes(fact.size), call.num_bytes(fact.element)
        sort(self._host, call.number(fact.pointer), size, element, compare, context)
        return Value(0)

    def _format(self, call: _Call) -> Value:
        result = Value(self._data(call))
        for written in call.fact.writes:
            self._texts.show(call.number(written.pointer), self._text_bytes(written, call), call.labels)
        return result

    def _parse(self, call: _Call) -> Value:
        labels = NO_LABELS
        for read in call.fact.reads:
            labels = union(labels, self._texts.shown(call.number(read.pointer), self._text_bytes(read, call)))
        result = Value(self._data(call), labels)
        self._scanned(labels)
        return result

    def _text_bytes(self, found: MemoryRange, call: _Call) -> int:
        address = call.number(found.pointer)
        if not found.size.is_string:
            return call.num_bytes(found.size)
        limits = [call.number(index) for index in found.size.arguments]
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

    def _input(self, call: _Call) -> Value:
        data = self._data(call)
        self._scanned(NO_LABELS)
        for written in call.fact.writes:
            address = call.number(written.pointer) if written.pointer < len(call.values) else 0
            size = 0 if written.size.is_scanned else self._text_bytes(written, call)
            if address and size:
                self._host.shadow.fill(address, size)
        return Value(data)

    def _effectless(self, call: _Call) -> Value:
        name, values = call.name, call.values
        if name.startswith(("llvm.va_", "llvm.eh.")):
            raise call.refused("no variadic definitions and no exception handling")
        if name.startswith(("llvm.threadlocal.address", "llvm.invariant.start", "llvm.annotation")):
            return values[0]
        if name.startswith("llvm."):
            return Value(zero(call.instruction.type) if call.instruction.type.kind != "void" else 0)
        if name in ("__cxa_atexit", "atexit"):
            self.at_exit.append((call.number(0), values[1] if len(values) > 1 else Value(0)))
            return Value(0)
        if name == "bsearch":
            return Value(search(self._host, values[0], *(call.number(index) for index in range(1, 5))))
        if name == "__cxa_guard_acquire":
            return Value(int(self._host.memory.read(call.number(0), 1) == b"\0"))
        if name == "__cxa_guard_release":
            self._host.memory.write(call.number(0), b"\1")
        return Value(self._data(call))

    def _exit(self, call: _Call) -> Value:
        name = call.name
        if name in ("exit", "_exit", "_Exit", "quick_exit", "err", "errx", "verr", "verrx"):
            raise ProgramExit(call.number(0) & 0xFF, runs_handlers=name in _WITH_HANDLERS)
        if name in ("__cxa_throw", "__cxa_rethrow") or name.startswith("_ZSt"):
            raise call.refused("no C++ exception to be thrown")
        raise ProgramExit(_TRAP_STATUS if name.startswith("llvm.") else ABORT_STATUS)

    def _data(self, call: _Call) -> Data:
        function = self.library.function(call.name)
        if function is None:
            raise call.refused("an external function that can be interpreted")
        return _fit(call.instruction.type, function(call.data))


def _fit(type_: IrType, data: Data) -> Data:
    """Return what a C function returned as data of the printed type."""
    if type_.kind in ("int", "ptr"):
        return as_int(data) & ((1 << type_.bits) - 1)
    return round_to(type_, as_float(data)) if type_.kind == "float" else 0


def _unsupported(name: str, instruction: Instruction, expected: str) -> UnsupportedIrError:
    return UnsupportedIrError(
        f"expected {expected}, found a call of {name}",
        where=f"line {instruction.first_line + 1}",
        hint="run the program natively instead of interpreting it, or add its source to the analysis",
    )


_COMPLEX: dict[str, Callable[..., tuple[float, float]]] = {
    **dict.fromkeys(("__muldc3", "__mulsc3", "__mulxc3"), complex_product),
    **dict.fromkeys(("__divdc3", "__divsc3", "__divxc3"), complex_quotient),
}
_WIDTHS = {"": "double", "f": "float", "l": "x86_fp80"}
_KINDS: dict[CallKind, Callable[[Externals, _Call], Value]] = {
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
