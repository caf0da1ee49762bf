"""LLVM types: reading them, and their layout in memory on x86-64.

Sizes follow the System V x86-64 data layout (``e-m:e-i64:64-i128:128-f80:128``): ``x86_fp80`` is stored
in 10 bytes and occupies 16, pointers are 8 bytes, vectors are aligned to their size.

Tokens of LLVM IR text and a cursor over them.

One regular expression cuts a logical line (an instruction with its continuation lines, a header, an
initializer) into tokens; everything above works on tokens, so nesting, quotes and attributes need no
pattern of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NoReturn

from commanalyzer.foundation.errors import IrError, UnsupportedIrError
from commanalyzer.program.ir.model import IrType, Operand

_TOKEN = re.compile(
    r"""
      [%@$^](?:"[^"]*"|[-\w$.]+)        # registers, globals, comdats
    | c?"[^"]*"                         # strings; a quote inside is printed as \22
    | ![-\w$.\\]*                       # metadata
    | \#\d+                             # attribute groups
    | [-+\w$.]+                         # words, numbers, ...
    | [()\[\]{}<>,=*|:]
    | ;.*                               # comment
    | \S
    """,
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BRACKETS = frozenset("([{<)]}>")
END = ""


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text`` without comments."""
    tokens = _TOKEN.findall(text)
    if ";" in text:
        tokens = [token for token in tokens if not token.startswith(";")]
    return tokens


