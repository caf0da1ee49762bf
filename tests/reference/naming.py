"""Names for vertices: the variable, allocation or register that each home belongs to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS_MASK
from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, ROW_TEMPORARY
from commanalyzer.instrument.fortran_names import fortran_name
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.graph import HomeKind, HomeObject
from tests.reference.homes import DenseWords, WordIndex

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]

BLOCK_HEADER_BYTES = 16  # of the first heap block of a site; offsets count from its payload


def name_homes(
    index: WordIndex, defining_rows: Int64, trace: Trace, sites: SiteTable
) -> tuple[Int32, Int64, tuple[HomeObject, ...]]:
    """Object and byte offset of every vertex, and the objects.

    Args:
        index: Memory vertices.
        defining_rows: Rows that define the other vertices (register values, lifetimes in workspaces), which
            follow the memory vertices.
        trace: Recording.
        sites: Sites and objects of the instrumented module.

    Returns:
        int32[V] object numbers, int64[V] byte offsets, objects. Register values of a site are one object.
    """
    names = _Names(sites)
    dense = index.dense
    word = dense.word(index.home)
    in_memory, offset = _places(names, dense, trace, word, dense.range_of(index.home))
    heads = trace.heads[defining_rows]
    in_workspace = (heads["flags"] & ROW_TEMPORARY) != 0
    named_object = np.zeros(len(heads), np.int64)
    named_offset = np.arange(len(heads), dtype=np.int64)
    named_object[~in_workspace] = names.registers(heads["site"][~in_workspace].astype(np.int64))
    slots, slot_of = np.unique(heads["sink"][in_workspace].astype(np.int64), return_inverse=True)
    objects, offsets = _places(names, dense, trace, slots, dense.range_of(dense.number(slots)))
    named_object[in_workspace], named_offset[in_workspace] = objects[slot_of], offsets[slot_of]
    return (
        np.concatenate([in_memory, named_object]).astype(np.int32),
        np.concatenate([offset, named_offset]),
        tuple(names.objects),
    )


def _places(
    names: _Names, dense: DenseWords, trace: Trace, word: Int64, ranges: Int64
) -> tuple[Int64, Int64]:
    """Object number and byte offset of words in increasing order, and the range of each."""
    object_of = np.zeros(len(word), np.int64)
    offset = word * 4
    first = np.flatnonzero(np.diff(ranges, prepend=-1))
    extents = np.asarray(trace.extents)
    ends = np.append(first, len(ranges))[1:]
    for begin, end in zip(first, ends, strict=True):  # one step per extent
        which = int(ranges[begin])
        if dense.extent[which] < 0:
            continue
        extent = extents[dense.extent[which]]
        start = (int(extent["start"]) & ADDRESS_MASK) >> 2
        within = (word[begin:end] - start) * 4 + int(extent["offset"])
        numbers, shifts = names.resolve(extent, within)
        object_of[begin:end] = numbers
        offset[begin:end] = within - shifts
    return object_of, offset


class _Names:
    """Numbers objects in order of first use."""

    def __init__(self, sites: SiteTable) -> None:
        self._sites = sites
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self.objects: list[HomeObject] = [HomeObject(HomeKind.UNKNOWN, "other memory")]

    def resolve(self, extent: np.void, within: Int64) -> tuple[Int64, Int64]:
        """Object numbers and their first byte, for byte offsets ``within`` an extent's object."""
        kind, number, depth = int(extent["kind"]), int(extent["object"]), int(extent["depth"])
        if kind == EXTENT_GLOBAL:
            record = self._sites.globals[number]
            found = self._number((kind, number, 0, 0), HomeKind.GLOBAL, record, record.size_bytes)
            return np.full(len(within), found), np.zeros(len(within), np.int64)
        if kind == EXTENT_HEAP:
            size = int(extent["offset"]) + int(extent["size"]) - BLOCK_HEADER_BYTES
            found = self._number((kind, number, 0, 0), HomeKind.HEAP, self._sites.allocations[number], size)
            return np.full(len(within), found), np.full(len(within), BLOCK_HEADER_BYTES)
        assert kind == EXTENT_STACK
        records = self._sites.frames[number]
        offsets = np.array([r.offset for r in records], dtype=np.int64)
        which = np.searchsorted(offsets, within, side="right") - 1
        numbers = np.array(
            [
                self._number((kind, number, i, depth), HomeKind.STACK, r, r.size_bytes, depth)
                for i, r in enumerate(records)
            ]
        )
        return numbers[which], offsets[which]

    def registers(self, site_numbers: Int64) -> Int64:
        """Object numbers of register values by their sites."""
        distinct, inverse = np.unique(site_numbers, return_inverse=True)
        numbers = []
        for site in distinct:
            record = self._sites.sites[int(site)]
            name = "return" if record.kind == "exit" else record.variable or "unnamed value"
            key = f"{record.function}/{record.result}"
            entry = ObjectRecord(key, name, record.function, record.place)
            numbers.append(self._number((0, int(site), 0, 0), HomeKind.REGISTER, entry, record.width_bytes))
        return np.array(numbers, dtype=np.int64)[inverse] if len(distinct) else np.zeros(0, np.int64)

    def _number(
        self, key: tuple[int, int, int, int], kind: HomeKind, record: ObjectRecord, size: int, depth: int = 0
    ) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.objects)
            name = record.name if depth == 0 else f"{record.name} (depth {depth})"
            place, function = record.place, fortran_name(record.function)
            self.objects.append(
                HomeObject(kind, name, function, place.file, place.line, size, record.key, depth)
            )
        elif size > self.objects[number].size_bytes:
            self.objects[number] = replace(self.objects[number], size_bytes=size)
        return number
