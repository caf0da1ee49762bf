"""What the arithmetic instructions compute; integers wrap, floating point follows IEEE 754.

Where LLVM leaves the result undefined (poison), any value is allowed; shifts by too much give 0.

Instructions that compute a register from registers: data, labels and exactness.

Label rules: arithmetic takes the union of its operands' labels; casts that do not change the number keep
exactness; addresses have no labels; ``select`` adds the sources of its condition with role CONTROL.

Mathematical functions on numbers: libm and the ``llvm.*`` intrinsics of the same names.

Everything is computed in double precision (``x86_fp80`` in its own where numpy can) and rounded to the type
of the result; ``float`` results can differ from a C library's in the last bit. Domain errors give NaN or
infinity as in C.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import cast

import numpy as np

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import element_offset, signed
from commanalyzer.program.ir.model import BINARY, CASTS, Instruction, IrType
from commanalyzer.recording.interpreter.values import (
    NO_LABELS,
    Data,
    Labels,
    Value,
    as_float,
    as_int,
    decode,
    encode,
    lanes,
    long_double,
    round_to,
    union,
    with_role,
    zero,
)


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
_EXACT_CASTS = frozenset({"bitcast", "sext", "zext", "fpext", "sitofp", "uitofp"})
_FLOAT_OPERATIONS = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_Operation = Callable[[Instruction, Sequence[Value]], Value]


def compute(instruction: Instruction, values: Sequence[Value], *, control_flows: bool) -> Value:
    """Return the result of a computing instruction (a key of :data:`OPERATIONS`, or ``select``)."""
    if instruction.opcode == "select":
        result = _select(instruction, values, control_flows)
    else:
        result = OPERATIONS[instruction.opcode](instruction, values)
    return without_address_labels(instruction.type, result)


def without_address_labels(type_: IrType, value: Value) -> Value:
    """Pointers carry no labels."""
    is_pointer = type_.kind == "ptr" or (type_.kind == "vector" and type_.elements[0].kind == "ptr")
    return value._replace(labels=NO_LABELS, exact=None) if is_pointer else value


def flops(instruction: Instruction) -> int:
    """Return the floating-point operations of one execution (calls not included)."""
    return instruction.type.lanes if instruction.opcode in _FLOAT_OPERATIONS else 0


def all_labels(values: Sequence[Value]) -> Labels:
    """Return the union of the labels of ``values``."""
    return reduce(union, (value.labels for value in values), NO_LABELS)


def select_role(value: Value, conditions: Labels) -> Value:
    """Return ``value``, selected by ``conditions``: they become CONTROL sources and exactness is lost."""
    if not conditions:
        return value
    labels = union(value.labels, with_role(conditions, SourceRole.CONTROL))
    return value._replace(labels=labels, exact=None)


def _binary(instruction: Instruction, values: Sequence[Value]) -> Value:
    left, right = values
    data = binary(instruction.opcode, instruction.type, left.data, right.data)
    return Value(data, union(left.labels, right.labels))


def _compare(instruction: Instruction, values: Sequence[Value]) -> Value:
    left, right = values
    type_ = instruction.operands[0].type
    data = compare(instruction.opcode, instruction.predicate, type_, left.data, right.data)
    return Value(data, union(left.labels, right.labels))


def _cast(instruction: Instruction, values: Sequence[Value]) -> Value:
    source = instruction.operands[0].type
    data = convert(instruction.opcode, source, instruction.type, values[0].data)
    if instruction.opcode in ("ptrtoint", "ptrtoaddr", "inttoptr", "addrspacecast"):
        return Value(data)
    exact = values[0].exact if instruction.opcode in _EXACT_CASTS else None
    return Value(data, values[0].labels, exact)


def _select(instruction: Instruction, values: Sequence[Value], control_flows: bool) -> Value:
    condition, if_true, if_false = values
    conditions = condition.labels if control_flows else NO_LABELS
    if instruction.operands[0].type.kind == "vector":
        choices = zip(lanes(condition.data), lanes(if_true.data), lanes(if_false.data), strict=True)
        data = tuple(a if chosen else b for chosen, a, b in choices)
        return select_role(Value(data, union(if_true.labels, if_false.labels)), conditions)
    return select_role(if_true if condition.data else if_false, conditions)


def _getelementptr(instruction: Instruction, values: Sequence[Value]) -> Value:
    operands = instruction.operands
    if instruction.type.kind != "vector":
        offset = _offset(instruction, [v.data for v in values[1:]])
        return Value((as_int(values[0].data) + offset) & (2**64 - 1))
    result: list[Data] = []
    for lane in range(instruction.type.count):
        own = [
            lanes(v.data)[lane] if o.type.kind == "vector" else v.data
            for o, v in zip(operands, values, strict=True)
        ]
        offset = _offset(instruction, own[1:])
        result.append((as_int(own[0]) + offset) & (2**64 - 1))
    return Value(tuple(result))


def _offset(instruction: Instruction, data: Sequence[Data]) -> int:
    assert instruction.element_type is not None
    types = (o.type.elements[0] if o.type.kind == "vector" else o.type for o in instruction.operands[1:])
    indices = (signed(as_int(value), type_.bits) for type_, value in zip(types, data, strict=True))
    return element_offset(instruction.element_type, indices)


def _extractvalue(instruction: Instruction, values: Sequence[Value]) -> Value:
    data = values[0].data
    for index in instruction.indices:
        data = lanes(data)[index]
    return Value(data, values[0].labels)


def _insertvalue(instruction: Instruction, values: Sequence[Value]) -> Value:
    data = _with_member(values[0].data, instruction.indices, values[1].data)
    return Value(data, union(values[0].labels, values[1].labels))


def _with_member(aggregate: Data, indices: tuple[int, ...], member: Data) -> Data:
    if not indices:
        return member
    members = list(lanes(aggregate))
    members[indices[0]] = _with_member(members[indices[0]], indices[1:], member)
    return tuple(members)


def _extractelement(instruction: Instruction, values: Sequence[Value]) -> Value:
    vector, index = values
    data = lanes(vector.data)[as_int(index.data)]
    return Value(data, union(vector.labels, index.labels))


def _insertelement(instruction: Instruction, values: Sequence[Value]) -> Value:
    vector, element, index = values
    data = _with_member(vector.data, (as_int(index.data),), element.data)
    return Value(data, all_labels(values))


def _shufflevector(instruction: Instruction, values: Sequence[Value]) -> Value:
    pool = lanes(values[0].data) + lanes(values[1].data)
    missing = zero(instruction.type.elements[0])
    data = tuple(missing if lane < 0 else pool[lane] for lane in instruction.indices)
    return Value(data, union(values[0].labels, values[1].labels))


OPERATIONS: dict[str, _Operation] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    "fneg": lambda instruction, values: Value(negate(instruction.type, values[0].data), values[0].labels),
    "freeze": lambda instruction, values: values[0],
    "getelementptr": _getelementptr,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
    "extractelement": _extractelement,
    "insertelement": _insertelement,
    "shufflevector": _shufflevector,
}


Function = Callable[..., float]


def _guarded(function: Function, *arguments: float) -> float:
    """Call ``function``; where Python raises, return what C returns."""
    try:
        return function(*arguments)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _log(function: Function, x: float) -> float:
    return -math.inf if x == 0 else _guarded(function, x)


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except ValueError:
        return math.inf if x == 0 else math.nan
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def _round_away(x: float) -> float:
    if not abs(x) < 2.0**52:
        return x
    # Adding 0.5 first would round the number just below one half up.
    whole = math.floor(abs(x))
    return math.copysign(whole + (abs(x) - whole >= 0.5), x)


def _integral(function: Callable[[float], int], x: float) -> float:
    return math.copysign(float(function(x)), x) if math.isfinite(x) else x


def _but_nan(choose: Callable[[float, float], float], x: float, y: float) -> float:
    if x != x or y != y:
        return y if x != x else x
    return choose(x, y)


# those that Python has itself
_PLAIN = "exp exp2 expm1 cosh sin cos tan asin acos atan atan2 tanh asinh acosh erf erfc"
FUNCTIONS: dict[str, Function] = {
    "fabs": abs,
    "copysign": math.copysign,
    "sqrt": partial(_guarded, math.sqrt),
    "floor": partial(_integral, math.floor),
    "ceil": partial(_integral, math.ceil),
    "trunc": partial(_integral, math.trunc),
    "round": _round_away,
    **dict.fromkeys(("rint", "nearbyint", "roundeven"), partial(_integral, round)),
    **dict.fromkeys(("fmin", "minnum", "minimumnum"), partial(_but_nan, min)),
    **dict.fromkeys(("fmax", "maxnum", "maximumnum"), partial(_but_nan, max)),
    "minimum": lambda x, y: math.nan if x != x or y != y else min(x, y),
    "maximum": lambda x, y: math.nan if x != x or y != y else max(x, y),
    "fdim": lambda x, y: max(x - y, 0.0) if x == x and y == y else math.nan,
    "fmod": float_remainder,
    **dict.fromkeys(("remainder", "drem"), partial(_guarded, math.remainder)),
    "hypot": math.hypot,
    "cbrt": math.cbrt,
    "exp10": partial(_pow, 10.0),
    **{n: partial(_guarded, getattr(math, n)) for n in _PLAIN.split()},
    **{n: partial(_log, getattr(math, n)) for n in ("log", "log2", "log10")},
    "log1p": lambda x: -math.inf if x == -1 else _guarded(math.log1p, x),
    "sinh": lambda x: math.copysign(_guarded(math.sinh, abs(x)), x),
    "atanh": lambda x: math.copysign(math.inf, x) if abs(x) == 1 else _guarded(math.atanh, x),
    "pow": _pow,
    "tgamma": lambda x: math.copysign(math.inf, x) if x == 0 else _guarded(math.gamma, x),
    "lgamma": lambda x: math.inf if x <= 0 and x == math.floor(x) else _guarded(math.lgamma, x),
    "nextafter": math.nextafter,
    "logb": lambda x: -math.inf if x == 0 else float(math.frexp(x)[1] - 1) if math.isfinite(x) else abs(x),
    "fdiv": float_divide,
}
# what modf, frexp and sincos find: the first is the result of those that write one through a pointer
SPLITTING: dict[str, Callable[[float], tuple[float, float]]] = {
    "modf": math.modf,
    "frexp": math.frexp,
    "sincos": lambda x: (math.sin(x), math.cos(x)),
}
# numpy computes these in extended precision; its other names differ from C's.
_EXTENDED: dict[str, str] = {
    **{n: n for n in ("sqrt", "floor", "ceil", "trunc", "rint", "fabs", "copysign", "fmin", "fmax", "fmod")},
    **{n: n for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "hypot", "cbrt")},
    **{n: n for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{n: "arc" + n[1:] for n in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    "pow": "power",
}


def evaluate(name: str, *arguments: float) -> float:
    """Return ``FUNCTIONS[name]``; in extended precision where an argument is. KeyError if it is not known."""
    extended = _EXTENDED.get(name)
    if extended is not None and isinstance(arguments[0], np.longdouble):
        function = cast("Function", getattr(np, extended))
        with np.errstate(all="ignore"):
            return function(*arguments)
    return FUNCTIONS[name](*arguments)


def base_name(name: str) -> tuple[str, str]:
    """Return a libm name without its width suffix, and the suffix (``sqrtf`` -> ``sqrt``, ``f``)."""
    name = name.removeprefix("__").removesuffix("_finite")
    if name in FUNCTIONS:
        return name, ""
    if name[-1:] in ("f", "l") and name[:-1] in FUNCTIONS:
        return name[:-1], name[-1]
    return name, ""


def complex_product(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return ``(a + bi) * (c + di)`` for finite operands."""
    return a * c - b * d, a * d + b * c


def complex_quotient(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return ``(a + bi) / (c + di)``, scaled by the exponent of the divisor as compiler-rt does."""
    exponent = evaluate("logb", max(abs(c), abs(d)))
    scale = int(exponent) if math.isfinite(exponent) else 0
    c, d = math.ldexp(c, -scale), math.ldexp(d, -scale)
    norm = c * c + d * d
    real, imaginary = float_divide(a * c + b * d, norm), float_divide(b * c - a * d, norm)
    return math.ldexp(real, -scale), math.ldexp(imaginary, -scale)