class Cursor:
    """A position in the tokens of one logical line, whose continuation lines are joined with a newline.

    ``line`` is the index of its first line in the module, for messages.
    """

    __slots__ = ("_spans", "line", "position", "text", "tokens")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        # Two end markers, so that looking one token ahead never needs a bounds check.
        self.tokens = [*tokenize(text), END, END]
        self.position = 0
        self._spans: list[tuple[int, int]] | None = None

    def peek(self) -> str:
        """Return the next token, ``""`` at the end."""
        return self.tokens[self.position]

    def next(self) -> str:
        """Return the next token and step over it."""
        token = self.tokens[self.position]
        if token == END:
            self.fail("unexpected end of line")
        self.position += 1
        return token

    def accept(self, token: str) -> bool:
        """Step over ``token`` if it is next."""
        if self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over ``token``; IrError if another one is next."""
        if self.tokens[self.position] != token:
            self.fail(f"expected '{token}', found '{self.peek() or 'end of line'}'")
        self.position += 1

    def skip_balanced(self) -> None:
        """Step over a bracketed group; the opening bracket is next."""
        open_brackets: list[str] = []
        while True:
            token = self.next()
            if token not in _BRACKETS:
                continue
            if token in _CLOSING:
                open_brackets.append(_CLOSING[token])
            elif not open_brackets or open_brackets.pop() != token:
                self.fail(f"unbalanced '{token}'")
            if not open_brackets:
                return

    def slice(self, start: int, end: int) -> str:
        """Return the source text of tokens ``start`` up to ``end`` (exclusive)."""
        if end == start + 1:
            return self.tokens[start]
        if self._spans is None:
            self._spans = [m.span() for m in _TOKEN.finditer(self.text) if not m.group().startswith(";")]
        return self.text[self._spans[start][0] : self._spans[end - 1][1]]

    def fail(self, message: str) -> NoReturn:
        """Raise an IrError that shows the line."""
        shown = self.text.strip()
        raise IrError(
            f"cannot read LLVM IR: {message}: {shown[:200]}",
            where=f"line {self.line + 1}",
            hint="check that the text is a complete module as printed by LLVM 16 or later",
        )


_FLOAT_BITS = {
    "half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128,
}  # fmt: skip
_PLAIN: dict[str, IrType] = {
    "ptr": IrType("ptr", "ptr", 64),
    **{name: IrType(name, name) for name in ("void", "label", "metadata", "token", "opaque")},
    **{name: IrType("float", name, bits) for name, bits in _FLOAT_BITS.items()},
    **{f"i{bits}": IrType("int", f"i{bits}", bits) for bits in (1, 8, 16, 32, 64, 128)},
}
VOID = _PLAIN["void"]
PTR = _PLAIN["ptr"]
I1 = _PLAIN["i1"]
I32 = _PLAIN["i32"]
I64 = _PLAIN["i64"]


def vector_type(count: int, element: IrType) -> IrType:
    """Return ``<count x element>``."""
    return IrType("vector", f"<{count} x {element.text}>", 0, count, (element,))


def struct_type(fields: tuple[IrType, ...]) -> IrType:
    """Return the literal struct ``{ fields }``."""
    inner = ", ".join(f.text for f in fields)
    return IrType("struct", f"{{ {inner} }}" if inner else "{}", 0, len(fields), fields)


class TypeReader:
    """Reads types from tokens; knows the module's named types.

    ``bodies`` are right-hand sides of ``%name = type ...`` by name, with the line they stand on; ``named``
    types that are already resolved, such as ``Module.named_types``.
    """

    def __init__(
        self, bodies: dict[str, tuple[str, int]] | None = None, named: dict[str, IrType] | None = None
    ) -> None:
        self._bodies = bodies or {}
        self._named: dict[str, IrType] = dict(named or {})

    def named_types(self) -> dict[str, IrType]:
        """Return all named types of the module, resolved."""
        return {name: self._resolve(name) for name in self._bodies}

    def starts_type(self, token: str) -> bool:
        """A type can begin with ``token`` (attribute words cannot)."""
        return (
            token in _PLAIN
            or token in ("[", "{", "<", "target", "x86_amx", "x86_mmx")
            or token[:1] == "%"
            or (token[:1] == "i" and token[1:].isdigit())
        )

    def read(self, cursor: Cursor) -> IrType:
        """Read one first-class or ``void`` type.

        Raises IrError if no type is next, and UnsupportedIrError for scalable vectors and typed pointers.
        """
        token = cursor.next()
        plain = _PLAIN.get(token)
        if plain is not None:
            start, result = cursor.position, plain
            if plain is PTR and cursor.accept("addrspace"):
                cursor.skip_balanced()
                result = IrType("ptr", f"ptr {cursor.slice(start, cursor.position)}", 64)
        elif token in ("[", "<", "{"):
            cursor.position -= 1
            result = self._composite(cursor)
        elif token[0] == "%":
            result = self._resolve(token)
        elif token[0] == "i" and token[1:].isdigit():
            result = IrType("int", token, int(token[1:]))
        elif token == "target":
            start = cursor.position - 1
            cursor.skip_balanced()
            result = IrType("opaque", cursor.slice(start, cursor.position))
        else:
            cursor.fail(f"expected a type, found '{token}'")
        if cursor.peek() == "*":
            raise UnsupportedIrError(
                "typed pointers (LLVM 14 and older) are not supported, expected 'ptr'",
                where=f"line {cursor.line + 1}",
                hint="recompile with clang 16 or later, or let the tool compile the source",
            )
        return result

    def read_function(self, cursor: Cursor, returns: IrType) -> IrType:
        """Read the parameter list of a function type that returns ``returns``; ``(`` is next.

        The result has kind ``function``, elements (return type, parameter types...) and a text that ends
        with ``...)`` when it is variadic.
        """
        start = cursor.position
        cursor.expect("(")
        parameters: list[IrType] = []
        while not cursor.accept(")"):
            if not cursor.accept("..."):
                parameters.append(self.read(cursor))
            cursor.accept(",")
        text = f"{returns.text} {cursor.slice(start, cursor.position)}"
        return IrType("function", text, 0, len(parameters), (returns, *parameters))

    def _resolve(self, name: str) -> IrType:
        known = self._named.get(name)
        if known is not None:
            return known
        if name not in self._bodies:
            raise IrError(f"expected a type definition for {name}, found none")
        text, line = self._bodies[name]
        body = self.read(Cursor(text, line))
        result = IrType(body.kind, name, body.bits, body.count, body.elements, body.packed)
        self._named[name] = result
        return result

    def _composite(self, cursor: Cursor) -> IrType:
        start = cursor.position
        opening = cursor.next()
        if opening == "{":
            fields = self._fields(cursor)
            return IrType("struct", cursor.slice(start, cursor.position), 0, len(fields), fields)
        if opening == "<" and cursor.accept("{"):
            fields = self._fields(cursor)
            cursor.expect(">")
            return IrType("struct", cursor.slice(start, cursor.position), 0, len(fields), fields, packed=True)
        count = cursor.next()
        if count == "vscale":
            raise UnsupportedIrError(
                "scalable vectors are not supported, expected a fixed number of elements",
                where=f"line {cursor.line + 1}",
                hint="compile without SVE or RVV code generation",
            )
        cursor.expect("x")
        element = self.read(cursor)
        cursor.expect("]" if opening == "[" else ">")
        kind = "array" if opening == "[" else "vector"
        return IrType(kind, cursor.slice(start, cursor.position), 0, int(count), (element,))

    def _fields(self, cursor: Cursor) -> tuple[IrType, ...]:
        fields: list[IrType] = []
        while not cursor.accept("}"):
            fields.append(self.read(cursor))
            cursor.accept(",")
        return tuple(fields)


def parse_type(text: str) -> IrType:
    """Read a type that refers to no named type, such as ``[4 x double]``; IrError if ``text`` is none."""
    return TypeReader().read(Cursor(text, 0))


@lru_cache(maxsize=4096)
def size_bytes(type_: IrType) -> int:
    """Return how many bytes a load or store of ``type_`` touches; UnsupportedIrError if it has no size."""
    if type_.kind in ("int", "float"):
        return (type_.bits + 7) // 8
    if type_.kind == "ptr":
        return 8
    if type_.kind == "vector":
        bits = 64 if type_.elements[0].kind == "ptr" else type_.elements[0].bits
        return (type_.count * bits + 7) // 8
    if type_.kind == "array":
        return type_.count * alloc_size_bytes(type_.elements[0])
    if type_.kind == "struct":
        return _struct_layout(type_)[1]
    raise UnsupportedIrError(f"expected a type with a size, found {type_.text}")


@lru_cache(maxsize=4096)
def alloc_size_bytes(type_: IrType) -> int:
    """Return the distance in bytes of consecutive array elements of ``type_``."""
    return round_up(size_bytes(type_), alignment_bytes(type_))


@lru_cache(maxsize=4096)
def row_strides(type_: IrType) -> tuple[int, ...]:
    """Return the bytes from each plane, then row to the next of an array of arrays; nothing for others."""
    found: list[int] = []
    while type_.kind == "array" and type_.elements[0].kind == "array":
        type_ = type_.elements[0]
        found.append(alloc_size_bytes(type_))
    return tuple(found)


def alignment_bytes(type_: IrType) -> int:
    """Return the ABI alignment of ``type_`` in bytes."""
    if type_.kind == "array":
        return alignment_bytes(type_.elements[0])
    if type_.kind == "struct":
        if type_.packed:
            return 1
        return max((alignment_bytes(f) for f in type_.elements), default=1)
    if type_.kind == "vector":
        return _power_of_two(size_bytes(type_))
    return min(_power_of_two(size_bytes(type_)), 16)


def field_offset_bytes(struct: IrType, index: int) -> int:
    """Return the offset in bytes of field ``index`` of a struct, or of an element of an array or vector."""
    if struct.kind == "struct":
        return _struct_layout(struct)[0][index]
    return index * alloc_size_bytes(struct.elements[0])


def address_steps(element: IrType, indices: Sequence[Operand]) -> Iterator[tuple[Operand, int, int]]:
    """Yield each index of a ``getelementptr``, what it counts in (bytes; 0: fields), and a field's offset."""
    at: IrType | None = None
    for operand in indices:
        if at is not None and at.kind == "struct":
            number = int(operand.text) if operand.text.isdigit() else 0
            yield operand, 0, field_offset_bytes(at, number)
            at = at.elements[number]
        else:
            at = element if at is None else at.elements[0]
            yield operand, alloc_size_bytes(at), 0


@lru_cache(maxsize=4096)
def _struct_layout(struct: IrType) -> tuple[tuple[int, ...], int]:
    offsets: list[int] = []
    end = 0
    for field in struct.elements:
        start = end if struct.packed else round_up(end, alignment_bytes(field))
        offsets.append(start)
        end = start + alloc_size_bytes(field)
    return tuple(offsets), round_up(end, alignment_bytes(struct))


def round_up(value: int, multiple: int) -> int:
    """The smallest multiple that is not less."""
    return -(-value // multiple) * multiple


def _power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length() if value > 0 else 1
