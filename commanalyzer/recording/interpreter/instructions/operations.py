"""Instructions that compute a register from registers: data, labels and exactness.

Label rules: arithmetic takes the union of its operands' labels; casts that do not change the number keep
exactness; addresses have no labels; ``select`` adds the sources of its condition with role CONTROL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import element_offset, signed
from commanalyzer.program.ir.model import BINARY, CASTS, Instruction, IrType
from commanalyzer.recording.interpreter.instructions.arithmetic import binary, compare, convert, negate
from commanalyzer.recording.interpreter.instructions.codec import zero
from commanalyzer.recording.interpreter.values import (
    NO_LABELS,
    Data,
    Labels,
    Value,
    as_int,
    lanes,
    union,
    with_role,
)

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
