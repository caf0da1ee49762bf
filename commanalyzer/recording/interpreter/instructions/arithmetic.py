"""What the arithmetic instructions compute; integers wrap, floating point follows IEEE 754.

Where LLVM leaves the result undefined (poison), any value is allowed; shifts by too much give 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import IrType
from commanalyzer.recording.interpreter.instructions.codec import decode, encode, long_double, round_to
from commanalyzer.recording.interpreter.values import Data, as_float, as_int, lanes


def binary(opcode: str, type_: IrType, left: Data, right: Data) -> Data:
    """Return ``left opcode right``, lane by lane for vectors; TargetRunError on integer division by zero."""
    if type_.kind == "vector":
        element = type_.elements[0]
        pairs = zip(lanes(left), lanes(right), strict=True)
        return tuple(binary(opcode, element, a, b) for a, b in pairs)
    if type_.kind == "float":
        return round_to(type_, _FLOAT_BINARY[opcode](as_float(left), as_float(right)))
    bits = type_.bits
    return _INT_BINARY[opcode](as_int(left), as_int(right), bits) & ((1 << bits) - 1)


def negate(type_: IrType, data: Data) -> Data:
    """Return ``fneg data``."""
    if type_.kind == "vector":
        return tuple(negate(type_.elements[0], lane) for lane in lanes(data))
    return -as_float(data)


def compare(opcode: str, predicate: str, type_: IrType, left: Data, right: Data) -> Data:
    """Return the i1 result of ``icmp``/``fcmp``, or a tuple of them; ``type_`` is that of the operands."""
    if type_.kind == "vector":
        pairs = zip(lanes(left), lanes(right), strict=True)
        return tuple(compare(opcode, predicate, type_.elements[0], a, b) for a, b in pairs)
    if opcode == "icmp":
        a, b = as_int(left), as_int(right)
        if predicate[0] == "s":
            a, b = signed(a, type_.bits), signed(b, type_.bits)
        return int(_ORDER[predicate.lstrip("su")](a, b))
    x, y = as_float(left), as_float(right)
    if predicate in ("true", "false"):
        return int(predicate == "true")
    if x != x or y != y:
        return int(predicate[0] == "u")
    return int(predicate == "ord" or (predicate != "uno" and _ORDER[predicate[1:]](x, y)))


def convert(opcode: str, source: IrType, target: IrType, data: Data) -> Data:
    """Return the result of a cast instruction; UnsupportedIrError for casts that are not known."""
    if opcode == "bitcast":
        return decode(target, encode(source, data))
    if source.kind == "vector":
        return tuple(convert(opcode, source.elements[0], target.elements[0], lane) for lane in lanes(data))
    function = _CASTS.get(opcode)
    if function is None:
        raise UnsupportedIrError(f"expected a known cast, found '{opcode}'")
    return function(source, target, data)


def fused_multiply_add(type_: IrType, a: float, b: float, c: float) -> float:
    """Return ``a * b + c`` with one rounding."""
    if type_.text == "x86_fp80" or not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return round_to(type_, a * b + c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    return nearest(type_, exact)


def nearest(type_: IrType, exact: Fraction) -> float:
    """Return the number of ``type_`` nearest to ``exact`` (ties to even), without double rounding."""
    try:
        wide = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    rounded = round_to(type_, wide)
    if type_.text == "double" or Fraction(wide) == exact or not math.isfinite(rounded):
        return rounded
    # The double lies halfway between two numbers of the type: the lost remainder decides.
    away = round_to(type_, math.nextafter(wide, math.inf if exact > Fraction(wide) else -math.inf))
    return min((rounded, away), key=lambda x: abs(Fraction(x) - exact))


def to_integer(value: float, bits: int) -> int:
    """Return ``value`` truncated towards zero, as an unsigned number; 0 for NaN and infinity."""
    if not math.isfinite(value):
        return 0
    return int(value) & ((1 << bits) - 1)


def float_divide(a: float, b: float) -> float:
    """Return ``a / b`` with IEEE results for a zero divisor."""
    if b == 0:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def float_remainder(a: float, b: float) -> float:
    """Return C's ``fmod(a, b)``."""
    if b == 0 or math.isinf(a):
        return math.nan
    return math.fmod(a, b)


def _divide(a: int, b: int) -> tuple[int, int]:
    """Quotient, rounded towards zero, and remainder."""
    if b == 0:
        raise TargetRunError("expected a nonzero divisor, found an integer division by zero")
    magnitude = abs(a) // abs(b)
    quotient = magnitude if (a < 0) == (b < 0) else -magnitude
    return quotient, a - b * quotient


_INT_BINARY: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "udiv": lambda a, b, bits: _divide(a, b)[0],
    "sdiv": lambda a, b, bits: _divide(signed(a, bits), signed(b, bits))[0],
    "urem": lambda a, b, bits: _divide(a, b)[1],
    "srem": lambda a, b, bits: _divide(signed(a, bits), signed(b, bits))[1],
    "shl": lambda a, b, bits: a << b if b < bits else 0,
    "lshr": lambda a, b, bits: a >> b if b < bits else 0,
    "ashr": lambda a, b, bits: signed(a, bits) >> min(b, bits),
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
}
_FLOAT_BINARY: dict[str, Callable[[float, float], float]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": float_divide,
    "frem": float_remainder,
}
_ORDER: dict[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "gt", "ge", "lt", "le")
}


def _from_integer(target: IrType, value: int) -> float:
    if target.text == "x86_fp80":
        # In two exact halves: a detour over double would round.
        return long_double(value >> 32) * long_double(4294967296.0) + long_double(value & 0xFFFFFFFF)
    return nearest(target, Fraction(value))


_CASTS: dict[str, Callable[[IrType, IrType, Data], Data]] = {
    **dict.fromkeys(
        ("trunc", "zext", "ptrtoint", "ptrtoaddr", "inttoptr", "addrspacecast"),
        lambda source, target, data: as_int(data) & ((1 << target.bits) - 1),
    ),
    "sext": lambda source, target, data: signed(as_int(data), source.bits) & ((1 << target.bits) - 1),
    "uitofp": lambda source, target, data: _from_integer(target, as_int(data)),
    "sitofp": lambda source, target, data: _from_integer(target, signed(as_int(data), source.bits)),
    **dict.fromkeys(("fpext", "fptrunc"), lambda source, target, data: round_to(target, as_float(data))),
    **dict.fromkeys(
        ("fptosi", "fptoui"), lambda source, target, data: to_integer(as_float(data), target.bits)
    ),
}
