"""Observes an interpreted run: flows between iterations of loops and between the parts of their bodies.

Per 4-byte word (per byte where smaller values are stored) the last write, and the first and last read since,
are kept with their places. A read of a word makes a flow from the write: *carried* by the loop whose
iterations differ first, or between two parts of one iteration's body.

Where a program is: the stack of activations and iterations, as a linked list that accesses can keep.

A node is an activation or one iteration of a loop instance; its parent is what it runs in. Iterations of one
instance share their parent, so that the outermost difference of two places is where their lists join.

Registers that loops carry from one iteration to the next, and sums that live in memory.

A register carried around a loop is an *induction* (a number or address that grows by the same amount), a
*copy* (nothing of the next one is computed from it), a *reduction* (combined by one associative operation,
partial results unread) or *forbids* that iterations are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.selections import selections
from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.recording.interpreter.activation import Frame, Observer
from commanalyzer.recording.interpreter.machine import Machine

_OPERATIONS = {
    "fadd": "+", "fsub": "+", "add": "+", "sub": "+", "fmul": "*", "mul": "*",
    "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_CALLS = {
    "fmuladd": "+", "fma": "+", "minnum": "min", "minimum": "min", "umin": "min", "smin": "min",
    "maxnum": "max", "maximum": "max", "umax": "max", "smax": "max", "fmin": "min", "fmax": "max",
}  # fmt: skip
_NO_INVERSE = ("sub", "fsub")
_MOVES = frozenset({"phi", "select", "freeze"})
_COUNTS = frozenset({"add", "sub", "mul", "shl", "sext", "zext", "trunc", "phi", "select", "freeze"})
Kind = Literal["induction", "copy", "reduction", "forbids"]


@dataclass(frozen=True, slots=True)
class Carried:
    """A register that a loop carries."""

    register: str  # the phi of the loop's header
    kind: Kind  # see the module
    update: int  # line in the module where the next one is computed


class FunctionRegisters:
    """What registers of a function are computed from and used for."""

    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self._cfg = cfg
        self.block_of: dict[int, str] = {}
        self.definition: dict[str, Instruction] = {}
        self.users: dict[str, list[Instruction]] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                self.block_of[instruction.first_line] = block.label
                if instruction.name:
                    self.definition[instruction.name] = instruction
                for operand in instruction.operands:
                    if operand.is_local:
                        self.users.setdefault(operand.text, []).append(instruction)
        found = selections(function, cfg)
        self._combined, self._kept = found.combined, found.kept
        self._function = function

    def carried(self, loop: Loop) -> tuple[Carried, ...]:
        """Registers that ``loop`` carries."""
        header = next(b for b in self._function.blocks if b.label == loop.header)
        return tuple(self._carried(phi, loop) for phi in header.instructions if phi.opcode == "phi")

    def _carried(self, phi: Instruction, loop: Loop) -> Carried:
        latches = [o for o, b in zip(phi.operands, phi.incoming, strict=True) if b in loop.blocks]
        behind = self._behind([o.text for o in latches], loop)
        update = self.definition[latches[0].text].first_line if latches[0].text in self.definition else -1
        if phi.name not in behind:
            return Carried(phi.name, "copy", update)
        if all(self._grows(o.text, phi.name, loop) for o in latches):
            return Carried(phi.name, "induction", update)
        members = self.ahead(phi.name, loop.blocks)
        is_reduction = self._is_reduction(phi.name, members, loop.blocks)
        return Carried(phi.name, "reduction" if is_reduction else "forbids", update)

    def _grows(self, name: str, phi: str, loop: Loop) -> bool:
        """``name`` is the phi plus what the loop does not change."""
        step = self.definition.get(name)
        if step is None or step.opcode not in ("add", "sub", "getelementptr"):
            return False
        texts = [operand.text for operand in step.operands]
        others = [t for t in texts if t != phi]
        return texts[0] == phi and phi not in texts[1:] and not any(self.is_inside(t, loop) for t in others)

    def is_inside(self, name: str, loop: Loop) -> bool:
        """Whether a register is computed in the loop."""
        instruction = self.definition.get(name)
        return instruction is not None and self.block_of[instruction.first_line] in loop.blocks

    def _behind(self, names: Iterable[str], loop: Loop) -> set[str]:
        """Registers of the loop that ``names`` are computed from, through addresses of loads, too."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in found or not self.is_inside(name, loop):
                continue
            found.add(name)
            pending += [o.text for o in self.definition[name].operands if o.is_local]
        return found

    def ahead(self, name: str, blocks: Set[str] | None) -> set[str]:
        """Registers that are computed from ``name`` in these blocks, itself included."""
        found: set[str] = set()
        pending = [name]
        while pending:
            register = pending.pop()
            if register in found:
                continue
            found.add(register)
            for user in self.users.get(register, ()):
                if user.name and (blocks is None or self.block_of[user.first_line] in blocks):
                    pending.append(user.name)
        return found

    def _is_reduction(self, start: str, members: set[str], blocks: Set[str]) -> bool:
        """All members combine the running value by one operation; in the blocks nobody else reads them."""
        selecting = {m for m in members if m in self._kept}
        choices = selecting | {m for m in members if m in self._combined}
        comparisons = {m for m in members if self.definition[m].opcode in ("icmp", "fcmp")}
        kinds = {self._operation(m, members) for m in members - comparisons - selecting - {start}}
        if None in kinds or len(kinds - {""}) > 1:
            return False
        users = {m: self.users.get(m, ()) for m in members}
        are_unread = all(
            user.name in members
            for m in members - comparisons
            for user in users[m]
            if self.block_of[user.first_line] in blocks
        )
        return are_unread and all(u.name in choices for c in comparisons for u in users[c] if u.name)

    def _operation(self, name: str, members: Set[str]) -> str | None:
        """Operation that adds to the running value; empty for moves, ``None`` for anything else."""
        instruction = self.definition[name]
        if name in self._combined:
            inside = [o for o in self._combined[name].operands if o.text in members]
            return self._combined[name].fold.name if len(inside) == 1 else None
        inside_at = [i for i, o in enumerate(instruction.operands) if o.text in members]
        if instruction.opcode in _MOVES:
            return None if instruction.opcode == "select" and 0 in inside_at else ""
        if len(inside_at) != 1:
            return None
        if instruction.opcode == "call":
            callee = instruction.callee.removeprefix("@llvm.").removeprefix("@").split(".")[0]
            operation = _CALLS.get(callee)
            return None if operation == "+" and inside_at != [2] else operation
        if instruction.opcode in _NO_INVERSE and inside_at != [0]:
            return None
        return _OPERATIONS.get(instruction.opcode)

    def updates(self) -> Mapping[int, tuple[int, ...]]:
        """Stores that combine a loaded value with others by one operation: line -> lines of such loads.

        Whether load and store are at one address is seen when the program runs.
        """
        stores = [
            i for b in self._function.blocks for i in b.instructions
            if i.opcode == "store" and i.operands[0].is_local
        ]  # fmt: skip
        loads = [i for i in self.definition.values() if i.opcode == "load"]
        found: dict[int, tuple[int, ...]] = {}
        for store in stores:
            value = store.operands[0].text
            same = [load for load in loads if load.type.text == store.operands[0].type.text]
            fitting = tuple(load.first_line for load in same if self._updates(load, value, store))
            if fitting:
                found[store.first_line] = fitting
        return found

    def _updates(self, load: Instruction, value: str, store: Instruction) -> bool:
        members = self.ahead(load.name, None)
        if value not in members or value == load.name:
            return False
        uses = [user for m in members for user in self.users.get(m, ()) if not user.name]
        if any(user is not store for user in uses):
            return False
        kinds = {self._operation(m, members) for m in members - {load.name}}
        return None not in kinds and len(kinds - {""}) == 1

    def index_loads(self) -> frozenset[int]:
        """Lines of loads that decide where and how often, but are no data: bounds, indices, addresses."""
        loads = [i for i in self.definition.values() if i.opcode == "load"]
        return frozenset(
            load.first_line
            for load in loads
            if load.type.kind == "ptr" or (load.type.kind == "int" and self._is_index(load.name))
        )

    def _is_index(self, name: str) -> bool:
        members = {name}
        pending = [name]
        while pending:
            for user in self.users.get(pending.pop(), ()):
                if user.opcode in ("getelementptr", "icmp"):
                    continue
                if user.opcode not in _COUNTS:
                    return False
                if user.name not in members:
                    members.add(user.name)
                    pending.append(user.name)
        return True

    def leaves_on_data(self, loop: Loop) -> int:
        """Line of a branch that leaves the loop on something that its iterations compute; -1 for none.

        Loads from addresses that the loop does not change do not count: a bound that is read every time.
        """
        for label in sorted(loop.blocks):
            outside = [t for t in self._cfg.successors[label] if t not in loop.blocks]
            if not outside or len(self._cfg.successors[label]) < 2:
                continue
            block = next(b for b in self._function.blocks if b.label == label)
            condition = block.terminator.operands[0].text
            for name in self._behind([condition], loop):
                if self._is_data(self.definition[name], loop):
                    return block.terminator.first_line
        return -1

    def _is_data(self, instruction: Instruction, loop: Loop) -> bool:
        if instruction.opcode == "load":
            return self.is_inside(instruction.operands[0].text, loop)
        return instruction.opcode in ("call", "invoke", "atomicrmw", "cmpxchg")


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
