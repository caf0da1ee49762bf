"""What the arithmetic instructions compute; integers wrap, floating point follows IEEE 754.

Where LLVM leaves the result undefined (poison), any value is allowed; shifts by too much give 0.

Instructions that compute a register from registers: data, labels and exactness.

Label rules: arithmetic takes the union of its operands' labels; casts that do not change the number keep
exactness; addresses have no labels; ``select`` adds the sources of its condition with role CONTROL.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import element_offset, signed
from commanalyzer.program.ir.model import BINARY, CASTS, Instruction, IrType
from commanalyzer.recording.interpreter.instructions.codec import decode, encode, long_double, round_to, zero
from commanalyzer.recording.interpreter.values import (
    NO_LABELS,
    Data,
    Labels,
    Value,
    as_float,
    as_int,
    lanes,
    union,
    with_role,
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
