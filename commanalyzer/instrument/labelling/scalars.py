"""Scalars inside IR types and the widths of their values."""

from __future__ import annotations

from commanalyzer.ir.model import IrType
from commanalyzer.ir.types import field_offset_bytes, size_bytes


def scalar_leaves(type_: IrType, offset: int = 0) -> list[tuple[IrType, int]]:
    """Scalars inside ``type_`` with their byte offsets."""
    if type_.kind in ("vector", "array"):
        inner = type_.elements[0]
        step = size_bytes(inner) if type_.kind == "vector" else field_offset_bytes(type_, 1)
        return [leaf for i in range(type_.count) for leaf in scalar_leaves(inner, offset + i * step)]
    if type_.kind == "struct":
        return [
            leaf
            for i, field in enumerate(type_.elements)
            for leaf in scalar_leaves(field, offset + field_offset_bytes(type_, i))
        ]
    return [(type_, offset)]


def value_width(type_: IrType) -> int:
    """Width in bytes of a value of scalar ``type_``: whole words, 16 for ``long double``."""
    size = size_bytes(type_)
    return 16 if type_.text == "x86_fp80" else max(4, (size + 3) // 4 * 4)
