"""An instruction while it is read, and what several readers need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from commanalyzer.program.ir.model import IrType, Operand
from commanalyzer.program.ir.opcodes import ORDERINGS
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.types import VOID, TypeReader


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
