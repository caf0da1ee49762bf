"""What the pure ``llvm.*`` intrinsics compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType, Operand
from commanalyzer.recording.interpreter.instructions.arithmetic import (
    FUNCTIONS,
    SPLITTING,
    binary,
    evaluate,
    fused_multiply_add,
)
from commanalyzer.recording.interpreter.values import Data, as_float, as_int, lanes, round_to

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
