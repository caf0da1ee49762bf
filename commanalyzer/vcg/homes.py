"""Home vertices: which labels are the same place, what that place is called.

Input: labels of a trace. Output: :class:`HomeTable`, a vertex number for every label and names for vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS_MASK, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.graph import HomeKind, HomeObject

UInt64 = NDArray[np.uint64]
Int64 = NDArray[np.int64]

_BLOCK_HEADER_BYTES = 16  # of the first heap block of a site; offsets count from its payload


@dataclass(frozen=True, slots=True)
class HomeTable:
    """Vertices: memory homes by address, then register values by defining row.

    Attributes:
        words: uint64[M], sorted words of the memory vertices.
        register_rows: int64[N], sorted rows that define a register value; vertex M + i.
    """

    words: UInt64
    register_rows: Int64

    @property
    def num_vertices(self) -> int:
        """Memory and register vertices."""
        return len(self.words) + len(self.register_rows)

    def vertices_of_labels(self, label: UInt64, base: UInt64) -> Int64:
        """int64[len(label)], vertex of each label; ``base`` are the labels' words after aliasing."""
        is_register = (label & np.uint64(REGISTER)) != 0
        rows = (label & np.uint64(WORD_MASK)).astype(np.int64)
        result = np.searchsorted(self.words, base).astype(np.int64)
        if is_register.any():
            result[is_register] = len(self.words) + np.searchsorted(self.register_rows, rows[is_register])
        return result


def alias_words(words: UInt64, sink_words: UInt64, sink_width_bytes: Int64) -> UInt64:
    """Words with those that are an inner part of a wider value replaced by the value's first word.

    Args:
        words: Words to resolve.
        sink_words: Sorted, distinct words that values were stored to.
        sink_width_bytes: Width of the widest value stored to each of them.
    """
    result = words.copy()
    if not len(sink_words):
        return result
    is_sink = _contains(sink_words, words)
    for distance in (1, 2, 3):
        base = words - np.uint64(distance)
        at = np.minimum(np.searchsorted(sink_words, base), len(sink_words) - 1)
        covered = (
            (sink_words[at] == base) & (sink_width_bytes[at] > 4 * distance) & ~is_sink & (result == words)
        )
        result[covered] = base[covered]
    return result


def _contains(sorted_words: UInt64, words: UInt64) -> NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(sorted_words, words), len(sorted_words) - 1)
    return np.asarray(sorted_words[at] == words)


def name_homes(
    homes: HomeTable, trace: Trace, sites: SiteTable
) -> tuple[NDArray[np.int32], Int64, tuple[HomeObject, ...]]:
    """Object and byte offset of every vertex, and the objects.

    Returns:
        int32[V] object numbers, int64[V] byte offsets, objects. Register values of a site are one object.
    """
    address = (homes.words << np.uint64(2)).astype(np.int64)
    names = _Names(sites)
    object_of = np.full(len(address), names.unknown, dtype=np.int64)
    offset = address.copy()
    extents = np.asarray(trace.extents)
    if len(extents):
        starts = (extents["start"] & np.uint64(ADDRESS_MASK)).astype(np.int64)
        order = np.argsort(starts, kind="stable")
        extents, starts = extents[order], starts[order]
        which = np.searchsorted(starts, address, side="right") - 1
        inside = (which >= 0) & (address < starts[which] + extents["size"][which].astype(np.int64))
        within = address - starts[which] + extents["offset"][which].astype(np.int64)
        for number in np.unique(which[inside]):  # one step per extent, not per value
            chosen = np.flatnonzero(inside & (which == number)) if len(extents) < 64 else None
            if chosen is None:
                first, last = np.searchsorted(which, [number, number + 1])
                chosen = np.arange(first, last)[inside[first:last]]
            objects, shifts = names.resolve(extents[number], within[chosen])
            object_of[chosen] = objects
            offset[chosen] = within[chosen] - shifts
    register_sites = trace.heads["site"][homes.register_rows].astype(np.int64)
    register_objects = names.registers(register_sites)
    index = np.arange(len(register_sites), dtype=np.int64)
    return (
        np.concatenate([object_of, register_objects]).astype(np.int32),
        np.concatenate([offset, index]),
        tuple(names.objects),
    )


class _Names:
    """Numbers objects in order of first use."""

    def __init__(self, sites: SiteTable) -> None:
        self._sites = sites
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self.objects: list[HomeObject] = [HomeObject(HomeKind.UNKNOWN, "other memory")]
        self.unknown = 0

    def resolve(self, extent: np.void, within: Int64) -> tuple[Int64, Int64]:
        """Object numbers and their first byte for byte offsets ``within`` an extent's object."""
        kind, number, depth = int(extent["kind"]), int(extent["object"]), int(extent["depth"])
        if kind == EXTENT_GLOBAL:
            record = self._sites.globals[number]
            found = self._number((kind, number, 0, 0), HomeKind.GLOBAL, record, record.size_bytes)
            return np.full(len(within), found), np.zeros(len(within), np.int64)
        if kind == EXTENT_HEAP:
            size = int(extent["offset"]) + int(within.max(initial=0)) + 4 - _BLOCK_HEADER_BYTES
            found = self._number((kind, number, 0, 0), HomeKind.HEAP, self._sites.allocations[number], size)
            return np.full(len(within), found), np.full(len(within), _BLOCK_HEADER_BYTES)
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
            name = "return" if record.kind == "exit" else record.result.lstrip("%")
            entry = ObjectRecord(f"{record.function}/{record.result}", name, record.function, record.place)
            numbers.append(self._number((0, int(site), 0, 0), HomeKind.REGISTER, entry, record.width_bytes))
        return np.array(numbers, dtype=np.int64)[inverse] if len(distinct) else np.zeros(0, np.int64)

    def _number(
        self, key: tuple[int, int, int, int], kind: HomeKind, record: ObjectRecord, size: int, depth: int = 0
    ) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.objects)
            name = record.name if depth == 0 else f"{record.name} (depth {depth})"
            place = record.place
            self.objects.append(
                HomeObject(
                    kind, name, record.function.lstrip("@"), place.file, place.line, size, record.key, depth
                )
            )
        elif kind is HomeKind.HEAP and size > self.objects[self._numbers[key]].size_bytes:
            number = self._numbers[key]
            self.objects[number] = replace(self.objects[number], size_bytes=size)
        return self._numbers[key]
