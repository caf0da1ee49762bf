"""Constants: operands and initializers as bytes, numbers or references to symbols.

A constant is read into a small value first (:class:`Constant`), because addresses of globals are known only
to whoever lays out memory: :func:`constant_bytes` asks a ``resolve`` callback for them.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.model import IrType, Operand
from commanalyzer.program.ir.parsing.instructions import read_operand
from commanalyzer.program.ir.types import Cursor, TypeReader, alloc_size_bytes, field_offset_bytes, size_bytes

Resolve = Callable[[str], int]
_FOLDABLE_CASTS = frozenset({"ptrtoint", "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast", "trunc"})
_FOLDABLE_BINARY: dict[str, Callable[[int, int], int]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "xor")
}
_FOLDABLE = frozenset({"getelementptr", *_FOLDABLE_CASTS, *_FOLDABLE_BINARY})
_FLAG_WORDS = frozenset({"inbounds", "nuw", "nusw", "nsw", "inrange", "exact"})
_ESCAPED = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class ConstantReader:
    """Evaluates constants of one module.

    ``resolve`` returns the address of a global or function by name (with its ``@``).
    """

    types: TypeReader
    resolve: Resolve

    def to_bytes(self, operand: Operand) -> bytes:
        """Return the memory image of a constant: ``size_bytes(operand.type)`` bytes.

        Raises UnsupportedIrError for constants that cannot be evaluated (``blockaddress``).
        """
        type_, text = operand.type, operand.text
        if text in ("zeroinitializer", "undef", "poison", "null", "none"):
            return bytes(size_bytes(type_))
        if type_.kind in ("int", "ptr"):
            width = size_bytes(type_)
            return (self.to_int(operand) & ((1 << (8 * width)) - 1)).to_bytes(width, "little")
        if type_.kind == "float":
            return float_constant_bytes(type_, text)
        return self._aggregate(type_, text)

    def to_int(self, operand: Operand) -> int:
        """Return an integer or pointer constant as an unsigned number of its width."""
        text = operand.text
        mask = (1 << (64 if operand.type.kind == "ptr" else operand.type.bits)) - 1
        if text[0] == "@":
            return self.resolve(text)
        if text in ("null", "zeroinitializer", "undef", "poison", "false", "none"):
            return 0
        if text == "true":
            return 1
        if text[:3] in ("s0x", "u0x"):
            return int(text[3:], 16) & mask
        if text[0] == "-" or text[0].isdigit():
            return int(text) & mask
        return self._expression(text) & mask

    def _aggregate(self, type_: IrType, text: str) -> bytes:
        if text[0] == "c":
            return unescaped(text[2:-1])
        cursor = Cursor(text, 0)
        if cursor.accept("splat"):
            cursor.expect("(")
            return self.to_bytes(read_operand(cursor, self.types)) * type_.count
        members: list[Operand] = []
        # "<{ ... }>" of packed structs has two brackets on either side.
        opening = cursor.next()
        if opening == "<":
            cursor.accept("{")
        while cursor.peek() not in ("]", "}", ">"):
            members.append(read_operand(cursor, self.types))
            cursor.accept(",")
        image = bytearray(size_bytes(type_))
        if type_.kind == "vector" and type_.elements[0].bits == 1:
            bits = sum(self.to_int(m) << i for i, m in enumerate(members))
            return bits.to_bytes(len(image), "little")
        for index, member in enumerate(members):
            start = field_offset_bytes(type_, index)
            data = self.to_bytes(member)
            image[start : start + len(data)] = data
        return bytes(image)

    def _expression(self, text: str) -> int:
        """Evaluate ``op flags (operands)`` of integer or pointer type."""
        cursor = Cursor(text, 0)
        operation = cursor.next()
        if operation in ("dso_local_equivalent", "no_cfi"):
            return self.resolve(cursor.next())
        if operation not in _FOLDABLE:
            raise UnsupportedIrError(f"expected a constant that can be evaluated, found '{text[:120]}'")
        while cursor.peek() in _FLAG_WORDS:
            cursor.next()
            if cursor.peek() == "(" and cursor.tokens[cursor.position - 1] == "inrange":
                cursor.skip_balanced()
        cursor.expect("(")
        if operation == "getelementptr":
            element = self.types.read(cursor)
            cursor.expect(",")
            operands = self._operands(cursor)
            indices = (signed(self.to_int(o), o.type.bits) for o in operands[1:])
            return self.to_int(operands[0]) + element_offset(element, indices)
        operands = self._operands(cursor)
        if operation in _FOLDABLE_CASTS:
            return self.to_int(operands[0])
        left, right = (self.to_int(o) for o in operands[:2])
        return _FOLDABLE_BINARY[operation](left, right)

    def _operands(self, cursor: Cursor) -> list[Operand]:
        operands = [read_operand(cursor, self.types)]
        while cursor.accept(","):
            operands.append(read_operand(cursor, self.types))
        return operands


def element_offset(element: IrType, indices: Iterable[int]) -> int:
    """Return the byte offset of ``getelementptr`` indices."""
    total = 0
    at: IrType | None = None
    for index in indices:
        if at is None:
            total, at = index * alloc_size_bytes(element), element
        elif at.kind == "struct":
            total += field_offset_bytes(at, index)
            at = at.elements[index]
        else:
            at = at.elements[0]
            total += index * alloc_size_bytes(at)
    return total


def signed(value: int, bits: int) -> int:
    """Return the two's complement value of an unsigned ``bits`` wide number."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a printed string or name; ``\xx`` are two hexadecimal digits, ``\\`` is one."""
    data = text.encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda m: b"\\" if m[1] == b"\\" else bytes((int(m[1], 16),)), data)


@lru_cache(maxsize=65536)
def float_constant_bytes(type_: IrType, text: str) -> bytes:
    """Return the memory image of a floating-point constant.

    Decimal text is exact for the type. ``0x`` with 16 digits holds a double (also for ``float``), ``0xH``
    and ``0xR`` 16 bits, ``0xK`` the 80 bits of ``x86_fp80``, ``0xL``/``0xM`` 128 bits. Raises
    UnsupportedIrError if the text is no constant of this type.
    """
    width = size_bytes(type_)
    if text[:3] in ("0xH", "0xR"):
        return int(text[3:], 16).to_bytes(2, "little")
    if text[:3] == "0xK":
        return int(text[3:], 16).to_bytes(10, "little")
    if text[:3] in ("0xL", "0xM"):
        # The low 64 bits are printed first.
        return int(text[3:19], 16).to_bytes(8, "little") + int(text[19:], 16).to_bytes(8, "little")
    if text[:2] == "0x":
        value: float = struct.unpack("<d", int(text[2:], 16).to_bytes(8, "little"))[0]
    else:
        value = float(text)
    form = "<e" if type_.text == "half" else {8: "<d", 4: "<f"}.get(width)
    if form is None:
        raise UnsupportedIrError(f"expected a {type_.text} constant, found '{text}'")
    return struct.pack(form, value)
