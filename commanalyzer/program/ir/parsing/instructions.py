"""Reading one instruction from its text: a reader per opcode, chosen by table.

Fields follow :class:`commanalyzer.program.ir.model.Instruction`.

Reading typed uses: values, constant expressions, attributes of parameters and calls.
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
from commanalyzer.program.ir.types import END, I1, PTR, VOID, Cursor, TypeReader, struct_type, vector_type

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
        is_value = token in _EXPRESSION_WORDS or token in _PREFIX_WORDS or token[:2] == 'c"'
        if is_value or not (token[0].isalpha() or token[0] == "_"):
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


def _read_flags(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """Collect words up to the next type."""
    while not types.starts_type(cursor.peek()):
        start = cursor.position
        word = cursor.next()
        draft.flags.add(word)
        if cursor.peek() == "(":
            cursor.skip_balanced()
            draft.flags.add(cursor.slice(start, cursor.position))


def _read_label(cursor: Cursor) -> str:
    """Read ``label %name`` and return the name without ``%``."""
    cursor.expect("label")
    token = cursor.next()
    if token[0] != "%":
        cursor.fail(f"expected a label, found '{token}'")
    return token[1:]


def _read_ordering(draft: Draft, cursor: Cursor) -> None:
    """Read ``[syncscope("...")] ordering...``."""
    if cursor.accept("syncscope"):
        cursor.skip_balanced()
    while cursor.peek() in ORDERINGS:
        draft.flags.add(cursor.next())


def _computed(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """Read ``flags type value`` and what else it is computed from, of the same type, the result's as well."""
    _read_flags(draft, cursor, types)
    left = read_operand(cursor, types)
    draft.operands, draft.type = (left,), left.type
    if draft.opcode not in ("fneg", "freeze"):
        cursor.expect(",")
        draft.operands = (left, Operand(left.type, read_value(cursor)))


