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
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import count

from commanalyzer.kernels.tasks.graph import HOST, Kernel, RangeAccess, Task
from commanalyzer.kernels.tasks.mappers import Box

_ITEM = re.compile(r"item(\d)")
_Launch = tuple[Kernel, Box, tuple[RangeAccess, ...]]  # an execution: work items, accesses


def celerity_text(kernels: Sequence[Kernel], tasks: Sequence[Task] = ()) -> str:
    """Submissions of kernels, without their bodies: one for each set of buffers among the ``tasks``.

    Without tasks, those of the first execution of each kernel. Buffers are described in the lines before.
    """
    runs = [(task.kernel, task.range, task.accesses) for task in tasks if task.kernel != HOST]
    launches: dict[tuple[int, Set[object]], list[_Launch]] = {}
    for number, extent, accesses in runs or [(k, own.range, own.accesses) for k, own in enumerate(kernels)]:
        if extent:
            key = number, frozenset((access.buffer, access.mode) for access in accesses)
            launches.setdefault(key, []).append((kernels[number], extent, accesses))
    order = [launches[key] for key in sorted(launches, key=lambda key: key[0])]
    buffers: dict[str, RangeAccess] = {}  # seen with the most dimensions
    for access in (access for own in order for *_, accesses in own for access in accesses):
        if access.buffer not in buffers or len(access.shape) > len(buffers[access.buffer].shape):
            buffers[access.buffer] = access
    called = _identifiers(buffers)
    described = "\n".join(
        f"// {called[name]}_buf: celerity::buffer<T, {len(own.shape)}> of {' x '.join(map(str, own.shape))}, "
        f"T of {own.element_bytes} bytes: {name}"
        for name, own in buffers.items()
    )
    return "\n\n".join([described, *(_submission(own, buffers, called) for own in order)]) + "\n"


def _identifiers(buffers: Iterable[str]) -> dict[str, str]:
    """Beginnings of names in C++, all different: ``new_buf`` is no word of it; ``__`` is reserved."""
    result: dict[str, str] = {}
    for name in buffers:
        member = re.split(r"\.|%|::", re.sub(r" \(.*\)|#\d+", "", name))[-1]
        begin = re.sub(r"[\W_]+", "_", member).strip("_") or "memory"
        numbered = (f"{begin}_{number}" if number > 1 else begin for number in count(1))
        result[name] = next(text for text in numbered if text not in result.values())
    return result


def _submission(
    launches: Sequence[_Launch], buffers: Mapping[str, RangeAccess], called: Mapping[str, str]
) -> str:
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
    taken: Counter[str] = Counter()
    for merged in _merged(accesses):
        buffer = merged[0].buffer
        taken[buffer] += 1
        number = f"_{taken[buffer]}" if taken[buffer] > 1 else ""
        name = called[buffer]
        declared = _accessor(merged, f"{name}_acc{number}", name, buffers[buffer].shape, dimensions)
        lines += [f"    {line}" for line in declared]
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


def _accessor(
    accesses: tuple[RangeAccess, ...], name: str, buffer: str, shape: Sequence[int], dimensions: int
) -> list[str]:
    access = accesses[-1]
    is_written = access.mode == "write"
    is_read = accesses[0].mode == "read"
    mode = "read_write" if is_read and is_written else "write_only" if is_written else "read_only"
    mapper, remark = _mapper(access, dimensions)
    options = f"celerity::{mode}"
    if len(access.shape) != len(shape):
        mapper, remark = "celerity::access::all{}", f"{access.mapper} of {access.shape[0]} elements in a row"
        remark += f", the buffer has {len(shape)} dimensions: the loop needs as many"
    elif is_written and access.granted_bytes > access.touched_bytes:
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
