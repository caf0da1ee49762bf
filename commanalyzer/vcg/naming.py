"""Names for vertices: the variable, allocation or register that each home belongs to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS_MASK
from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK
from commanalyzer.instrument.fortran_names import fortran_name
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.graph import HomeKind, HomeObject
from commanalyzer.vcg.homes import Ranges

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]

BLOCK_HEADER_BYTES = 16  # of the first heap block of a site; offsets count from its payload


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


def name_defined(
    names: Names, ranges: Ranges, trace: Trace, sites: Int64, slots: Int64
) -> tuple[Int64, Int64]:
    """Object and byte offset of vertices that rows define. Register values of a site are one object.

    Args:
        names: Objects so far; new ones are added.
        ranges: Dense numbering.
        trace: Recording.
        sites: int64[n], site of each vertex.
        slots: int64[n], the word of a workspace that it is a lifetime of, -1 for register values.

    Returns:
        int64[n] object numbers, int64[n] byte offsets; register values are numbered instead.
    """
    in_workspace = slots >= 0
    object_of = np.zeros(len(sites), np.int64)
    offset = np.arange(len(sites), dtype=np.int64)
    object_of[~in_workspace] = names.registers(sites[~in_workspace])
    words, slot_of = distinct(ranges.number(slots[in_workspace]), ranges.size)
    objects, offsets = name_homes(names, ranges, trace, words)
    object_of[in_workspace], offset[in_workspace] = objects[slot_of], offsets[slot_of]
    return object_of, offset


def distinct(numbers: Int64, limit: int) -> tuple[Int64, Int32]:
    """Return the distinct numbers, in [0, ``limit``), in ascending order, and the place of each in them."""
    place = np.zeros(limit, np.int32)
    place[numbers] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[numbers]


class Names:
    """Numbers objects in order of first use."""

    def __init__(self, sites: SiteTable) -> None:
        self._sites = sites
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self.objects: list[HomeObject] = [HomeObject(HomeKind.UNKNOWN, "other memory")]

    def resolve(self, extent: np.void, within: Int64) -> tuple[Int64 | int, Int64 | int]:
        """Object numbers and their first byte, for byte offsets ``within`` an extent's object.

        One number for all where the extent is one object.
        """
        kind, number, depth = int(extent["kind"]), int(extent["object"]), int(extent["depth"])
        if kind == EXTENT_GLOBAL:
            record = self._sites.globals[number]
            found = self._number((kind, number, 0, 0), HomeKind.GLOBAL, record, record.size_bytes)
            return found, 0
        if kind == EXTENT_HEAP:
            size = int(extent["offset"]) + int(extent["size"]) - BLOCK_HEADER_BYTES
            found = self._number((kind, number, 0, 0), HomeKind.HEAP, self._sites.allocations[number], size)
            return found, BLOCK_HEADER_BYTES
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
        sites, inverse = distinct(site_numbers, len(self._sites.sites))
        numbers = []
        for site in sites:
            record = self._sites.sites[int(site)]
            name = "return" if record.kind == "exit" else record.variable or "unnamed value"
            key = f"{record.function}/{record.result}"
            entry = ObjectRecord(key, name, record.function, record.place)
            numbers.append(self._number((0, int(site), 0, 0), HomeKind.REGISTER, entry, record.width_bytes))
        return np.array(numbers, dtype=np.int64)[inverse]

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
