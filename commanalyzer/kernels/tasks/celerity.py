"""Accessor declarations for a port of a kernel to SYCL with Celerity.

Celerity's built-in mappers need a kernel range with as many dimensions as the buffer; where these differ,
or an exact region is known that no built-in mapper grants, a function from chunk to subrange is written.
Extents are those of the analysed run.

Reference: Celerity documentation, *Range mappers* and *Common pitfalls*: written regions of different chunks
must not overlap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from commanalyzer.kernels.tasks.graph import Kernel, RangeAccess

_ITEM = re.compile(r"item(\d)")


def celerity_text(kernels: Sequence[Kernel]) -> str:
    """Submissions of kernels, without their bodies."""
    return "\n\n".join(_submission(kernel) for kernel in kernels if kernel.range) + "\n"


def _submission(kernel: Kernel) -> str:
    dimensions = len(kernel.range)
    lines = [f"// {kernel.name}, {kernel.place.file}:{kernel.place.line}"]
    if kernel.order == "ordered":
        lines.append("// Work items need results of others: no parallel_for until the loop is changed.")
    if kernel.order == "reduction":
        lines.append("// Work items are combined: add celerity::reduction for the result.")
    lines.append("queue.submit([&](celerity::handler& cgh) {")
    taken: Counter[str] = Counter()
    for accesses in _merged(kernel.accesses):
        buffer = re.sub(r"\W", "_", accesses[0].buffer)
        taken[buffer] += 1
        name = f"{buffer}_{taken[buffer]}" if taken[buffer] > 1 else buffer
        lines += [f"    {line}" for line in _accessor(accesses, name, buffer, dimensions)]
    extents = ", ".join(str(end - first) for first, end in kernel.range)
    arguments = f"celerity::range<{dimensions}>({extents})"
    if any(first for first, _ in kernel.range):
        offset = ", ".join(str(first) for first, _ in kernel.range)
        arguments += f", celerity::id<{dimensions}>({offset})"
    lines += [
        f"    cgh.parallel_for({arguments}, [=](celerity::item<{dimensions}> item) {{",
        "        // body of the loop",
        "    });",
        "});",
    ]
    return "\n".join(lines)


def _merged(accesses: Sequence[RangeAccess]) -> list[tuple[RangeAccess, ...]]:
    """Reads and writes of a buffer with the same mapper make one accessor."""
    result: list[tuple[RangeAccess, ...]] = []
    writes = [access for access in accesses if access.mode == "write"]
    for access in accesses:
        if access.mode == "read":
            same = [w for w in writes if (w.buffer, w.mapper) == (access.buffer, access.mapper)]
            result.append((access, *same))
            writes = [w for w in writes if w not in same]
    return result + [(write,) for write in writes]


def _accessor(accesses: tuple[RangeAccess, ...], name: str, buffer: str, dimensions: int) -> list[str]:
    access = accesses[-1]
    is_written = access.mode == "write"
    is_read = accesses[0].mode == "read"
    mode = "read_write" if is_read and is_written else "write_only" if is_written else "read_only"
    mapper, remark = _mapper(access, dimensions)
    options = f"celerity::{mode}"
    if is_written and access.granted_bytes > access.touched_bytes:
        remark = "chunks write what others are granted, too: Celerity refuses overlapping writes"
    elif mode == "write_only":
        options += ", celerity::no_init"
    lines = [f"// {name}: {remark}"] if remark else []
    return [*lines, f"celerity::accessor {name}({buffer}_buf, cgh, {mapper}, {options});"]


def _mapper(access: RangeAccess, dimensions: int) -> tuple[str, str]:
    """Expression of the mapper, and what is to be said about it."""
    kind = access.mapper.kind
    if kind == "irregular":
        return access.mapper.celerity, "irregular, the elements depend on data; all is safe"
    exact = _function(access, dimensions)
    if kind == "all" and exact and any(_ITEM.fullmatch(text) for text in access.index):
        return exact, "no built-in mapper grants so little"
    if kind in ("all", "fixed") or dimensions == len(access.shape):
        return access.mapper.celerity, ""
    if exact:
        return exact, f"{access.mapper}, for a range of another dimension"
    return "celerity::access::all{}", f"{access.mapper}, for a range of another dimension; all is safe"


def _function(access: RangeAccess, dimensions: int) -> str:
    """A function from chunk to subrange, if each index is an item's, a number, or anything."""
    offsets, ranges = [], []
    for text, extent in zip(access.index, access.shape, strict=True):
        item = _ITEM.fullmatch(text)
        if item:
            offsets.append(f"chunk.offset[{item[1]}]")
            ranges.append(f"chunk.range[{item[1]}]")
        elif text == "*" or text.isdigit():
            offsets.append("0" if text == "*" else text)
            ranges.append(str(extent) if text == "*" else "1")
        else:
            return ""
    buffer = len(access.shape)
    region = f"{{{{{', '.join(offsets)}}}, {{{', '.join(ranges)}}}}}"
    return f"[](celerity::chunk<{dimensions}> chunk) -> celerity::subrange<{buffer}> {{ return {region}; }}"
