"""Calls that leave the module: effect on memory and labels by kind of library function.

What each function does to values is read from :mod:`commanalyzer.program.ir.libcalls`; unknown functions are
refused, because guessing would silently lose flows. Sorting and searching call functions of the program; the
words of texts that show its numbers refer to the values, as copies do.

What the pure ``llvm.*`` intrinsics compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, reduce

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.libcalls import ByteCount, CallKind, LibraryCall, LibraryModel, MemoryRange
from commanalyzer.program.ir.model import Instruction, IrType, Operand
from commanalyzer.program.ir.types import parse_type
from commanalyzer.recording.interpreter.activation import Observer
from commanalyzer.recording.interpreter.instructions.arithmetic import (
    FUNCTIONS,
    SPLITTING,
    all_labels,
    binary,
    complex_product,
    complex_quotient,
    evaluate,
    fused_multiply_add,
)
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
    lanes,
    member_types,
    round_to,
    union,
    zero,
)

_Integer = Callable[[Sequence[int], int], int]


def intrinsic(name: str, type_: IrType, operands: Sequence[Operand], data: Sequence[Data]) -> Data:
    """Return the result of a pure intrinsic such as ``llvm.fmuladd.f64``; UnsupportedIrError if not known.

    ``type_`` is that of the result, ``operands`` are the arguments as printed, for their types.
    """
    parts = name.split(".")
    if parts[1] == "vector" and parts[2] == "reduce":
        return _reduce(parts[3], type_, operands, data)
    if parts[1:3] == ["is", "fpclass"]:
        return int(_matches_class(as_float(data[0]), as_int(data[1])))
    if parts[1:3] == ["is", "constant"]:
        return 0
    if len(parts) > 3 and parts[2] == "with" and parts[3] == "overflow":
        return _with_overflow(parts[1], operands[0].type, as_int(data[0]), as_int(data[1]))
    if parts[1] in ("expect", "ssa", "launder", "strip", "canonicalize"):
        return data[0]
    if parts[1] in SPLITTING and operands[0].type.kind == "float":
        return _split(parts[1], type_, as_float(data[0]))
    if type_.kind == "vector":
        return _lanewise(name, type_, operands, data)
    return _scalar(name, parts, type_, operands[0].type, data)


def _split(operation: str, type_: IrType, value: float) -> Data:
    """Return the pair of ``modf``, ``frexp`` and ``sincos``."""
    first, second = SPLITTING[operation](value)
    if type_.elements[1].kind == "int":
        return round_to(type_.elements[0], first), int(second) & ((1 << type_.elements[1].bits) - 1)
    return round_to(type_.elements[0], first), round_to(type_.elements[1], second)


def _lanewise(name: str, type_: IrType, operands: Sequence[Operand], data: Sequence[Data]) -> Data:
    result: list[Data] = []
    for lane in range(type_.count):
        # powi, ctlz and abs take a scalar next to their vector.
        own = [lanes(d)[lane] if o.type.kind == "vector" else d for o, d in zip(operands, data, strict=True)]
        types = [Operand(o.type.elements[0] if o.type.kind == "vector" else o.type, o.text) for o in operands]
        result.append(intrinsic(name, type_.elements[0], types, own))
    return tuple(result)


def _scalar(name: str, parts: list[str], type_: IrType, first: IrType, data: Sequence[Data]) -> Data:
    base = parts[1]
    if base in ("fptosi", "fptoui"):
        return _saturating_cast(base, as_float(data[0]), type_.bits)
    if base in ("scmp", "ucmp"):
        a, b = as_int(data[0]), as_int(data[1])
        if base == "scmp":
            a, b = signed(a, first.bits), signed(b, first.bits)
        return ((a > b) - (a < b)) & ((1 << type_.bits) - 1)
    if base in ("lround", "llround", "lrint", "llrint"):
        rounded = FUNCTIONS[base.removeprefix("l").removeprefix("l")](as_float(data[0]))
        return int(rounded) & ((1 << type_.bits) - 1)
    if type_.kind == "float":
        return _float(base, type_, data)
    key = f"{base}.sat" if len(parts) > 2 and parts[2] == "sat" else base
    function = _INTEGER.get(key)
    if function is None:
        raise UnsupportedIrError(f"expected a known intrinsic, found {name}")
    bits = type_.bits
    return function([as_int(d) for d in data], bits) & ((1 << bits) - 1)


def _float(base: str, type_: IrType, data: Sequence[Data]) -> float:
    if base == "fma":
        return fused_multiply_add(type_, *(as_float(d) for d in data))
    if base == "fmuladd":
        product = round_to(type_, as_float(data[0]) * as_float(data[1]))
        return round_to(type_, product + as_float(data[2]))
    if base == "powi":
        return round_to(type_, FUNCTIONS["pow"](as_float(data[0]), float(signed(as_int(data[1]), 32))))
    if base == "ldexp":
        return round_to(type_, math.ldexp(as_float(data[0]), signed(as_int(data[1]), 32)))
    if base not in FUNCTIONS:
        raise UnsupportedIrError(f"expected a known intrinsic, found llvm.{base}")
    return round_to(type_, evaluate(base, *(as_float(d) for d in data)))


def _reduce(operation: str, type_: IrType, operands: Sequence[Operand], data: Sequence[Data]) -> Data:
    values = list(lanes(data[-1]))
    if operation in ("fadd", "fmul"):
        return reduce(lambda a, b: binary(operation, type_, a, b), values, data[0])
    if operation in ("add", "mul", "and", "or", "xor"):
        return reduce(lambda a, b: binary(operation, type_, a, b), values)
    special = {"fmin": "minnum", "fmax": "maxnum", "fminimum": "minimum", "fmaximum": "maximum"}
    base = special.get(operation, operation)
    pair = [Operand(type_, ""), Operand(type_, "")]
    return reduce(lambda a, b: intrinsic(f"llvm.{base}", type_, pair, [a, b]), values)


def _with_overflow(operation: str, type_: IrType, a: int, b: int) -> Data:
    bits = type_.bits
    if operation[0] == "s":
        a, b = signed(a, bits), signed(b, bits)
    exact = {"add": a + b, "sub": a - b, "mul": a * b}[operation[1:]]
    wrapped = exact & ((1 << bits) - 1)
    back = signed(wrapped, bits) if operation[0] == "s" else wrapped
    return wrapped, int(back != exact)


def _saturating_cast(base: str, value: float, bits: int) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if base == "fptosi" else (0, (1 << bits) - 1)
    if value != value:
        return 0
    if math.isinf(value):
        return (high if value > 0 else low) & ((1 << bits) - 1)
    return max(low, min(high, int(value))) & ((1 << bits) - 1)


def _matches_class(value: float, mask: int) -> bool:
    """Test the bits of ``llvm.is.fpclass``: nan 0-1, then from -inf (2) to +inf (9)."""
    if value != value:
        return bool(mask & 3)
    negative = math.copysign(1.0, value) < 0
    if math.isinf(value):
        rank = 0
    elif value == 0:
        rank = 3
    else:
        rank = 2 if abs(value) < 2.2250738585072014e-308 else 1
    return bool(mask >> (2 + rank if negative else 9 - rank) & 1)


def _saturate(operation: Callable[[int, int], int], is_signed: bool) -> _Integer:
    def function(data: Sequence[int], bits: int) -> int:
        a, b = data
        if is_signed:
            exact = operation(signed(a, bits), signed(b, bits))
            return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, exact))
        return max(0, min((1 << bits) - 1, operation(a, b)))

    return function


_INTEGER: dict[str, _Integer] = {
    "umax": lambda data, bits: max(data),
    "umin": lambda data, bits: min(data),
    "smax": lambda data, bits: max(signed(d, bits) for d in data),
    "smin": lambda data, bits: min(signed(d, bits) for d in data),
    "abs": lambda data, bits: abs(signed(data[0], bits)),
    "ctpop": lambda data, bits: data[0].bit_count(),
    "ctlz": lambda data, bits: bits - data[0].bit_length(),
    "cttz": lambda data, bits: (data[0] & -data[0]).bit_length() - 1 if data[0] else bits,
    "bswap": lambda data, bits: int.from_bytes(data[0].to_bytes(bits // 8, "little"), "big"),
    "bitreverse": lambda data, bits: int(f"{data[0]:0{bits}b}"[::-1], 2),
    "fshl": lambda data, bits: (data[0] << bits | data[1]) << data[2] % bits >> bits,
    "fshr": lambda data, bits: (data[0] << bits | data[1]) >> data[2] % bits,
    "uadd.sat": _saturate(lambda a, b: a + b, False),
    "usub.sat": _saturate(lambda a, b: a - b, False),
    "sadd.sat": _saturate(lambda a, b: a + b, True),
    "ssub.sat": _saturate(lambda a, b: a - b, True),
    "ptrmask": lambda data, bits: data[0] & data[1],
    "objectsize": lambda data, bits: -1,
}


Run = Callable[[int, Sequence[Value]], Value]  # executes the function at an address of the program


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


def sort(
    memory: Memory, run: Run, base: int, size: int, element: int, compare: int, context: Sequence[Value]
) -> None:
    """Apply ``qsort``: the elements change places and stay the values they are (stable).

    Array and elements have ``size`` and ``element`` bytes; ``compare`` is the address of the comparison, and
    ``context`` its further arguments (``qsort_r``).
    """
    if element == 0 or size // element < 2:
        return
    count = size // element
    data = memory.read(base, size)
    homes = [memory.value_at(base + offset) for offset in range(0, size, memory.word_bytes)]

    def order(i: int, j: int) -> int:
        # elements are compared where they lie, before any of them moves
        arguments = [Value(base + i * element), Value(base + j * element), *context]
        return signed(as_int(run(compare, arguments).data), 32)

    sequence = sorted(range(count), key=cmp_to_key(order))
    memory.write(base, b"".join(data[i * element : (i + 1) * element] for i in sequence))
    memory.own(base, size)
    if (base | element) % memory.word_bytes:
        return  # elements share words: nothing can be followed
    words = element // memory.word_bytes
    for to, source in enumerate(sequence):
        for k in range(words):
            memory.set_value_at(base + to * element + k * memory.word_bytes, homes[source * words + k])


def search(run: Run, key: Value, base: int, count: int, element: int, compare: int) -> int:
    """Address of the element that ``bsearch`` finds, 0 if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        address = base + middle * element
        found = signed(as_int(run(compare, [key, Value(address)]).data), 32)
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
    """Executes external calls; ``observer`` is told of each.

    ``site`` gives the path of the call that is executed, ``run`` executes the function at an address.
    """

    def __init__(
        self,
        shadow: Shadow,
        site: Callable[[], str],
        run: Run,
        stdin: bytes,
        model: LibraryModel,
        observer: Observer,
    ) -> None:
        self._memory, self._shadow, self._site, self._run = shadow.memory, shadow, site, run
        self._observer, self._model = observer, model
        self._texts, self.library = Texts(self._memory), Library(self._memory, stdin)
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
        memory, fact = self._memory, call.fact
        size = call.num_bytes(fact.size)
        alignment = max(16, call.number(fact.alignment)) if fact.alignment >= 0 else 16
        address = memory.allocate(self._site(), size, alignment)
        if fact.zeroed and size:
            memory.write(address, bytes(size))
        if fact.pointer < 0:
            return Value(address)
        target = call.number(fact.pointer)
        memory.write(target, address.to_bytes(8, "little"))
        memory.own(target, 8)
        return Value(0)

    def _free(self, call: _Call) -> Value:
        self._memory.release(call.number(call.fact.pointer))
        return Value(0)

    def _reallocate(self, call: _Call) -> Value:
        memory = self._memory
        size, old = call.num_bytes(call.fact.size), call.number(call.fact.pointer)
        address = memory.allocate(self._site(), size)
        kept = min(memory.block_size(old), size) if old else 0
        if kept:
            self._copy_bytes(address, old, kept)
        memory.release(old)
        return Value(address)

    def _copy(self, call: _Call) -> Value:
        target, source = call.number(call.fact.pointer), call.number(call.fact.source)
        if call.fact.size is not None and call.fact.size.is_string:
            size = len(self._memory.read_string(source)) + 1
        else:
            size = call.num_bytes(call.fact.size)
        if size:
            self._copy_bytes(target, source, size)
        return Value(target + size if call.name == "mempcpy" else target)

    def _copy_bytes(self, target: int, source: int, size: int) -> None:
        data = self._memory.read(source, size)
        self._shadow.copy(target, source, size)
        self._memory.write(target, data)

    def _fill(self, call: _Call) -> Value:
        size, target = call.num_bytes(call.fact.size), call.number(call.fact.pointer)
        byte = 0 if "bzero" in call.name else call.number(1) & 0xFF
        if size:
            wide = (call.number(1) & 0xFFFFFFFF).to_bytes(4, "little") * (size // 4)
            self._memory.write(target, wide if call.name == "wmemset" else bytes([byte]) * size)
            self._shadow.fill(target, size)
        return Value(target)

    def _pure(self, call: _Call) -> Value:
        name, instruction, labels = call.name, call.instruction, call.labels
        for read in call.fact.reads:
            start = call.number(read.pointer)
            places = range(start, start + call.num_bytes(read.size), call.fact.width)
            homes = dict.fromkeys(map(self._memory.value_at, places), SourceRole.DATA)
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
        sort(self._memory, self._run, call.number(fact.pointer), size, element, compare, context)
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
        return min([len(self._memory.read_string(address)) + 1, *limits])

    def _scanned(self, labels: Labels) -> None:
        """Give what scanf has just assigned its values."""
        for address, image, is_number in self.library.assigned:
            if is_number:
                self._create(address, image, labels)
            else:
                self._texts.show(address, len(image), labels)
        self.library.assigned.clear()

    def _create(self, address: int, image: bytes, labels: Labels) -> None:
        self._memory.write(address, image)
        self._shadow.create(address, labels)
        self._memory.own(address, len(image))

    def _input(self, call: _Call) -> Value:
        data = self._data(call)
        self._scanned(NO_LABELS)
        for written in call.fact.writes:
            address = call.number(written.pointer) if written.pointer < len(call.values) else 0
            size = 0 if written.size.is_scanned else self._text_bytes(written, call)
            if address and size:
                self._shadow.fill(address, size)
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
            return Value(search(self._run, values[0], *(call.number(index) for index in range(1, 5))))
        if name == "__cxa_guard_acquire":
            return Value(int(self._memory.read(call.number(0), 1) == b"\0"))
        if name == "__cxa_guard_release":
            self._memory.write(call.number(0), b"\1")
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
