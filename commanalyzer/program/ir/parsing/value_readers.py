"""Readers of instructions that compute a value from values, by opcode."""

from __future__ import annotations

from commanalyzer.program.ir.model import IrType, Operand
from commanalyzer.program.ir.opcodes import BINARY, CASTS, FAST_MATH
from commanalyzer.program.ir.parsing.draft import Draft, Reader, read_flags
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.parsing.operands import read_operand, read_value, result_of_cast
from commanalyzer.program.ir.types import I1, PTR, TypeReader, vector_type


def _binary(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    left = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (left, Operand(left.type, read_value(cursor)))
    draft.type = left.type


def _unary(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    operand = read_operand(cursor, types)
    draft.operands = (operand,)
    draft.type = operand.type


def _cast(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    draft.operands = (read_operand(cursor, types),)
    draft.type = result_of_cast(cursor, types)


def _compare(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    while cursor.peek() in FAST_MATH or cursor.peek() == "samesign":
        draft.flags.add(cursor.next())
    draft.predicate = cursor.next()
    left = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (left, Operand(left.type, read_value(cursor)))
    draft.type = vector_type(left.type.count, I1) if left.type.kind == "vector" else I1


def _getelementptr(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    draft.element_type = types.read(cursor)
    operands: list[Operand] = []
    while cursor.peek() == "," and types.starts_type(cursor.tokens[cursor.position + 1]):
        cursor.next()
        operands.append(read_operand(cursor, types))
    draft.operands = tuple(operands)
    vectors = [o.type.count for o in operands if o.type.kind == "vector"]
    draft.type = vector_type(vectors[0], PTR) if vectors else operands[0].type


def _phi(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    type_ = types.read(cursor)
    draft.type = type_
    operands: list[Operand] = []
    incoming: list[str] = []
    while cursor.accept("["):
        operands.append(Operand(type_, read_value(cursor)))
        cursor.expect(",")
        incoming.append(cursor.next()[1:])
        cursor.expect("]")
        if cursor.peek() != "," or cursor.tokens[cursor.position + 1] != "[":
            break
        cursor.next()
    draft.operands = tuple(operands)
    draft.incoming = tuple(incoming)


def _select(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    condition = read_operand(cursor, types)
    cursor.expect(",")
    if_true = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (condition, if_true, read_operand(cursor, types))
    draft.type = if_true.type


def _trailing_indices(cursor: Cursor) -> tuple[int, ...]:
    indices: list[int] = []
    while cursor.peek() == "," and cursor.tokens[cursor.position + 1].isdigit():
        cursor.next()
        indices.append(int(cursor.next()))
    return tuple(indices)


def _extractvalue(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    aggregate = read_operand(cursor, types)
    draft.operands = (aggregate,)
    draft.indices = _trailing_indices(cursor)
    draft.type = member_type(aggregate.type, draft.indices)


def _insertvalue(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    aggregate = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (aggregate, read_operand(cursor, types))
    draft.indices = _trailing_indices(cursor)
    draft.type = aggregate.type


def member_type(type_: IrType, indices: tuple[int, ...]) -> IrType:
    """Return the type reached from an aggregate through constant ``indices``."""
    for index in indices:
        type_ = type_.elements[index] if type_.kind == "struct" else type_.elements[0]
    return type_


def _extractelement(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    vector = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (vector, read_operand(cursor, types))
    draft.type = vector.type.elements[0]


def _insertelement(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _select(draft, cursor, types)
    draft.type = draft.operands[0].type


def _shufflevector(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    left = read_operand(cursor, types)
    cursor.expect(",")
    right = read_operand(cursor, types)
    cursor.expect(",")
    mask = read_operand(cursor, types)
    draft.operands = (left, right)
    draft.indices = _mask(mask, types, cursor.line)
    draft.type = vector_type(mask.type.count, left.type.elements[0])


def _mask(mask: Operand, types: TypeReader, line: int) -> tuple[int, ...]:
    """Return the lanes of a shuffle mask; ``<4 x i32> <i32 0, i32 poison, ...>``."""
    if mask.text in ("zeroinitializer", "undef", "poison"):
        return (0 if mask.text == "zeroinitializer" else -1,) * mask.type.count
    cursor = Cursor(mask.text, line)
    if cursor.accept("splat"):
        cursor.expect("(")
        return (int(read_operand(cursor, types).text),) * mask.type.count
    cursor.expect("<")
    lanes: list[int] = []
    while not cursor.accept(">"):
        lane = read_operand(cursor, types).text
        lanes.append(-1 if lane in ("undef", "poison") else int(lane))
        cursor.accept(",")
    return tuple(lanes)


VALUE_READERS: dict[str, Reader] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("fneg", "freeze"), _unary),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    "getelementptr": _getelementptr,
    "phi": _phi,
    "select": _select,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
    "extractelement": _extractelement,
    "insertelement": _insertelement,
    "shufflevector": _shufflevector,
}
