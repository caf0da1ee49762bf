"""Accessor declarations for a port of a kernel to SYCL with Celerity.

Celerity's built-in mappers need a kernel range with as many dimensions as the buffer; where these differ,
or an exact region is known that no built-in mapper grants, a function from chunk to subrange is written.
Extents are those of the analysed run.

Reference: Celerity documentation, *Range mappers* and *Common pitfalls*: written regions of different chunks
must not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from commanalyzer.kernels.tasks.graph import HOST, Kernel, RangeAccess, Task
from commanalyzer.kernels.tasks.mappers import Box

_ITEM = re.compile(r"item(\d)")
_Launch = tuple[Kernel, Box, tuple[RangeAccess, ...]]  # an execution: work items, accesses
# Words that arrays of a C program may be called by, and nothing here.
_WORDS = """
and and_eq asm bitand bitor bool catch celerity cgh char8_t char16_t char32_t chunk class compl concept
const_cast consteval constexpr constinit co_await co_return co_yield decltype delete dynamic_cast explicit
export false friend item mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public queue reinterpret_cast requires static_cast template this throw true try typeid typename
using virtual wchar_t xor xor_eq
"""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer of the port."""

    name: str  # of its variable
    shape: tuple[int, ...]


def celerity_text(kernels: Sequence[Kernel], tasks: Sequence[Task] = ()) -> str:
    """Submissions of kernels, without their bodies: one for each set of buffers among the ``tasks``.

    Without tasks, those of the first execution of each kernel. Buffers are described in the lines before.
    """
    runs = [(task.kernel, task.range, task.accesses) for task in tasks if task.kernel != HOST]
    launches: dict[object, list[_Launch]] = {}
    for number, extent, accesses in runs or [(k, own.range, own.accesses) for k, own in enumerate(kernels)]:
        if extent:
            key = number, frozenset((access.buffer, access.mode) for access in accesses)
            launches.setdefault(key, []).append((kernels[number], extent, accesses))
    shapes: dict[str, RangeAccess] = {}
    for access in chain.from_iterable(accesses for own in launches.values() for *_, accesses in own):
        if access.buffer not in shapes or len(access.shape) > len(shapes[access.buffer].shape):
            shapes[access.buffer] = access
    taken = set(_WORDS.split())
    buffers = {buffer: _Buffer(_unused(buffer, taken, "_buf"), own.shape) for buffer, own in shapes.items()}
    described = []
    for buffer, own in shapes.items():
        extents = " x ".join(map(str, own.shape))
        kind = f"celerity::buffer<T, {len(own.shape)}> of {extents}, T of {own.element_bytes} bytes"
        described.append(f"// {buffers[buffer].name}: {kind}")
    order = sorted(launches.values(), key=lambda own: kernels.index(own[0][0]))
    return "\n\n".join(["\n".join(described), *(_submission(own, buffers) for own in order)]) + "\n"


def _unused(buffer: str, taken: set[str], suffix: str = "") -> str:
    """A name in C++ for a buffer that is not taken, and is then."""
    word = re.sub(r"\W", "_", buffer)
    numbered = (f"{word}_{number}{suffix}" for number in count(2))
    name = next(text for text in chain([word + suffix], numbered) if text not in taken)
    taken.add(name)
    return name


def _submission(launches: Sequence[_Launch], buffers: Mapping[str, _Buffer]) -> str:
    kernel, extent, accesses = launches[0]
    dimensions = len(extent)
    lines = [f"// {kernel.name}, {kernel.place.file}:{kernel.place.line}"]
    if len(launches) < kernel.executions:
        lines[0] += f", {len(launches)} of {kernel.executions} launches"
    if any((other[1], other[2]) != (extent, accesses) for other in launches):
        lines.append("// Work items and mappers are those of the first launch: others have others.")
    if kernel.order == "ordered":
        lines.append("// Work items need results of others: no parallel_for until the loop is changed.")
    if kernel.order == "reduction":
        lines.append("// Work items are combined: add celerity::reduction for the result.")
    lines.append("queue.submit([&](celerity::handler& cgh) {")
    taken = set(_WORDS.split()) | {buffer.name for buffer in buffers.values()}
    for merged in _merged(accesses):
        buffer = buffers[merged[0].buffer]
        name = _unused(merged[0].buffer, taken)
        lines += [f"    {line}" for line in _accessor(merged, name, buffer, dimensions)]
    extents = ", ".join(str(end - first) for first, end in extent)
    arguments = f"celerity::range<{dimensions}>({extents})"
    if any(first for first, _ in extent):
        offset = ", ".join(str(first) for first, _ in extent)
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


def _accessor(accesses: tuple[RangeAccess, ...], name: str, buffer: _Buffer, dimensions: int) -> list[str]:
    access = accesses[-1]
    is_written = access.mode == "write"
    is_read = accesses[0].mode == "read"
    mode = "read_write" if is_read and is_written else "write_only" if is_written else "read_only"
    mapper, remark = _mapper(access, dimensions)
    options = f"celerity::{mode}"
    if len(access.shape) != len(buffer.shape):
        mapper, remark = "celerity::access::all{}", f"{access.mapper} of {access.shape[0]} elements in a row"
        remark += f", {buffer.name} has {len(buffer.shape)} dimensions: the loop needs as many"
    elif is_written and access.granted_bytes > access.touched_bytes:
        remark = "chunks write what others are granted, too: Celerity refuses overlapping writes"
    elif mode == "write_only":
        options += ", celerity::no_init"
    lines = [f"// {name}: {remark}"] if remark else []
    return [*lines, f"celerity::accessor {name}({buffer.name}, cgh, {mapper}, {options});"]


def _mapper(access: RangeAccess, dimensions: int) -> tuple[str, str]:
    """Expression of the mapper, and what is to be said about it."""
    kind = access.mapper.kind
    if kind == "irregular":
        return access.mapper.celerity, "irregular, the elements depend on data; all is safe"
    exact = _function(access, dimensions)
    if kind == "all" and exact and any(_ITEM.fullmatch(text) for text in access.index):
        return exact, "no built-in mapper grants so little"
    if kind in ("all", "fixed") or dimensions == len(access.shape):
        return access.mapper.celerity.replace("slice(", f"slice<{dimensions}>("), ""
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
