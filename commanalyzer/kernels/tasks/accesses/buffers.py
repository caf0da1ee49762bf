"""Shapes of buffers, from the strides with which loops go through them.

An access whose address is a linear function of the iterations of the loops around it is *affine*; its
coefficients are strides. A stride is the pitch of a dimension if the same access has a smaller one whose
loop stays within it: ``a[i * n + j]`` with j below n. If no access shows one, those of one loop are
compared: a row and a column of a symmetric matrix. Pitches that divide neither the buffer nor each other (a
diagonal) are none.

Accesses that the compiler moved out of a loop although the source has them inside.

A load whose value the loop uses, and a store of a value that the loop computes, belong to the kernel: work
items read the one and contribute to the other.

Range mappers from the elements that each work item accessed.

A mapper *covers* accesses if it grants each work item what it accessed. Of those that cover, the one that
grants fewest elements in all is taken; of equals the first in the order one-to-one, slice, all, neighborhood,
fixed. Accesses of one buffer by several instructions share a mapper where that grants no more than one mapper
for each would (a row and a column do not), or is a neighborhood: it adds corners, which blocks of work items
have few of.

Writes down every access of an interpreted run with the iterations that it lies in.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.kernels.patterns.flows import CodeSite, FlowObserver, FunctionRegisters, RunPlace
from commanalyzer.kernels.tasks.mappers import MOST_DIMENSIONS, RangeMapper
from commanalyzer.program.frontend.regions import BEGIN, END
from commanalyzer.program.ir.cfg import Loop
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


class Outside(NamedTuple):
    """Accesses outside a loop that belong to it: lines of loads that it uses, of stores that it computes."""

    loads: frozenset[int] = frozenset()
    stores: frozenset[int] = frozenset()


def moved_outside(registers: FunctionRegisters, loop: Loop) -> Outside:
    """Accesses around ``loop`` that belong to it; loads of bounds, indices and addresses do not."""
    loads: set[int] = set()
    stores: set[int] = set()
    indices = registers.index_loads()
    for name, definition in registers.definition.items():
        is_inside = registers.is_inside(name, loop)
        if definition.opcode == "load" and not is_inside and definition.first_line not in indices:
            users = [u for n in registers.ahead(name, None) for u in registers.users.get(n, ())]
            if any(registers.block_of[u.first_line] in loop.blocks for u in users):
                loads.add(definition.first_line)
        if is_inside and definition.opcode not in ("load", "getelementptr"):
            stores.update(
                user.first_line
                for n in registers.ahead(name, None)
                for user in registers.users.get(n, ())
                if user.opcode == "store" and registers.block_of[user.first_line] not in loop.blocks
            )
    return Outside(frozenset(loads), frozenset(stores))


@dataclass(frozen=True, slots=True)
class Linear:
    """An access as a linear function of iterations."""

    strides: tuple[int, ...]  # bytes per iteration, of the loops that are not constant
    spans: tuple[int, ...]  # largest minus smallest iteration of these loops

    def steps(self) -> list[tuple[int, int]]:
        """Sizes of the strides, with the spans of their loops."""
        return [(abs(s), span) for s, span in zip(self.strides, self.spans, strict=True) if s]


def pitches_of(linears: Sequence[tuple[int, Linear]], size_bytes: int) -> set[int]:
    """Bytes between rows, between planes, ...; ``linears`` are accesses of the buffer, with their loops."""
    together = [access.steps() for _, access in linears]
    found = {row for steps in together for row in _rows(steps, size_bytes)}
    if found:
        return found
    for loop in {loop for loop, _ in linears}:
        steps = [step for at, access in linears if at == loop for step in access.steps()]
        found |= _rows(steps, size_bytes)
    return found


def _rows(steps: Sequence[tuple[int, int]], size_bytes: int) -> set[int]:
    return {
        row for row, _ in steps for step, span in steps
        if step < row < size_bytes and step * span < row and not size_bytes % row
    }  # fmt: skip


def linear(offset: Ints, iterations: Ints) -> Linear | None:
    """Offsets as a linear function of iterations; ``None`` if they are none.

    ``offset``: int64[n], bytes; ``iterations``: int64[loops, n].
    """
    spans = np.ptp(iterations, axis=1) if iterations.size else np.zeros(len(iterations), np.int64)
    varying = np.flatnonzero(spans)
    if not len(varying):
        return Linear((), ()) if not np.ptp(offset) else None
    matrix: NDArray[np.float64] = np.vstack((np.ones(len(offset)), iterations[varying])).T.astype(np.float64)
    found = np.rint(np.linalg.lstsq(matrix, offset.astype(np.float64), rcond=None)[0]).astype(np.int64)
    if np.any(matrix.astype(np.int64) @ found != offset):
        return None
    return Linear(tuple(found[1:].tolist()), tuple(spans[varying].tolist()))


def loop_iterations(log: AccessLog, ancestors: Ints, accesses: Ints, root: int) -> Ints | None:
    """Iterations of the loops from depth ``root`` on, int64[loops, n]; ``None`` if places differ in depth."""
    places = log.place[accesses]
    depths = log.depth[places]
    if np.ptp(depths):
        return None
    levels = ancestors[root : int(depths[0]) + 1][:, places]
    return log.iteration[levels]


def shape_of(size_bytes: int, element_bytes: int, pitches: set[int]) -> tuple[int, ...]:
    """Extents, the slowest dimension first; ``pitches``: bytes per index, of all but the fastest."""
    kept = [element_bytes]
    for pitch in sorted(pitches):
        if pitch > kept[-1] and not pitch % kept[-1]:
            kept.append(pitch)
    kept = [element_bytes, *kept[1:][-(MOST_DIMENSIONS - 1) :]]
    outer = [-(-size_bytes // kept[-1])]
    return tuple(outer + [large // small for small, large in pairwise(kept)][::-1])


def coordinates(element: Ints, shape: tuple[int, ...]) -> Ints:
    """Indices of elements in each dimension, int64[dimensions, n]."""
    result = np.empty((len(shape), len(element)), np.int64)
    rest = element
    for d in range(len(shape) - 1, 0, -1):
        rest, result[d] = np.divmod(rest, shape[d])
    result[0] = rest
    return result


def private_objects(
    task: Ints, word_object: Ints, word: Ints, source: Ints, is_write: Bools, item: Ints
) -> set[int]:
    """Objects that are workspace: items of a task write the same words and read only what they wrote.

    All per word access; ``source``: position of the last write of what is read, -1 for none; ``item``: number
    of the work item, unique in the run.
    """
    found: set[int] = set()
    is_foreign = ~is_write & ((source < 0) | (item[source] != item))
    foreign = set(np.unique(word_object[is_foreign]).tolist())
    for index in set(np.unique(word_object).tolist()) - foreign:
        writes = np.flatnonzero((word_object == index) & is_write)
        of_items = np.unique(np.stack((task[writes], word[writes], item[writes])), axis=1)
        if of_items.shape[1] > np.unique(of_items[:2], axis=1).shape[1]:
            found.add(index)
    return found


# Elements that are accessed, of those that a mapper grants, below which accesses whose addresses are no
# linear functions of the iterations are irregular. Clamped stencils access all that they are granted; a
# sparse matrix of band b with k entries per row k / (2 b + 1). At 1/4 denser bands become neighborhoods, at
# 1 any gap is irregular.
LEAST_FILL = 0.5
_NEAR = frozenset({"one-to-one", "neighborhood"})


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses of one instruction, or of several that share a mapper, to one buffer."""

    item: Ints  # index of the work item, int64[dimensions of the range, n]
    element: Ints  # number of the element in the buffer, int64[n]
    is_linear: bool  # all addresses are linear functions of the iterations

    def joined(self, other: Accesses) -> Accesses:
        """Both together."""
        return Accesses(
            np.concatenate((self.item, other.item), axis=1),
            np.concatenate((self.element, other.element)),
            self.is_linear and other.is_linear,
        )


