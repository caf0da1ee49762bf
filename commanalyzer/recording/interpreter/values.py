"""Homes, chains, labels and register contents of the interpreter.

Labels are the sources of a register value (paper Section 3.1, the dynamic slice walked back to loads): a
mapping from home to role. Label mappings are shared between registers and never changed in place.

Conversion between register data and memory images.

``x86_fp80`` is held as numpy long double, which is the same format on x86-64.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.model import IrType
from commanalyzer.program.ir.types import field_offset_bytes, size_bytes


class Home(NamedTuple):
    """Where a value lives."""

    kind: str  # ``global``, ``heap``, ``stack`` or ``exit``; ``constant``: a literal, which is no source
    object: str  # ``@variable``, ``@function/%register`` of the allocating instruction, or ``return``
    depth: int  # recursion depth of the function for ``stack`` (0: outermost live activation), otherwise 0
    offset_bytes: int  # of the 4-byte word in the object; in the arena of the allocation site for ``heap``

    def __str__(self) -> str:
        depth = f"#{self.depth}" if self.depth else ""
        return f"{self.object}{depth}+{self.offset_bytes}"


class Chain(NamedTuple):
    """A value-flow chain (paper Definition 4.1): a new version of ``sink`` was computed from ``sources``.

    These are homes and roles; the sink itself is one when its previous version was read.
    """

    sink: Home
    sources: frozenset[tuple[Home, SourceRole]]


EXIT_HOME = Home("exit", "return", 0, 0)
Labels = Mapping[Home, SourceRole]
NO_LABELS: Labels = {}
Data: TypeAlias = "int | float | tuple[Data, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One executed instruction of a recorded slice, numbered in program order."""

    order: int
    function: str
    line_index: int  # index of its line in the module
    value: Data
    homes: tuple[Home, ...]  # for a load: where the loaded value lives (its sources)
    parents: tuple[Step, ...]  # steps that made the operands, in operand order


class Value(NamedTuple):
    """Contents of a register."""

    # integers and pointers as unsigned numbers, floating-point numbers (``x86_fp80`` as numpy long double),
    # tuples for vectors, arrays and structs
    data: Data
    labels: Labels = NO_LABELS  # sources
    # homes of the words whose value this is an exact copy of, otherwise ``None``
    exact: tuple[Home, ...] | None = None
    step: Step | None = None  # how it was computed, only when a slice is recorded


def as_int(data: Data) -> int:
    """Return scalar integer or pointer data."""
    return cast(int, data)


def as_float(data: Data) -> float:
    """Return scalar floating-point data."""
    return cast(float, data)


def lanes(data: Data) -> tuple[Data, ...]:
    """Return vector, array or struct data."""
    return cast("tuple[Data, ...]", data)


def union(a: Labels, b: Labels) -> Labels:
    """Return all sources; the stronger role (DATA before CONTROL before ADDRESS) wins."""
    if not b or a is b:
        return a
    if not a:
        return b
    merged = dict(a)
    for home, role in b.items():
        known = merged.get(home)
        if known is None or role < known:
            merged[home] = role
    return merged


def with_role(labels: Labels, role: SourceRole) -> Labels:
    """Return ``labels`` with every role replaced by ``role``."""
    return dict.fromkeys(labels, role) if labels else labels


_FLOAT_FORMATS = {"half": "<e", "float": "<f", "double": "<d"}


def long_double(value: float) -> float:
    """Return ``value`` as an x86 extended number (a numpy long double, typed as float)."""
    return cast(float, np.longdouble(value))


def member_types(type_: IrType) -> tuple[IrType, ...]:
    """Return the type of every member of a vector, array or struct."""
    return type_.elements if type_.kind == "struct" else type_.elements * type_.count


def zero(type_: IrType) -> Data:
    """Return the all-zero value, also used for undef and poison."""
    if type_.kind in ("int", "ptr"):
        return 0
    if type_.kind == "float":
        return long_double(0.0) if type_.text == "x86_fp80" else 0.0
    return tuple(zero(member) for member in member_types(type_))


def decode(type_: IrType, image: bytes | bytearray | memoryview) -> Data:
    """Return the data of ``type_`` whose memory image is ``image`` (``size_bytes`` long).

    Raises UnsupportedIrError for 128-bit floating point.
    """
    if type_.kind == "ptr":
        return int.from_bytes(image, "little")
    if type_.kind == "int":
        return int.from_bytes(image, "little") & ((1 << type_.bits) - 1)
    if type_.kind == "float":
        return _decode_float(type_, image)
    if type_.kind == "vector" and type_.elements[0].bits == 1:
        bits = int.from_bytes(image, "little")
        return tuple(bits >> i & 1 for i in range(type_.count))
    result: list[Data] = []
    for index, member in enumerate(member_types(type_)):
        start = field_offset_bytes(type_, index)
        result.append(decode(member, image[start : start + size_bytes(member)]))
    return tuple(result)


def encode(type_: IrType, data: Data) -> bytes:
    """Return the memory image of ``data``; padding is zero. UnsupportedIrError for 128-bit floating point."""
    if type_.kind in ("ptr", "int"):
        return as_int(data).to_bytes(size_bytes(type_), "little")
    if type_.kind == "float":
        return _encode_float(type_, as_float(data))
    if type_.kind == "vector" and type_.elements[0].bits == 1:
        bits = sum(as_int(lane) << i for i, lane in enumerate(lanes(data)))
        return bits.to_bytes(size_bytes(type_), "little")
    image = bytearray(size_bytes(type_))
    for index, (member, value) in enumerate(zip(member_types(type_), lanes(data), strict=True)):
        start = field_offset_bytes(type_, index)
        image[start : start + size_bytes(member)] = encode(member, value)
    return bytes(image)


def round_to(type_: IrType, value: float) -> float:
    """Return ``value`` rounded to a floating-point type."""
    if type_.text == "double":
        return float(value)
    if type_.text == "x86_fp80":
        return long_double(value)
    return as_float(_decode_float(type_, _encode_float(type_, value)))


def _decode_float(type_: IrType, image: bytes | bytearray | memoryview) -> Data:
    if type_.text == "x86_fp80":
        padded = bytes(image[:10]) + bytes(6)
        return cast(float, np.frombuffer(padded, dtype=np.longdouble)[0])
    return cast(float, struct.unpack(_format(type_), image)[0])


def _encode_float(type_: IrType, value: float) -> bytes:
    if type_.text == "x86_fp80":
        return np.longdouble(value).tobytes()[:10]
    try:
        return struct.pack(_format(type_), value)
    except OverflowError:
        # struct refuses what IEEE 754 rounds to infinity.
        return struct.pack(_format(type_), float("inf") if value > 0 else float("-inf"))


def _format(type_: IrType) -> str:
    known = _FLOAT_FORMATS.get(type_.text)
    if known is None:
        raise UnsupportedIrError(
            f"expected half, float, double or x86_fp80, found {type_.text}",
            hint="the interpreter does not compute with 128-bit or bfloat numbers",
        )
    return known
