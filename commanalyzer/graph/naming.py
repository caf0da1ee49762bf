"""Names for vertices: the variable, allocation or register that each home belongs to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.graph.allocations import Allocations
from commanalyzer.graph.homes import Ranges
from commanalyzer.graph.parts import parts_of
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from commanalyzer.program.ir.names.symbol_names import source_name
from commanalyzer.recording.abi.hooks import ADDRESS_MASK
from commanalyzer.recording.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.recording.trace import Trace

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

_NO_END = 1 << 62
_ELEMENT_BYTES = 8


def name_homes(names: Names, ranges: Ranges, trace: Trace, dense: Int64) -> tuple[Int64, Int64]:
    """Object and byte offset of words.

    Args:
        names: Objects so far; new ones are added.
        ranges: Dense numbering.
        trace: Recording.
        dense: int64[n], dense numbers of the words, increasing.

    Returns:
        int64[n] object numbers, int64[n] byte offsets.
    """
    object_of, offset = np.zeros(len(dense), np.int64), np.empty(len(dense), np.int64)
    bounds = np.append(np.searchsorted(dense, ranges.base), len(dense))
    for which in np.flatnonzero(np.diff(bounds)).tolist():  # one step per extent
        here = slice(bounds[which], bounds[which + 1])
        shift = int(ranges.starts[which] - ranges.base[which])
        number = int(ranges.extent[which])
        if number < 0:
            offset[here] = (dense[here] + shift) * 4
            continue
        extent = trace.extents[number]
        shift -= (int(extent["start"]) & ADDRESS_MASK) >> 2
        within = offset[here]
        np.multiply(dense[here], 4, out=within)
        within += 4 * shift + int(extent["offset"])
        numbers, shifts = names.resolve(extent, within)
        object_of[here] = numbers
        within -= shifts
    return object_of, offset


class Names:
    """Numbers objects in order of first use."""

    def __init__(self, sites: SiteTable, trace: Trace, tables: Tables) -> None:
        self._sites = sites
        self._allocations = Allocations(sites.allocations, trace)
        self._parts = parts_of(sites, trace, self._allocations, tables)
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self.objects: list[HomeObject] = [HomeObject(HomeKind.UNKNOWN, "other memory")]

    def resolve(self, extent: np.void, within: Int64) -> tuple[Int64 | int, Int64 | int]:
        """Object numbers and their first byte, for byte offsets ``within`` an extent's object.

        One number for all where the extent is one object.
        """
        kind, number = int(extent["kind"]), int(extent["object"])
        parts = self._parts.get((kind, number), ())
        if not parts:
            return self._of_whole(extent, within)
        starts = np.array([part.offset for part in parts])
        sizes = np.array([part.size_bytes or _NO_END for part in parts])
        which = np.searchsorted(starts, within, side="right") - 1
        which[within >= starts[which] + sizes[which]] = -1
        numbers, shifts = np.empty(len(within), np.int64), np.empty(len(within), np.int64)
        for n in np.unique(which).tolist():  # one step per array
            here = which == n
            if n < 0:
                numbers[here], shifts[here] = self._of_whole(extent, within[here])
                continue
            home = HomeKind.HEAP if kind == EXTENT_HEAP else HomeKind.GLOBAL
            size = parts[n].size_bytes or int(within[here].max()) + _ELEMENT_BYTES - parts[n].offset
            numbers[here] = self._number((kind, number, -1 - n, 0), home, parts[n], size)
            shifts[here] = parts[n].offset
        return numbers, shifts

    def _of_whole(self, extent: np.void, within: Int64) -> tuple[Int64 | int, Int64 | int]:
        """The same for objects that no arrays lie in."""
        kind, number, depth = int(extent["kind"]), int(extent["object"]), int(extent["depth"])
        if kind == EXTENT_GLOBAL:
            record = self._sites.globals[number]
            return self._number((kind, number, 0, 0), HomeKind.GLOBAL, record, record.size_bytes), 0
        if kind == EXTENT_HEAP:
            return self._of_heap(number, within, int(extent["offset"]) + int(extent["size"]))
        assert kind == EXTENT_STACK
        records = self._sites.frames[number]
        offsets = np.array([r.offset for r in records], dtype=np.int64)
        which = np.searchsorted(offsets, within, side="right") - 1
        size = int(extent["size"])  # of arrays of variable length
        numbers = np.array(
            [
                self._number((kind, number, i, depth), HomeKind.STACK, r, r.size_bytes or size, depth)
                for i, r in enumerate(records)
            ]
        )
        return numbers[which], offsets[which]

    def _of_heap(self, path: int, within: Int64, end: int) -> tuple[Int64 | int, Int64 | int]:
        """The same for blocks that a path of calls allocates; ``end`` is the end of the extent."""
        layout = self._allocations.layout(path)
        starts = np.array(layout.starts, np.int64)
        which = np.maximum(np.searchsorted(starts, within, side="right") - 1, 0)
        numbers = np.zeros(len(starts), np.int64)
        for block in np.unique(which).tolist():  # one step per array
            known, size = (EXTENT_HEAP, path, block, 0), layout.sizes[block] or end - layout.starts[block]
            numbers[block] = self._number(known, HomeKind.HEAP, self._allocations.record(path, block), size)
        return numbers[which], starts[which]

    def registers(self, is_register: Bool) -> Int64:
        """int64[sites], object numbers of the register values of sites, 0 for others."""
        result = np.zeros(len(is_register), np.int64)
        for site in np.flatnonzero(is_register).tolist():
            record = self._sites.sites[site]
            name = "return" if record.kind == "exit" else record.variable or "unnamed value"
            key = f"{record.function}/{record.result}"
            entry = ObjectRecord(key, name, record.function, record.place)
            result[site] = self._number((0, site, 0, 0), HomeKind.REGISTER, entry, record.width_bytes)
        return result

    def _number(
        self, key: tuple[int, int, int, int], kind: HomeKind, record: ObjectRecord, size: int, depth: int = 0
    ) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.objects)
            name = record.name if depth == 0 else f"{record.name} (depth {depth})"
            place, function = record.place, source_name(record.function)
            self.objects.append(
                HomeObject(
                    *(kind, name, function, place.file, place.line, size, record.key, depth, record.strides)
                )
            )
        elif size > self.objects[number].size_bytes:
            self.objects[number] = replace(self.objects[number], size_bytes=size)
        return number
