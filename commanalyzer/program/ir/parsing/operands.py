"""Reading typed uses: values, constant expressions, attributes of parameters and calls."""

from __future__ import annotations

from commanalyzer.program.ir.model import Operand
from commanalyzer.program.ir.parsing.lexer import END, Cursor
from commanalyzer.program.ir.types import TypeReader

_SINGLE_WORDS = frozenset({"true", "false", "null", "none", "undef", "poison", "zeroinitializer"})
_PREFIX_WORDS = frozenset({"dso_local_equivalent", "no_cfi"})
_NUMBER_ATTRIBUTES = frozenset({"align", "cc", "alignstack"})


def read_value(cursor: Cursor) -> str:
    """Read a value without its type and return its text as printed."""
    start = cursor.position
    token = cursor.next()
    first = token[0]
    if first in "%@-+0123456789" or token in _SINGLE_WORDS:
        return token
    if first in "\"'" or token[:2] == 'c"':
        return token
    if token in ("[", "{", "<"):
        cursor.position = start
        cursor.skip_balanced()
    elif token in _PREFIX_WORDS:
        cursor.next()
    elif token == "asm":
        _skip_assembly(cursor)
    elif first in "su" and token[1:3] == "0x":
        return token
    else:
        _skip_expression(cursor, token)
    return cursor.slice(start, cursor.position)


def read_operand(cursor: Cursor, types: TypeReader) -> Operand:
    """Read ``type value``."""
    type_ = types.read(cursor)
    return Operand(type_, read_value(cursor))


def read_operands(cursor: Cursor, types: TypeReader, count: int) -> tuple[Operand, ...]:
    """Read ``count`` of them, with commas between."""
    operands = [read_operand(cursor, types)]
    while len(operands) < count:
        cursor.expect(",")
        operands.append(read_operand(cursor, types))
    return tuple(operands)


def read_argument(cursor: Cursor, types: TypeReader) -> tuple[Operand, set[str]]:
    """Read one argument of a call (also metadata): type and value, attributes."""
    type_ = types.read(cursor)
    if type_.kind == "metadata":
        return Operand(type_, _read_metadata(cursor)), set()
    attributes = read_attributes(cursor, types)
    return Operand(type_, read_value(cursor)), attributes


def read_attributes(cursor: Cursor, types: TypeReader) -> set[str]:
    """Step over attribute and linkage words and return them.

    Attributes with an argument are returned twice, as word and as printed (``byval`` and
    ``byval(%struct.P)``). Stops in front of a type or a value.
    """
    words: set[str] = set()
    while True:
        token = cursor.peek()
        if token == END or token in _SINGLE_WORDS or types.starts_type(token):
            return words
        start = cursor.position
        if token[0] == '"':
            cursor.next()
            if cursor.accept("="):
                cursor.next()
            continue
        if token[0] == "#":
            cursor.next()
            continue
        if not (token[0].isalpha() or token[0] == "_") or _is_value_word(cursor):
            return words
        words.add(cursor.next())
        if cursor.peek() == "(":
            cursor.skip_balanced()
            words.add(cursor.slice(start, cursor.position))
        elif token in _NUMBER_ATTRIBUTES:
            cursor.accept("=")
            cursor.next()


_EXPRESSION_WORDS = frozenset(
    (
        "getelementptr", "ptrtoint", "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast", "trunc",
        "add", "sub", "mul", "xor", "and", "or", "shl", "blockaddress", "splat", "extractelement",
        "insertelement", "shufflevector", "ptrauth", "icmp", "fcmp", "select", "asm",
    )
)  # fmt: skip


def _is_value_word(cursor: Cursor) -> bool:
    token = cursor.peek()
    return token in _EXPRESSION_WORDS or token in _PREFIX_WORDS or token[:2] == 'c"'


def _skip_expression(cursor: Cursor, token: str) -> None:
    """Step over the rest of ``op flags (...)``."""
    if token not in _EXPRESSION_WORDS:
        cursor.fail(f"expected a value, found '{token}'")
    while cursor.peek() != "(":
        if cursor.next() == "inrange" and cursor.peek() == "(":
            cursor.skip_balanced()
    cursor.skip_balanced()


def _skip_assembly(cursor: Cursor) -> None:
    """Step over ``asm [words] "template", "constraints"`` after the word ``asm``."""
    while cursor.peek()[:1] != '"':
        cursor.next()
    cursor.next()
    cursor.expect(",")
    cursor.next()


def _read_metadata(cursor: Cursor) -> str:
    start = cursor.position
    while cursor.peek() not in (",", ")", END):
        if cursor.peek() in ("(", "{", "[", "<"):
            cursor.skip_balanced()
        else:
            cursor.next()
    return cursor.slice(start, cursor.position)