def _cast(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.operands = (read_operand(cursor, types),)
    cursor.expect("to")
    draft.type = types.read(cursor)


def _compare(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    while cursor.peek() in FAST_MATH or cursor.peek() == "samesign":
        draft.flags.add(cursor.next())
    draft.predicate = cursor.next()
    _computed(draft, cursor, types)
    draft.type = vector_type(draft.type.count, I1) if draft.type.kind == "vector" else I1


def _read_further(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """Read operands that follow behind commas."""
    while cursor.peek() == "," and types.starts_type(cursor.tokens[cursor.position + 1]):
        cursor.next()
        draft.operands += (read_operand(cursor, types),)


def _getelementptr(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.element_type = types.read(cursor)
    _read_further(draft, cursor, types)
    vectors = [o.type.count for o in draft.operands if o.type.kind == "vector"]
    draft.type = vector_type(vectors[0], PTR) if vectors else draft.operands[0].type


def _phi(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    type_ = draft.type = types.read(cursor)
    operands, incoming = list[Operand](), list[str]()
    while cursor.accept("["):
        operands.append(Operand(type_, read_value(cursor)))
        cursor.expect(",")
        incoming.append(cursor.next()[1:])
        cursor.expect("]")
        if cursor.peek() != "," or cursor.tokens[cursor.position + 1] != "[":
            break
        cursor.next()
    draft.operands, draft.incoming = tuple(operands), tuple(incoming)


def _select(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.operands = read_operands(cursor, types, 3)
    draft.type = draft.operands[1].type


def _member(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """``extractvalue`` (aggregate) and ``insertvalue`` (aggregate, member), with constant indices."""
    is_read = draft.opcode == "extractvalue"
    draft.operands = read_operands(cursor, types, 1 if is_read else 2)
    while cursor.peek() == "," and cursor.tokens[cursor.position + 1].isdigit():
        cursor.next()
        draft.indices += (int(cursor.next()),)
    draft.type = draft.operands[0].type
    for index in draft.indices if is_read else ():
        draft.type = draft.type.elements[index if draft.type.kind == "struct" else 0]


def _element(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """``extractelement`` (vector, index) and ``insertelement`` (vector, element, index)."""
    draft.operands = read_operands(cursor, types, 2 if draft.opcode == "extractelement" else 3)
    vector = draft.operands[0].type
    draft.type = vector.elements[0] if draft.opcode == "extractelement" else vector


def _shufflevector(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    left, right, mask = read_operands(cursor, types, 3)
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


def _load(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.type = draft.element_type = types.read(cursor)
    cursor.expect(",")
    draft.operands = (read_operand(cursor, types),)
    _read_ordering(draft, cursor)


def _store(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.operands = read_operands(cursor, types, 2)
    _read_ordering(draft, cursor)


def _alloca(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.element_type = types.read(cursor)
    draft.type = PTR
    _read_further(draft, cursor, types)


def _call(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    while cursor.peek() in FAST_MATH:
        draft.flags.add(cursor.next())
    # Return attributes and calling convention; they describe the result and are not kept.
    read_attributes(cursor, types)
    draft.type = types.read(cursor)
    if cursor.peek() == "(":
        draft.callee_type = types.read_function(cursor, draft.type)
    is_assembly, callee = cursor.peek() == "asm", read_value(cursor)
    draft.callee = "asm" if is_assembly else callee
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
    normal = _read_label(cursor)
    cursor.expect("unwind")
    draft.targets = (normal, _read_label(cursor))


def _br(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if cursor.peek() == "label":
        draft.targets = (_read_label(cursor),)
        return
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    if_true = _read_label(cursor)
    cursor.expect(",")
    draft.targets = (if_true, _read_label(cursor))


def _switch(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    targets, values = [_read_label(cursor)], list[int]()
    cursor.expect("[")
    while not cursor.accept("]"):
        case = read_operand(cursor, types).text
        values.append({"true": 1, "false": 0}[case] if case in ("true", "false") else int(case))
        cursor.expect(",")
        targets.append(_read_label(cursor))
    draft.targets = tuple(targets)
    draft.indices = tuple(values)


def _indirectbr(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    cursor.expect("[")
    while not cursor.accept("]"):
        draft.targets += (_read_label(cursor),)
        cursor.accept(",")


def _ret(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if not cursor.accept("void"):
        draft.operands = (read_operand(cursor, types),)


def _nothing(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    """``unreachable`` and ``fence``: nothing that the analysis needs."""


def _va_arg(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.operands = (read_operand(cursor, types),)
    cursor.expect(",")
    draft.type = types.read(cursor)


def _landingpad(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    draft.type = types.read(cursor)
    while cursor.peek() in ("cleanup", "catch", "filter"):
        word = cursor.next()
        draft.flags.add(word)
        if word != "cleanup":
            draft.operands += (read_operand(cursor, types),)


def _cmpxchg(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    _read_flags(draft, cursor, types)
    draft.operands = read_operands(cursor, types, 3)
    draft.type = struct_type((draft.operands[1].type, I1))
    _read_ordering(draft, cursor)


def _atomicrmw(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    if cursor.accept("volatile"):
        draft.flags.add("volatile")
    draft.predicate = cursor.next()
    draft.operands = read_operands(cursor, types, 2)
    draft.type = draft.operands[1].type
    _read_ordering(draft, cursor)


def _refused(draft: Draft, cursor: Cursor, types: TypeReader) -> None:
    raise UnsupportedIrError(
        f"expected Itanium-style control flow, found '{draft.opcode}'",
        where=f"line {cursor.line + 1}",
        hint="compile for x86_64 Linux; Windows exceptions and 'asm goto' are not supported",
    )


_READERS: dict[str, Reader] = {
    **dict.fromkeys((*BINARY, "fneg", "freeze"), _computed),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    "getelementptr": _getelementptr,
    "phi": _phi,
    "select": _select,
    **dict.fromkeys(("extractvalue", "insertvalue"), _member),
    **dict.fromkeys(("extractelement", "insertelement"), _element),
    "shufflevector": _shufflevector,
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
    **dict.fromkeys(("ret", "resume"), _ret),
    "va_arg": _va_arg,
    "landingpad": _landingpad,
    "cmpxchg": _cmpxchg,
    "atomicrmw": _atomicrmw,
}


def read_instruction(text: str, first_line: int, last_line: int, types: TypeReader) -> Instruction:
    """Read one instruction from its lines, joined with newlines; ``types`` knows the module's named types.

    ``name`` is empty when none was printed, even if it has a result. Raises IrError if the text is not an
    instruction, and UnsupportedIrError if it is one that cannot be analysed.
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
        draft.opcode, name, draft.type, draft.operands, draft.targets, draft.incoming, draft.predicate,
        draft.element_type, draft.callee, draft.callee_type, draft.indices, frozenset(draft.flags),
        debug_node(tokens), first_line, last_line, draft.copied,
    )  # fmt: skip


def debug_node(tokens: list[str]) -> int:
    """Return the number of the ``!dbg`` attachment, -1 without one."""
    if "!dbg" not in tokens:
        return -1
    node = tokens[tokens.index("!dbg") + 1]
    return int(node[1:]) if node[1:].isdigit() else -1