@dataclass(frozen=True, slots=True)
class Cover:
    """A mapper that covers accesses."""

    mapper: RangeMapper
    granted: int  # elements that it grants, summed over work items
    touched: int  # elements that were accessed, summed over work items
    # Per dimension of the buffer what its index is: ``item0-1..+1``, a number, ``*`` for others
    index: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Nothing is granted that is not accessed."""
        return self.granted == self.touched


def covers(parts: Sequence[Accesses], shape: tuple[int, ...]) -> tuple[tuple[int, ...], list[Cover]]:
    """Mappers of one buffer, few and tight, and the extents for which they hold.

    Work items in a line that go through a matrix from its first to its last element see it as a vector.
    """
    found = _covers(parts, shape)
    if len(shape) > 1 and all(len(part.item) == 1 for part in parts):
        vector = (int(np.prod(shape)),)
        as_vector = _covers(parts, vector)
        if sum(c.granted for c in as_vector) < sum(c.granted for c in found):
            return vector, as_vector
    return shape, found


def _covers(parts: Sequence[Accesses], shape: tuple[int, ...]) -> list[Cover]:
    groups: list[tuple[Accesses, Cover]] = []
    for part in parts:
        accesses, cover = part, tightest(part, shape)
        is_open = True
        while is_open:
            is_open = False
            for index, (others, known) in enumerate(groups):
                both = others.joined(accesses)
                joined = tightest(both, shape)
                is_near = {known.mapper.kind, cover.mapper.kind, joined.mapper.kind} <= _NEAR
                if joined.granted <= known.granted + cover.granted or is_near:
                    del groups[index]
                    accesses, cover, is_open = both, joined, True
                    break
        groups.append((accesses, cover))
    return [cover for _, cover in groups]


def tightest(accesses: Accesses, shape: tuple[int, ...]) -> Cover:
    """The mapper that covers accesses and grants least."""
    index = coordinates(accesses.element, shape)
    items = np.unique(accesses.item, axis=1)
    candidates = _constant(index, items, shape)
    if items.shape[1] == 1 or np.ptp(index, axis=1).any():  # the same element for all follows no work item
        candidates += _following(accesses.item, index, items, shape)
    order = ("one-to-one", "slice", "all", "neighborhood", "fixed")
    granted, mapper = min(candidates, key=lambda c: (c[0], order.index(c[1].kind)))
    pairs = np.unique(np.vstack((accesses.item, accesses.element)), axis=1)
    touched = pairs.shape[1]
    if not accesses.is_linear and touched < LEAST_FILL * granted:
        mapper = RangeMapper("irregular")
    return Cover(mapper, granted, touched, tuple(_text(c, accesses.item) for c in index))


def _constant(index: Ints, items: Ints, shape: tuple[int, ...]) -> list[tuple[int, RangeMapper]]:
    count = items.shape[1]
    box = tuple((int(c.min()), int(c.max()) + 1) for c in index)
    volume = int(np.prod([end - first for first, end in box]))
    whole = int(np.prod(shape))
    return [(count * whole, RangeMapper("all")), (count * volume, RangeMapper("fixed", box=box))]


def _following(item: Ints, index: Ints, items: Ints, shape: tuple[int, ...]) -> list[tuple[int, RangeMapper]]:
    """Mappers whose region moves with the work item."""
    dimensions, count = len(shape), items.shape[1]
    result: list[tuple[int, RangeMapper]] = []
    own = _own(item, range(dimensions))
    if np.array_equal(index, own):
        result.append((count, RangeMapper("one-to-one")))
    if dimensions > 1:
        for d in range(dimensions):
            others = [k for k in range(dimensions) if k != d]
            taken = _own(item, others if len(item) >= dimensions else range(len(others)))
            if np.array_equal(index[others], taken):
                result.append((count * shape[d], RangeMapper("slice", dimension=d)))
    radius = np.abs(index - own).max(axis=1)
    last = np.array(shape) - 1
    is_wide = (radius > 0) & (2 * radius >= last)  # the whole dimension for the items in the middle
    if np.any((radius > 0) & ~is_wide):
        radius = np.where(is_wide, last, radius)
        centre = _own(items, range(dimensions))
        low = np.clip(centre - radius[:, None], 0, last[:, None])
        high = np.clip(centre + radius[:, None], 0, last[:, None])
        granted = int(np.prod(high - low + 1, axis=0).sum())
        result.append((granted, RangeMapper("neighborhood", radius=tuple(radius.tolist()))))
    return result


def _own(item: Ints, dimensions: Sequence[int] | range) -> Ints:
    """Indices of the items in some dimensions; 0 in those that the range does not have."""
    zeros = np.zeros(item.shape[1], np.int64)
    return np.stack([item[d] if d < len(item) else zeros for d in dimensions])


def _text(index: Ints, item: Ints) -> str:
    if not np.ptp(index):
        return str(int(index[0]))
    best = ""
    for k, own in enumerate(item):
        offset = index - own
        low, high = int(offset.min()), int(offset.max())
        if low == high:
            return f"item{k}{low:+d}" if low else f"item{k}"
        # not much more than a point: a stencil, not a whole row
        if not best and 2 * (high - low) < np.ptp(index):
            best = f"item{k}{low:+d}..{high:+d}"
    return best or "*"
