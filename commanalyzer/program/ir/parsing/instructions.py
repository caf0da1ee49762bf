"""Reading one instruction from its text: a reader per opcode, chosen by table.

Fields follow :class:`commanalyzer.program.ir.model.Instruction`.
"""

from __future__ import annotations

from commanalyzer.program.ir.model import Instruction
from commanalyzer.program.ir.opcodes import TAIL_WORDS
from commanalyzer.program.ir.parsing.draft import Draft
from commanalyzer.program.ir.parsing.effect_readers import EFFECT_READERS
from commanalyzer.program.ir.parsing.lexer import Cursor
from commanalyzer.program.ir.parsing.value_readers import VALUE_READERS
from commanalyzer.program.ir.types import TypeReader

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
