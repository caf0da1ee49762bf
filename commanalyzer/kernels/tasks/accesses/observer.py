"""Writes down every access of an interpreted run with the iterations that it lies in.

In: a run of the interpreter. Out: :class:`AccessLog`, columns over accesses, places and objects. The flows
and counts of :class:`~commanalyzer.kernels.patterns.flows.FlowObserver` are collected, too; loops are judged
by these.

Compilers turn loops that fill or copy into ``memset`` and ``memcpy``. Such a call is written down as the loop
that it was: an iteration per element.

Words of the accesses of a run: which write each read got its value from.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.kernels.patterns.flows import CodeSite, FlowObserver, RunPlace
from commanalyzer.program.frontend.regions import BEGIN, END
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.interpreter.activation import Frame
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.memory import Segment

BLOCK = "block"
"""Name of the site of a call that fills or copies memory; no label of a block has it."""

_BLOCK_CALLS = re.compile(r"@(?:llvm\.)?mem(?:set|cpy|move)\b")
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """A variable or allocated block."""

    name: str  # as the interpreter names it: ``@global``, ``function/%register``
    start: int  # address of its first byte
    size_bytes: int
    is_constant: bool  # nothing may be stored into it


@dataclass(frozen=True, slots=True)
class AccessLog:
    """All accesses of a run, in order."""

    address: Ints  # bytes, per access
    size: Ints  # bytes, per access
    line: Ints  # line of the instruction in the module, per access
    is_write: Bools  # per access
    place: Ints  # index of the place, per access
    object: Ints  # index of the object, per access
    # Index of the place around it, per place; -1 for the root. Parents come before what is in them
    parent: Ints
    site: Ints  # index of the site, per place
    instance: Ints  # number of the loop instance or activation, per place
    iteration: Ints  # from 0, per place
    depth: Ints  # number of parents, per place
    sites: tuple[CodeSite, ...]
    objects: tuple[MemoryObject, ...]
    # By instance: instructions and floating-point operations executed in it
    work: Mapping[int, tuple[int, int]]

    def ancestors(self) -> Ints:
        """Index of the place at each depth around each place: int64[deepest + 1, places], -1 below it."""
        deepest = int(self.depth.max(initial=0))
        result = np.full((deepest + 1, len(self.parent)), -1, np.int64)
        current = np.arange(len(self.parent))
        for _ in range(deepest + 1):
            here = np.flatnonzero(current >= 0)
            result[self.depth[current[here]], here] = current[here]
            current[here] = self.parent[current[here]]
        return result


class WorkItemObserver(FlowObserver):
    """Collects flows, counts and accesses of a run."""

    def __init__(self, module: Module, machine: Callable[[], Machine]) -> None:
        super().__init__(module, machine)
        self._function_of = {
            i.first_line: f.name
            for f in module.functions for b in f.blocks for i in b.instructions
            if i.opcode == "call" and _BLOCK_CALLS.match(i.callee)
        }  # fmt: skip
        self._columns = {
            name: array("q") for name in ("address", "size", "line", "is_write", "place", "object")
        }
        self._of_place = {name: array("q") for name in ("parent", "site", "instance", "iteration", "depth")}
        self._place_index: dict[int, int] = {}
        self._kept_places: list[RunPlace] = []  # so that their ids stay theirs
        self._site_index: dict[CodeSite, int] = {}
        self._segment_index: dict[int, int] = {}
        self._segments: list[Segment] = []
        self._marked: list[tuple[RunPlace, int]] = []  # open regions, and the number of frames at their begin
        self._begun: dict[int, tuple[int, int]] = {}
        self._work: dict[int, tuple[int, int]] = {}

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """Words are read or written."""
        super().accessed(address, size_bytes, is_write=is_write)
        if not self._frames:
            return
        frame = self._frames[-1]
        columns = self._columns
        columns["address"].append(address)
        columns["size"].append(size_bytes)
        columns["line"].append(frame.code[frame.index].first_line)
        columns["is_write"].append(is_write)
        columns["place"].append(self._index_of(self._place))
        segment = self._machine().memory.segment(address, size_bytes)
        known = self._segment_index.get(id(segment))
        if known is None:
            known = self._segment_index[id(segment)] = len(self._segments)
            self._segments.append(segment)
        columns["object"].append(known)

    def left(self, frame: Frame) -> None:
        """An activation ends; that of a mark begins or ends a region."""
        name = frame.plan.function.name.removeprefix("@").strip('"')
        while self._marked and self._marked[-1][1] == len(self._frames):
            self._end_region()  # the function returns without an end mark
        super().left(frame)
        if name.startswith(BEGIN):
            self._push(CodeSite(f"@{name.removeprefix(BEGIN)}", ""))
            self._marked.append((self._place, len(self._frames)))
        elif name.startswith(END) and self._marked and self._marked[-1][1] == len(self._frames):
            self._end_region()

    def _end_region(self) -> None:
        place, _ = self._marked.pop()
        while self._place.instance != place.instance:
            self._pop()
        self._pop()

    def _push(self, site: CodeSite) -> None:
        super()._push(site)
        self._begun[self._place.instance] = self._executed()

    def _pop(self) -> None:
        instance = self._place.instance
        begun, ended = self._begun.pop(instance), self._executed()
        self._work[instance] = (ended[0] - begun[0], ended[1] - begun[1])
        super()._pop()

    def _executed(self) -> tuple[int, int]:
        machine = self._machine()
        return machine.counts.instructions, machine.counts.flops + machine.externals.flops

    def _index_of(self, place: RunPlace) -> int:
        known = self._place_index.get(id(place))
        if known is not None:
            return known
        parent = -1 if place.parent is None else self._index_of(place.parent)
        site = self._site_index.setdefault(place.site, len(self._site_index))
        values = (parent, site, place.instance, place.iteration, place.depth)
        for column, value in zip(self._of_place.values(), values, strict=True):
            column.append(value)
        self._kept_places.append(place)
        self._place_index[id(place)] = len(self._kept_places) - 1
        return self._place_index[id(place)]

    def log(self) -> AccessLog:
        """What was written down."""
        columns = {name: np.array(values, np.int64) for name, values in self._columns.items()}
        places = {name: np.array(values, np.int64) for name, values in self._of_place.items()}
        objects: list[MemoryObject] = []
        for index, segment in enumerate(self._segments):
            of_segment = columns["object"] == index
            starts, sizes = self._blocks(segment)
            block = np.searchsorted(starts, columns["address"][of_segment], "right") - 1
            columns["object"][of_segment] = -1 - len(objects) - block  # negative: not another segment's index
            objects += [
                MemoryObject(segment.name, int(start), int(size), segment.kind == "constant")
                for start, size in zip(starts, sizes, strict=True)
            ]
        log = AccessLog(
            address=columns["address"],
            size=columns["size"],
            line=columns["line"],
            is_write=columns["is_write"].astype(np.bool_),
            place=columns["place"],
            object=-1 - columns["object"],
            **places,
            sites=tuple(self._site_index),
            objects=tuple(objects),
            work=self._work,
        )
        return _unrolled(log, self._function_of)

    def _blocks(self, segment: Segment) -> tuple[Ints, Ints]:
        blocks = self._machine().memory.blocks(segment)
        offsets = np.array(sorted(blocks), np.int64)
        return segment.base + offsets, np.array([blocks[offset] for offset in offsets.tolist()], np.int64)


def _unrolled(log: AccessLog, function_of: Mapping[int, str]) -> AccessLog:
    """Calls that fill or copy as loops over elements, as small as other accesses of the object are."""
    is_block = np.isin(log.line, list(function_of))
    element = np.full(len(log.objects), np.iinfo(np.int64).max)
    np.minimum.at(element, log.object[~is_block], log.size[~is_block])
    of_access = np.minimum(element[log.object], log.size)
    is_block &= (of_access < log.size) & (log.size % np.maximum(of_access, 1) == 0)
    if not is_block.any():
        return log
    counts = np.where(is_block, log.size // np.maximum(of_access, 1), 1)
    at = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    blocks = np.flatnonzero(is_block)
    lines, site = np.unique(log.line[blocks], return_inverse=True)
    # a copy reads and writes: two accesses of one call
    is_second = np.concatenate(([False], (np.diff(blocks) == 1) & (np.diff(log.line[blocks]) == 0)))
    is_second &= log.is_write[blocks] & ~np.concatenate(([True], log.is_write[blocks][:-1]))
    call = np.cumsum(~is_second) - 1
    instance = int(log.instance.max(initial=0)) + 1 + call
    rows = np.flatnonzero(is_block[at])  # of the new columns
    of_block = np.repeat(np.arange(len(blocks)), counts[blocks])
    around = log.place[blocks][of_block]
    place = log.place[at]
    place[rows] = len(log.parent) + np.arange(len(rows))
    work = dict(log.work)
    for number, count in zip(instance.tolist(), counts[blocks].tolist(), strict=True):
        work[number] = (count, 0)
    return replace(
        log,
        address=log.address[at] + step * of_access[at],
        size=np.where(is_block[at], of_access[at], log.size[at]),
        line=log.line[at],
        is_write=log.is_write[at],
        place=place,
        object=log.object[at],
        parent=np.concatenate((log.parent, around)),
        site=np.concatenate((log.site, len(log.sites) + site.reshape(-1)[of_block])),
        instance=np.concatenate((log.instance, instance[of_block])),
        iteration=np.concatenate((log.iteration, step[rows])),
        depth=np.concatenate((log.depth, log.depth[around] + 1)),
        sites=(*log.sites, *(CodeSite(function_of[line], BLOCK, line) for line in lines.tolist())),
        work=work,
    )


@dataclass(frozen=True, slots=True)
class WordUses:
    """Accesses cut into words: of each object the largest unit that fits all its accesses."""

    access: Ints  # index of the access, per word
    word: Ints  # number of the word, unique in the run
    bytes: Ints  # its size
    is_write: Bools  # per word
    source: Ints  # per word that is read: position of the word of the last write; -1 if there is none


def words_of(log: AccessLog) -> WordUses:
    """Cut accesses into words and find their sources."""
    start = np.array([o.start for o in log.objects], np.int64)
    extent = np.array([o.size_bytes for o in log.objects], np.int64)
    offset = log.address - start[log.object]
    unit = np.zeros(len(start), np.int64)
    np.gcd.at(unit, log.object, log.size)
    np.gcd.at(unit, log.object, offset)
    unit = np.maximum(unit, 1)
    first_word = np.concatenate(([0], np.cumsum(-(-extent // unit))))
    of_access = unit[log.object]
    counts = log.size // of_access
    access = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(access)) - np.repeat(np.cumsum(counts) - counts, counts)
    word = (first_word[log.object] + offset // of_access)[access] + within
    is_write = log.is_write[access]
    return WordUses(access, word, of_access[access], is_write, last_writes(word, is_write))


def last_writes(word: Ints, is_write: Bools) -> Ints:
    """Per read the position of the last write of its word before it; -1 for none, and for writes."""
    order = np.argsort(word, kind="stable")
    ranks = np.arange(len(word))
    last = np.maximum.accumulate(np.where(is_write[order], ranks, -1)) if len(word) else ranks
    found = np.where(last >= 0, order[last], -1)
    is_same = (found >= 0) & (word[found] == word[order])
    source = np.full(len(word), -1, np.int64)
    source[order] = np.where(is_same & ~is_write[order], found, -1)
    return source
