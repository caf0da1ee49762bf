"""Observes an interpreted run: flows between iterations of loops and between the parts of their bodies.

Per 4-byte word (per byte where smaller values are stored) the last write, and the first and last read since,
are kept with their places. A read of a word makes a flow from the write: *carried* by the loop whose
iterations differ first, or between two parts of one iteration's body.

Where a program is: the stack of activations and iterations, as a linked list that accesses can keep.

A node is an activation or one iteration of a loop instance; its parent is what it runs in. Iterations of one
instance share their parent, so that the outermost difference of two places is where their lists join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from commanalyzer.program.ir.cfg import ControlFlow, control_flow
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.model import Instruction, Module
from commanalyzer.recording.interpreter.activation import Frame, Observer
from commanalyzer.recording.interpreter.machine import Machine


class CodeSite(NamedTuple):
    """A loop (its header) or an activation (the call that made it) of a program."""

    function: str  # function that contains the loop, or that is called
    name: str  # label of the header; empty for an activation
    line: int = -1  # line of the call in the module, -1 for loops and roots

    @property
    def is_loop(self) -> bool:
        """A loop, not an activation."""
        return bool(self.name)


@dataclass(slots=True, eq=False)
class RunPlace:
    """An activation, or one iteration of a loop."""

    parent: RunPlace | None  # what it runs in
    site: CodeSite  # which one
    instance: int  # number of the activation or loop instance, unique in the run
    iteration: int  # from 0; 0 for activations
    depth: int  # number of parents
    instructions: int = 0  # executed in it, inner ones included; complete when it has ended
    inner: dict[CodeSite, int] = field(default_factory=dict)  # instructions by site directly inside


class Parting(NamedTuple):
    """Where two places differ first, seen from outside."""

    common: RunPlace  # what contains both; for two iterations of one instance the earlier one's
    first: RunPlace | None  # the earlier place's own part below ``common``; ``None`` if it is ``common``
    second: RunPlace | None  # the later place's part
    distance: int  # iterations between them if they are iterations of one instance, else 0


def parting(first: RunPlace, second: RunPlace) -> Parting:
    """Where two places of one run part."""
    a: RunPlace = first
    b: RunPlace = second
    below_a: RunPlace | None = None
    below_b: RunPlace | None = None
    while a.depth > b.depth:
        assert a.parent is not None
        below_a, a = a, a.parent
    while b.depth > a.depth:
        assert b.parent is not None
        below_b, b = b, b.parent
    while a is not b and a.parent is not b.parent:
        assert a.parent is not None and b.parent is not None
        below_a, a = a, a.parent
        below_b, b = b, b.parent
    if a is b:
        return Parting(a, below_a, below_b, 0)
    if a.instance == b.instance:
        return Parting(a, below_a, below_b, b.iteration - a.iteration)
    assert a.parent is not None  # all places of a run share the root
    return Parting(a.parent, a, b, 0)


_WORD_BYTES = 4
_ORDERED = frozenset({CallKind.INPUT, CallKind.OUTPUT, CallKind.EXIT})
ROOT = CodeSite("", "")


class Part(NamedTuple):
    """A part of a body: an inner loop, a call, or an instruction."""

    site: CodeSite | None  # of an inner loop or a call; ``None`` for an instruction of the body itself
    line: int  # line of the instruction in the module; -1 for an inner loop


class FlowKey(NamedTuple):
    """Flows that are counted together."""

    site: CodeSite  # loop or activation whose body they lie in
    source: Part  # part that writes
    sink: Part  # part that reads
    write: int  # line of the writing instruction in the module
    read: int  # line of the reading instruction
    is_carried: bool  # from one iteration to a later one


@dataclass(slots=True)
class FlowCount:
    """How often a flow happened."""

    count: int = 0  # words
    nearest: int = 1 << 62  # smallest distance in iterations
    farthest: int = 0  # largest distance
    variable: str = ""  # object that holds the value

    def add(self, distance: int, variable: str) -> None:
        """One more word."""
        self.count += 1
        self.nearest, self.farthest = min(self.nearest, distance), max(self.farthest, distance)
        self.variable = variable


@dataclass(slots=True)
class LoopCount:
    """What a loop or activation did."""

    instances: int = 0  # how often it was entered
    iterations: int = 0  # all iterations
    instructions: int = 0  # executed in it, inner ones included
    inner: dict[CodeSite, int] = field(default_factory=dict)  # instructions by site directly inside
    least: int = 1 << 62  # fewest instructions of an iteration that is not the last of its instance
    most: int = 0  # most of one
    # Library calls whose order the user sees, by line: name
    calls: dict[int, str] = field(default_factory=dict)
    # By object: farthest distance of iterations that read the same word, line of such a read
    shared: dict[str, tuple[int, int]] = field(default_factory=dict)
    # Objects that several iterations write, with the line of such a write in the module
    rewritten: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Word:
    """Last write of a word, first and last read since."""

    write: RunPlace | None = None
    write_line: int = -1
    first_read: RunPlace | None = None
    last_read: RunPlace | None = None


class FlowObserver(Observer):
    """Collects flows of a run."""

    def __init__(self, module: Module, machine: Callable[[], Machine]) -> None:
        self._machine = machine
        self._functions = {function.name: function for function in module.functions}
        self._flow: dict[str, ControlFlow] = {}
        self._around: dict[tuple[str, str], tuple[str, ...]] = {}
        self._place = RunPlace(None, ROOT, 0, 0, 0)
        self._seen = 0
        self._instances = 0
        self._frames: list[Frame] = []
        self._active: dict[CodeSite, int] = {}
        self._words: dict[int, _Word] = {}
        self._bytes: set[int] = set()  # words that hold smaller values
        self.flows: dict[FlowKey, FlowCount] = {}
        self.counts: dict[CodeSite, LoopCount] = {ROOT: LoopCount(1)}
        self.last_address: dict[int, int] = {}
        self.moved: set[tuple[int, int]] = set()  # (read, write) lines that were at different addresses
        self.indices: frozenset[int] = frozenset()  # loads of what is no data
        self.watched: Mapping[int, tuple[int, ...]] = {}  # write -> reads that must be at its address

    def entered(self, frame: Frame) -> None:
        """An activation begins."""
        self._settle()
        below = self._frames[-1] if self._frames else None
        line = -1 if below is None else below.code[below.index].first_line
        self._frames.append(frame)
        self._push(CodeSite(frame.plan.function.name, "", line))

    def left(self, frame: Frame) -> None:
        """An activation ends."""
        self._settle()
        while self._place.site.is_loop:
            self._pop()
        self._pop()
        self._frames.pop()

    def jumped(self, frame: Frame, previous: str, target: str) -> None:
        """Loops are left, entered, or go on to the next iteration."""
        function = frame.plan.function.name
        loops = self._loops(function, target)
        place = self._place
        if not loops and not place.site.is_loop:
            return
        self._settle()
        while place.site.is_loop and place.site.name not in loops:
            self._pop()
            place = self._place
        if loops and target == loops[0]:
            if place.site.is_loop and place.site.name == target:
                self._end_iteration(is_last=False)
            else:
                self._push(CodeSite(function, target))

    def called(self, name: str, kind: CallKind, instruction: Instruction) -> None:
        """Calls whose order the user sees are noted in all loops around them."""
        if kind not in _ORDERED:
            return
        place: RunPlace | None = self._place
        line = instruction.first_line
        while place is not None:
            self.counts[place.site].calls.setdefault(line, name)
            if not place.site.is_loop:
                line = place.site.line
            place = place.parent

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """Words are read or written."""
        if not self._frames:
            return
        frame = self._frames[-1]
        line = frame.code[frame.index].first_line
        if is_write:
            for read in self.watched.get(line, ()):
                if self.last_address.get(read) != address:
                    self.moved.add((read, line))
        else:
            self.last_address[line] = address
        for key in self._keys(address, size_bytes, is_write):
            word = self._words.get(key)
            if word is None:
                word = self._words[key] = _Word()
            if is_write:
                self._written(word, line, address)
            else:
                self._read(word, line, address)

    def _keys(self, address: int, size_bytes: int, is_write: bool) -> list[int]:
        """Words are even keys, bytes odd ones."""
        first, last = address // _WORD_BYTES, (address + size_bytes - 1) // _WORD_BYTES
        is_small = size_bytes < _WORD_BYTES or bool(address % _WORD_BYTES)
        if is_small and is_write:
            self._bytes.update(range(first, last + 1))
        if is_small or not self._bytes.isdisjoint(range(first, last + 1)):
            bytes_ = [2 * a + 1 for a in range(address, address + size_bytes)]
            return bytes_ if is_small else [*bytes_, *(2 * word for word in range(first, last + 1))]
        return [2 * word for word in range(first, last + 1)]

    def _written(self, word: _Word, line: int, address: int) -> None:
        for earlier in (word.write, word.first_read):
            if earlier is not None:
                found = parting(earlier, self._place)
                if found.distance:
                    self.counts[found.common.site].rewritten[self._name_of(address)] = line
        word.write, word.write_line = self._place, line
        word.first_read = word.last_read = None

    def _read(self, word: _Word, line: int, address: int) -> None:
        place = self._place
        if word.write is not None:
            self._flowed(word.write, word.write_line, line, address)
        earlier_reads = set() if line in self.indices else {word.first_read, word.last_read} - {None, place}
        for earlier in earlier_reads:
            assert earlier is not None
            found = parting(earlier, place)
            if found.distance:
                shared = self.counts[found.common.site].shared
                name = self._name_of(address)
                shared[name] = max(shared.get(name, (0, line)), (found.distance, line))
        word.first_read = word.first_read or place
        word.last_read = place

    def _flowed(self, write: RunPlace, write_line: int, read_line: int, address: int) -> None:
        found = parting(write, self._place)
        source, sink = _part(found.first, write_line), _part(found.second, read_line)
        if not found.distance and source == sink:
            return
        key = FlowKey(found.common.site, source, sink, write_line, read_line, bool(found.distance))
        flow = self.flows.get(key)
        if flow is None:
            flow = self.flows[key] = FlowCount()
        flow.add(found.distance, self._name_of(address))

    def _loops(self, function: str, block: str) -> tuple[str, ...]:
        """Headers of the loops around a block, the innermost first."""
        known = self._around.get((function, block))
        if known is None:
            flow = self._flow.get(function)
            if flow is None:
                flow = self._flow[function] = control_flow(self._functions[function])
            known = tuple(loop.header for loop in flow.loops_around(block))
            self._around[function, block] = known
        return known

    def _name_of(self, address: int) -> str:
        """Name of the object at an address."""
        return self._machine().memory.segment(address, 1).name

    def _settle(self) -> None:
        """Instructions since the last event belong to the present place."""
        now = self._machine().counts.instructions
        self._place.instructions += now - self._seen
        self._seen = now

    def _push(self, site: CodeSite) -> None:
        self._instances += 1
        self._place = RunPlace(self._place, site, self._instances, 0, self._place.depth + 1)
        self.counts.setdefault(site, LoopCount()).instances += 1
        self._active[site] = self._active.get(site, 0) + 1

    def _end_iteration(self, *, is_last: bool) -> None:
        """Account for the present iteration; go on to the next one unless it is the last."""
        place = self._place
        count = self.counts[place.site]
        count.iterations += 1
        if self._active[place.site] == 1:  # else the outer one of a recursion counts it
            count.instructions += place.instructions
        if not is_last:  # the last one of most loops only finds out that it is the last
            count.least = min(count.least, place.instructions)
            count.most = max(count.most, place.instructions)
        for site, executed in place.inner.items():
            count.inner[site] = count.inner.get(site, 0) + executed
        parent = place.parent
        assert parent is not None
        parent.instructions += place.instructions
        parent.inner[place.site] = parent.inner.get(place.site, 0) + place.instructions
        if not is_last:
            self._place = RunPlace(parent, place.site, place.instance, place.iteration + 1, place.depth)

    def _pop(self) -> None:
        self._end_iteration(is_last=True)
        self._active[self._place.site] -= 1
        assert self._place.parent is not None
        self._place = self._place.parent


def _part(place: RunPlace | None, line: int) -> Part:
    if place is None:
        return Part(None, line)
    return Part(place.site, place.site.line)
