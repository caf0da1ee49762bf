"""Reading one instruction from its text: a reader per opcode, chosen by table.

Fields follow :class:`commanalyzer.program.ir.model.Instruction`.

Readers of instructions that touch memory, call, or end a block, by opcode.

Readers of instructions that compute a value from values, by opcode.

An instruction while it is read, and what several readers need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.model import (
    BINARY,
    CASTS,
    FAST_MATH,
    ORDERINGS,
    TAIL_WORDS,
    Instruction,
    IrType,
    Operand,
)
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.parsing.operands import (
    read_argument,
    read_attributes,
    read_operand,
    read_value,
    result_of_cast,
)
from commanalyzer.program.ir.types import I1, PTR, VOID, TypeReader, struct_type, vector_type


@dataclass(slots=True)
class Draft:
    """Fields of an instruction while it is read; meanings as in :class:`Instruction`."""

    opcode: str
    type: IrType = VOID
    operands: tuple[Operand, ...] = ()
    targets: tuple[str, ...] = ()
    incoming: tuple[str, ...] = ()
    predicate: str = ""
    element_type: IrType | None = None
    callee: str = ""
    callee_type: IrType | None = None
    indices: tuple[int, ...] = ()
    flags: set[str] = field(default_factory=set)
    copied: dict[int, IrType] = field(default_factory=dict)


Reader = Callable[[Draft, Cursor, TypeReader], None]


def read_flags(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """Collect words up to the next type."""
    while not types.starts_type(cursor.peek()):
        start = cursor.position
        word = cursor.next()
        draft.flags.add(word)
        if cursor.peek() == "(":
            cursor.skip_balanced()
            draft.flags.add(cursor.slice(start, cursor.position))


def read_label(cursor: Cursor) -> str:
    """Read ``label %name`` and return the name without ``%``."""
    cursor.expect("label")
    token = cursor.next()
    if token[0] != "%":
        cursor.fail(f"expected a label, found '{token}'")
    return token[1:]


def read_ordering(draft: Draft, cursor: Cursor) -> None:
    """Read ``[syncscope("...")] ordering...``."""
    if cursor.accept("syncscope"):
        cursor.skip_balanced()
    while cursor.peek() in ORDERINGS:
        draft.flags.add(cursor.next())


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


def _load(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    draft.type = draft.element_type = types.read(cursor)
    cursor.expect(",")
    draft.operands = (read_operand(cursor, types),)
    read_ordering(draft, cursor)


def _store(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    value = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (value, read_operand(cursor, types))
    read_ordering(draft, cursor)


def _alloca(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    draft.element_type = types.read(cursor)
    draft.type = PTR
    if cursor.peek() == "," and types.starts_type(cursor.tokens[cursor.position + 1]):
        cursor.next()
        draft.operands = (read_operand(cursor, types),)


def _call(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    while cursor.peek() in FAST_MATH:
        draft.flags.add(cursor.next())
    # Return attributes and calling convention; they describe the result and are not kept.
    read_attributes(cursor, types)
    draft.type = types.read(cursor)
    if cursor.peek() == "(":
        draft.callee_type = types.read_function(cursor, draft.type)
    draft.callee = "asm" if cursor.peek() == "asm" else ""
    callee = read_value(cursor)
    draft.callee = draft.callee or callee
    cursor.expect("(")
    arguments: list[Operand] = []
    while not cursor.accept(")"):
        argument, attributes = read_argument(cursor, types)
        copied = next((a for a in attributes if a.startswith("byval(")), "")
        if copied:
            draft.copied[len(arguments)] = types.read(Cursor(copied[len("byval(") : -1], cursor.line))
        arguments.append(argument)
        cursor.accept(",")
    draft.operands = tuple(arguments)


def _invoke(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _call(draft, cursor, types)
    read_attributes(cursor, types)  # stops at the bundle or leaves "to" consumed
    while cursor.tokens[cursor.position - 1] != "to":
        if cursor.peek() == "[":
            cursor.skip_balanced()
        else:
            cursor.next()
    normal = read_label(cursor)
    cursor.expect("unwind")
    draft.targets = (normal, read_label(cursor))


def _br(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if cursor.peek() == "label":
        draft.targets = (read_label(cursor),)
        return
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    if_true = read_label(cursor)
    cursor.expect(",")
    draft.targets = (if_true, read_label(cursor))


def _switch(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    targets = [read_label(cursor)]
    values: list[int] = []
    cursor.expect("[")
    while not cursor.accept("]"):
        case = read_operand(cursor, types).text
        values.append({"true": 1, "false": 0}[case] if case in ("true", "false") else int(case))
        cursor.expect(",")
        targets.append(read_label(cursor))
    draft.targets = tuple(targets)
    draft.indices = tuple(values)


def _indirectbr(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    cursor.expect("[")
    targets: list[str] = []
    while not cursor.accept("]"):
        targets.append(read_label(cursor))
        cursor.accept(",")
    draft.targets = tuple(targets)


def _ret(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if not cursor.accept("void"):
        draft.operands = (read_operand(cursor, types),)


def _nothing(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """``unreachable`` and ``fence``: nothing that the analysis needs."""


def _resume(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)


def _va_arg(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    draft.type = types.read(cursor)


def _landingpad(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.type = types.read(cursor)
    clauses: list[Operand] = []
    while cursor.peek() in ("cleanup", "catch", "filter"):
        word = cursor.next()
        draft.flags.add(word)
        if word != "cleanup":
            clauses.append(read_operand(cursor, types))
    draft.operands = tuple(clauses)


def _cmpxchg(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    read_flags(draft, cursor, types)
    pointer = read_operand(cursor, types)
    cursor.expect(",")
    expected = read_operand(cursor, types)
    cursor.expect(",")
    draft.operands = (pointer, expected, read_operand(cursor, types))
    draft.type = struct_type((expected.type, I1))
    read_ordering(draft, cursor)


def _atomicrmw(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if cursor.accept("volatile"):
        draft.flags.add("volatile")
    draft.predicate = cursor.next()
    pointer = read_operand(cursor, types)
    cursor.expect(",")
    value = read_operand(cursor, types)
    draft.operands = (pointer, value)
    draft.type = value.type
    read_ordering(draft, cursor)


def _refused(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    raise UnsupportedIrError(
        f"expected Itanium-style control flow, found '{draft.opcode}'",
        where=f"line {cursor.line + 1}",
        hint="compile for x86_64 Linux; Windows exceptions and 'asm goto' are not supported",
    )


EFFECT_READERS: dict[str, Reader] = {
    **dict.fromkeys(("unreachable", "fence"), _nothing),
    **dict.fromkeys(("catchswitch", "catchret", "cleanupret", "catchpad", "cleanuppad", "callbr"), _refused),
    "load": _load,
    "store": _store,
    "alloca": _alloca,
    "call": _call,
    "invoke": _invoke,
    "br": _br,
    "switch": _switch,
    "indirectbr": _indirectbr,
    "ret": _ret,
    "resume": _resume,
    "va_arg": _va_arg,
    "landingpad": _landingpad,
    "cmpxchg": _cmpxchg,
    "atomicrmw": _atomicrmw,
}


_READERS = {**VALUE_READERS, **EFFECT_READERS}


def read_instruction(text: str, first_line: int, last_line: int, types: TypeReader) -> Instruction:
    """Read one instruction.

    Args:
        text: Its lines, joined with newlines.
        first_line: Index of the first line in the module.
        last_line: Index of the last line in the module.
        types: Knows the module's named types.

    Returns:
        The instruction; ``name`` is empty when none was printed, even if it has a result.

    Raises:
        IrError: If the text is not an instruction.
        UnsupportedIrError: If it is one that cannot be analysed.
    """
    cursor = Cursor(text, first_line)
    tokens = cursor.tokens
    name = ""
    if tokens[1] == "=":
        name = tokens[0]
        cursor.position = 2
    opcode = cursor.next()
    draft = Draft(opcode)
    if opcode in TAIL_WORDS:
        draft.flags.add(opcode)
        draft.opcode = opcode = cursor.next()
    reader = _READERS.get(opcode)
    if reader is None:
        cursor.fail(f"expected an instruction, found '{opcode}'")
    reader(draft, cursor, types)
    return Instruction(
        draft.opcode,
        name,
        draft.type,
        draft.operands,
        draft.targets,
        draft.incoming,
        draft.predicate,
        draft.element_type,
        draft.callee,
        draft.callee_type,
        draft.indices,
        frozenset(draft.flags),
        debug_node(tokens),
        first_line,
        last_line,
        draft.copied,
    )


def debug_node(tokens: list[str]) -> int:
    """Return the number of the ``!dbg`` attachment, -1 without one."""
    if "!dbg" not in tokens:
        return -1
    node = tokens[tokens.index("!dbg") + 1]
    return int(node[1:]) if node[1:].isdigit() else -1
