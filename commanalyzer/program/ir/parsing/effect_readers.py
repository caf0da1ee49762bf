"""Readers of instructions that touch memory, call, or end a block, by opcode."""

from __future__ import annotations

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.model import Operand
from commanalyzer.program.ir.opcodes import FAST_MATH
from commanalyzer.program.ir.parsing.draft import Draft, Reader, read_flags, read_label, read_ordering
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.parsing.operands import read_argument, read_attributes, read_operand, read_value
from commanalyzer.program.ir.types import I1, PTR, TypeReader, struct_type


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
