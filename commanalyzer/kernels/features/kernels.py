"""The features of the kernels of a program, and the vector that models learn from.

=========================  ==============  ===================================================================
feature                    normalisation   meaning
=========================  ==============  ===================================================================
instructions by kind       ratio (total)   12 kinds of :data:`~commanalyzer.kernels.features.kernels.KINDS`
``coalesced``              ratio           coalesced accesses over all accesses
``total``                  min-max         instructions of one work item
``work_items``             log             global size: work items of one launch
``input_buffers``          min-max         buffers that are read
``output_buffers``         min-max         buffers that are written
``input_bytes_per_item``   min-max         their size over the global size
``output_bytes_per_item``  min-max
``problem_size``           log             bytes of all buffers
``devices``                log             nodes or devices that share the work
=========================  ==============  ===================================================================

Reference: Stawinoga et al., Section 3.2 and Table 1 (which gives no row for the work items that the text
names; they span decades like the problem size and are scaled like it).

What a run executed in each kernel: instructions by kind, work items, buffers and their sizes.

The program is interpreted. Blocks are counted when they are entered, so the mix is exact; a buffer is a
range of memory that the accesses of a kernel share.

Static counts of one work item of a kernel by Kofler's heuristic.

Every instruction counts once; those of a loop are multiplied by its number of rounds, 100 where that is not
known without running the program; of several paths, each count is that of the path where it is largest. The
counts of a work item are those of the whole nest over the items that the same rule gives it, so that what is
done once per row counts little; what only controls loops over items is left out, since a kernel is given its
item. The canonical module has its loops in simplified and closed-SSA form already.

Reference: K. Kofler et al., *An automatic input-sensitive approach for heterogeneous task partitioning*, ICS
2013; Stawinoga et al., Section 3.2.

Which instruction counts for which static feature.

Reference: N. Stawinoga et al., *A portable compiler-runtime approach for scalability prediction*, FGCS 2026,
Section 3.2 and Table 1. The section says "15 values" and lists 14; these are the 14.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.kernels.features.nests import Nest, accessed, find_nests
from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow
from commanalyzer.program.ir.loops.induction import NestNumbers, loop_ends, round_number
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, IrType, Module
from commanalyzer.program.ir.names.debug_info import SourcePlace
from commanalyzer.program.ir.types import alloc_size_bytes
from commanalyzer.recording.interpreter.activation import Frame, Observer
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.run import interpret_on

Counts = NDArray[np.float64]  # float64[len(COUNTED)]

KINDS = (
    *("bitwise", "int_addsub", "int_mul"),
    *("f32_addsub", "f32_mul", "f32_div", "f64_addsub", "f64_mul", "f64_div"),
    *("load", "store", "other"),
)
TOTAL, COALESCED = "total", "coalesced"
# what is counted per kernel: instructions by kind, all of them, accesses that are coalesced
COUNTED = (*KINDS, TOTAL, COALESCED)
PLACE: Mapping[str, int] = {name: place for place, name in enumerate(COUNTED)}

_INTEGER = {
    **dict.fromkeys(("and", "or", "xor", "shl", "lshr", "ashr"), "bitwise"),
    **dict.fromkeys(("add", "sub"), "int_addsub"),
    "mul": "int_mul",
}
_FLOATING = {"fadd": "addsub", "fsub": "addsub", "fneg": "addsub", "fmul": "mul", "fdiv": "div"}
_FUSED = ("@llvm.fmuladd.", "@llvm.fma.")
# They make no code: remarks for the optimiser, and names of what the debugger shows.
_REMARKS = ("@llvm.dbg.", "@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias", "@llvm.invariant.")


def kinds_of(instruction: Instruction) -> tuple[str, ...]:
    """Kinds that an instruction counts for; none for jumps and remarks, two for a fused multiply and add."""
    opcode = instruction.opcode
    if opcode == "br" and len(instruction.targets) < 2:
        return ()  # blocks follow each other in memory; those of split edges exist in this form only
    if opcode in ("load", "store"):
        return (opcode,)
    if opcode in ("atomicrmw", "cmpxchg"):
        return ("load", "store")
    if opcode in _INTEGER:
        return (_INTEGER[opcode],)
    if opcode in _FLOATING:
        return (_width(instruction.type) + _FLOATING[opcode],)
    if opcode in ("call", "invoke"):
        return _of_call(instruction)
    return ("other",)


def counts_of(instruction: Instruction) -> Counts:
    """float64[len(COUNTED)], what one execution adds; every element of a vector operation counts."""
    found = np.zeros(len(COUNTED))
    for kind in kinds_of(instruction):
        found[PLACE[kind]] += max(instruction.type.count, 1) if instruction.type.kind == "vector" else 1
    found[PLACE[TOTAL]] = found.sum()
    return found


def _of_call(instruction: Instruction) -> tuple[str, ...]:
    if instruction.callee.startswith(_REMARKS):
        return ()
    if instruction.callee.startswith(_FUSED):
        width = _width(instruction.type)
        return (f"{width}mul", f"{width}addsub")
    return ("other",)


def _width(type_: IrType) -> str:
    """``f32_`` for numbers of up to 32 bits, ``f64_`` for longer ones."""
    element = type_.elements[0] if type_.kind == "vector" else type_
    return "f32_" if element.bits <= 32 else "f64_"


UNKNOWN_ROUNDS = 100
"""Rounds of a loop whose number is not known, by Kofler et al.; half or twice as many halve or double the
weight of what is inside, relative to what is outside."""


class StaticCounter:
    """Counts the instructions of kernels and of the functions that they call."""

    def __init__(self, module: Module) -> None:
        self._functions = {f.name: f for f in module.functions}
        self._known: dict[str, Counts] = {}

    def of_item(self, nest: Nest) -> Counts:
        """float64[len(COUNTED)], instructions of one work item."""
        items = math.prod(_factor(nest.cfg, loop, nest.numbers) for loop in nest.items)
        return _Body(self, nest.function, nest.cfg, nest).of_loop(nest.loop) / max(items, 1)

    def of_call(self, instruction: Instruction) -> Counts:
        """What a call adds beside itself: the called function, where the module defines it."""
        name = instruction.callee
        if name not in self._functions:
            return np.zeros(len(COUNTED))
        if name not in self._known:
            self._known[name] = np.zeros(len(COUNTED))  # a recursion counts once
            function = self._functions[name]
            self._known[name] = _Body(self, function, control_flow(function), None).of_function()
        return self._known[name]


def rounds_of(cfg: ControlFlow, loop: Loop, numbers: NestNumbers) -> int | None:
    """Number of rounds that is known without running the program."""
    ends = loop_ends(cfg, loop)
    rounds = None if ends is None else numbers.rounds(loop, ends)
    return None if rounds is None else rounds.constant


def _factor(cfg: ControlFlow, loop: Loop, numbers: NestNumbers) -> int:
    rounds = rounds_of(cfg, loop, numbers)
    return UNKNOWN_ROUNDS if rounds is None else rounds


def item_control(nest: Nest) -> set[int]:
    """Lines of what only controls loops over items: their numbers, the way out, and its condition."""
    blocks = {b.label: b for b in nest.function.blocks}
    found: set[int] = set()
    for loop in nest.items:
        ends = loop_ends(nest.cfg, loop)
        assert ends is not None  # else it is no loop over items
        branch = blocks[ends.exiting].terminator
        made = {i.name: i for label in loop.blocks for i in blocks[label].instructions if i.name}
        phis = [i for i in blocks[loop.header].instructions if i.opcode == "phi"]
        wanted = [*(o.text for i in phis for o in i.operands), *(o.text for o in branch.operands)]
        found |= {branch.first_line} | {i.first_line for i in phis}
        found |= {made[text].first_line for text in wanted if text in made}
    return found


class _Body:
    """Counts of one function, or of a nest in it."""

    def __init__(self, counter: StaticCounter, function: Function, cfg: ControlFlow, nest: Nest | None):
        self._counter, self._function, self._cfg, self._nest = counter, function, cfg, nest
        self._blocks: Mapping[str, BasicBlock] = {b.label: b for b in function.blocks}
        self._control = set() if nest is None else item_control(nest)
        self._numbers: dict[str, NestNumbers] = {}

    def of_function(self) -> Counts:
        return self._most(self._cfg.entry, frozenset(self._cfg.reverse_postorder), None)

    def of_loop(self, loop: Loop) -> Counts:
        once = self._most(loop.header, loop.blocks, loop.header)
        return once * _factor(self._cfg, loop, self._numbers_of(loop))

    def _most(self, entry: str, region: Collection[str], inside: str | None) -> Counts:
        """Largest counts on any way through the blocks of a region; inner loops are one step."""
        best: dict[str, Counts] = {}
        most = np.zeros(len(COUNTED))
        for label in self._cfg.reverse_postorder:
            if label not in region:
                continue
            step = self._step_of(label, inside)
            if step in best:
                continue  # in a loop that is counted already
            before = [p for p in self._cfg.predecessors[label] if p in region and label != entry]
            ways = [best[s] for s in (self._step_of(p, inside) for p in before) if s in best and s != step]
            start = np.max(ways, axis=0) if ways else np.zeros(len(COUNTED))
            is_loop = step in self._cfg.loops and step != inside
            own = self.of_loop(self._cfg.loops[step]) if is_loop else self._of_block(label)
            best[step] = start + own
            most = np.maximum(most, best[step])
        return most

    def _step_of(self, label: str, inside: str | None) -> str:
        """The outermost loop around a block that lies in the loop ``inside``, or the block itself."""
        for loop in reversed(self._cfg.loops_around(label)):
            if inside is None or (loop.header != inside and self._cfg.loops[inside].blocks >= loop.blocks):
                return loop.header
        return label

    def _of_block(self, label: str) -> Counts:
        total = np.zeros(len(COUNTED))
        for instruction in self._blocks[label].instructions:
            if instruction.first_line in self._control:
                continue
            total += counts_of(instruction)
            if instruction.opcode in ("call", "invoke"):
                total += self._counter.of_call(instruction)
            elif accessed(instruction) is not None and self._is_coalesced(instruction, label):
                total[PLACE[COALESCED]] += 1
        return total

    def _is_coalesced(self, instruction: Instruction, label: str) -> bool:
        """Neighbouring work items access neighbouring elements, or all of them the same one.

        Neighbours differ in the innermost loop over items; without one, in the innermost loop around.
        """
        around = self._cfg.loops_around(label)
        loop = self._nest.items[-1] if self._nest is not None and self._nest.items else None
        loop = loop or (around[0] if around else None)
        operand = accessed(instruction)
        if loop is None or operand is None:
            return False
        numbers = self._nest.numbers if self._nest is not None else self._numbers_of(loop)
        address = numbers.polynomial(operand)
        step = None if address is None else address.coefficient(round_number(loop.header))
        if step is None or not step.is_constant:
            return False
        stored = instruction.operands[0].type if instruction.opcode == "store" else instruction.type
        return abs(step.constant) in (0, alloc_size_bytes(stored))

    def _numbers_of(self, loop: Loop) -> NestNumbers:
        if self._nest is not None:
            return self._nest.numbers
        while loop.parent is not None:
            loop = self._cfg.loops[loop.parent]
        if loop.header not in self._numbers:
            self._numbers[loop.header] = NestNumbers(self._function, self._cfg, loop)
        return self._numbers[loop.header]


@dataclass(frozen=True, slots=True)
class MeasuredKernel:
    """A kernel in a run."""

    launches: int  # how often it was executed
    items: int  # work items of all launches
    # float64[len(COUNTED)], executed instructions of all launches without what only controls the loops over
    # items; the coalesced share is that of the static counts and 0 here
    counts: Counts
    input_bytes: tuple[int, ...]  # size of every buffer that it reads, ordered
    output_bytes: tuple[int, ...]  # size of every buffer that it writes, ordered


@dataclass(slots=True)
class _Seen:
    launches: int = 0
    blocks: dict[tuple[str, str], int] = field(default_factory=dict)
    # of every accessing instruction: first byte, end, reads, writes
    ranges: dict[int, list[int]] = field(default_factory=dict)


def measure_kernels(
    module: Module,
    nests: Sequence[Nest],
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
) -> tuple[MeasuredKernel, ...]:
    """What a run executed, for each of ``nests``.

    Raises ``UnsupportedIrError`` if the program uses what the interpreter does not know; ``TargetRunError``
    if the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    observer = _KernelObserver(nests)
    interpret_on(Machine(module, stdin=stdin, observer=observer), arguments)
    blocks = {(f.name, b.label): b.instructions for f in module.functions for b in f.blocks}
    return tuple(_summary(nest, seen, blocks) for nest, seen in zip(nests, observer.seen, strict=True))


class _KernelObserver(Observer):
    """Counts blocks and ranges of accesses of the outermost kernel that is running."""

    def __init__(self, nests: Sequence[Nest]) -> None:
        self.seen = [_Seen() for _ in nests]
        self._starts = {(n.function.name, n.loop.header): k for k, n in enumerate(nests)}
        self._bodies = [n.loop.blocks for n in nests]
        self._frames: list[Frame] = []
        self._kernel = -1
        self._depth = 0

    def entered(self, frame: Frame) -> None:
        """A function that a kernel calls belongs to it."""
        self._frames.append(frame)
        if self._kernel >= 0:
            self._count(frame, frame.plan.entry)

    def left(self, frame: Frame) -> None:
        """A kernel ends with its function."""
        self._frames.pop()
        if self._kernel >= 0 and len(self._frames) < self._depth:
            self._kernel = -1

    def jumped(self, frame: Frame, previous: str, target: str) -> None:
        """A kernel begins, goes on, or ends."""
        if (
            self._kernel >= 0
            and len(self._frames) == self._depth
            and target not in self._bodies[self._kernel]
        ):
            self._kernel = -1
        if self._kernel < 0:
            kernel = self._starts.get((frame.plan.function.name, target), -1)
            if kernel < 0:
                return
            self._kernel, self._depth = kernel, len(self._frames)
            self.seen[kernel].launches += 1
        self._count(frame, target)

    def accessed(self, address: int, size_bytes: int, *, is_write: bool) -> None:
        """Memory is read or written."""
        if self._kernel < 0:
            return
        frame = self._frames[-1]
        line = frame.code[frame.index].first_line
        ranges = self.seen[self._kernel].ranges
        known = ranges.get(line)
        if known is None:
            known = ranges[line] = [address, address + size_bytes, 0, 0]
        known[0] = min(known[0], address)
        known[1] = max(known[1], address + size_bytes)
        known[3 if is_write else 2] = 1

    def _count(self, frame: Frame, block: str) -> None:
        counts = self.seen[self._kernel].blocks
        key = (frame.plan.function.name, block)
        counts[key] = counts.get(key, 0) + 1


def _summary(
    nest: Nest, seen: _Seen, blocks: Mapping[tuple[str, str], tuple[Instruction, ...]]
) -> MeasuredKernel:
    counts, control = np.zeros(len(COUNTED)), item_control(nest)
    for key, times in seen.blocks.items():
        counted = (counts_of(i) for i in blocks[key] if i.first_line not in control)
        counts += times * sum(counted, np.zeros(len(COUNTED)))
    inner = nest.items[-1].header if nest.items else ""
    items = seen.blocks.get((nest.function.name, inner), 0) if inner else seen.launches
    buffers = _buffers([r for line, r in seen.ranges.items() if line not in _private(nest, blocks)])
    return MeasuredKernel(
        seen.launches,
        items,
        counts,
        tuple(sorted(end - first for first, end, reads, _ in buffers if reads)),
        tuple(sorted(end - first for first, end, _, writes in buffers if writes)),
    )


def _private(nest: Nest, blocks: Mapping[tuple[str, str], tuple[Instruction, ...]]) -> set[int]:
    """Lines of accesses to stack slots, which each work item has for itself."""
    own = [i for (name, _), body in blocks.items() if name == nest.function.name for i in body]
    made = {i.name: i for i in own if i.name}
    found = set()
    for instruction in own:
        operand = accessed(instruction)
        text = "" if operand is None else operand.text
        while text in made and made[text].opcode == "getelementptr":
            text = made[text].operands[0].text
        if text in nest.private:
            found.add(instruction.first_line)
    return found


def _buffers(ranges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Ranges that overlap, joined."""
    found: list[list[int]] = []
    for first, end, reads, writes in sorted(map(tuple, ranges)):
        if found and first < found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
            found[-1][2] |= reads
            found[-1][3] |= writes
        else:
            found.append([first, end, reads, writes])
    return found


Scale = Literal["ratio", "min-max", "log"]
STATIC_FEATURES: tuple[str, ...] = (*KINDS, COALESCED, TOTAL)
RUNTIME_FEATURES: tuple[str, ...] = (
    *("work_items", "input_buffers", "output_buffers", "input_bytes_per_item", "output_bytes_per_item"),
    *("problem_size", "devices"),
)
FEATURES = (*STATIC_FEATURES, *RUNTIME_FEATURES)
SCALES: Mapping[str, Scale] = {
    **dict.fromkeys(FEATURES, "min-max"),
    **dict.fromkeys((*KINDS, COALESCED), "ratio"),
    **dict.fromkeys(("work_items", "problem_size", "devices"), "log"),
}


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel of a program.

    Attributes:
        name: Function and line in the source.
        place: Where it begins.
        item_loops: Loops over work items; 0 for a nest that is one item.
        copies: How often the compiled program contains it: as often as it is called, where it was inlined.
        counts: float64[len(COUNTED)], instructions of one work item by Kofler's heuristic.
        measured: The same in a run; ``None`` without one.
    """

    name: str
    place: SourcePlace
    item_loops: int
    copies: int
    counts: Counts
    measured: MeasuredKernel | None = None

    @property
    def static(self) -> dict[str, float]:
        """The static features; all but ``total`` in [0, 1]."""
        accesses = float(self.counts[PLACE["load"]] + self.counts[PLACE["store"]])
        coalesced = float(self.counts[PLACE[COALESCED]])
        return {
            **mix(self.counts),
            COALESCED: min(1.0, coalesced / accesses) if accesses else 1.0,
            TOTAL: float(self.counts[PLACE[TOTAL]]),
        }

    @property
    def runtime(self) -> dict[str, float]:
        """The run-time features of one launch but the devices; none without a run or if it did not run."""
        seen = self.measured
        if seen is None or not seen.launches:
            return {}
        items = seen.items / seen.launches
        return {
            "work_items": items,
            "input_buffers": float(len(seen.input_bytes)),
            "output_buffers": float(len(seen.output_bytes)),
            "input_bytes_per_item": sum(seen.input_bytes) / max(items, 1),
            "output_bytes_per_item": sum(seen.output_bytes) / max(items, 1),
            "problem_size": float(sum(seen.input_bytes) + sum(seen.output_bytes)),
        }

    @property
    def heuristic_error(self) -> float | None:
        """Largest difference of a share between heuristic and run, 0 to 1; ``None`` without a run."""
        if self.measured is None or not self.measured.counts.any():
            return None
        seen = mix(self.measured.counts)
        return max(abs(seen[kind] - share) for kind, share in mix(self.counts).items())


def mix(counts: Counts) -> dict[str, float]:
    """Share of every kind in all instructions; of several paths each counts its largest, the total too."""
    total = float(counts[PLACE[TOTAL]]) or 1.0
    return {kind: float(counts[PLACE[kind]]) / total for kind in KINDS}


def find_kernels(module: Module) -> tuple[KernelFeatures, ...]:
    """Kernels with their static features, in the order of the source; the program does not run."""
    return _features(module, find_nests(module), None)


def run_kernels(
    module: Module, arguments: Sequence[str] = (), stdin: bytes = b""
) -> tuple[KernelFeatures, ...]:
    """Kernels with static and measured features; the program is interpreted.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    nests = find_nests(module)
    return _features(module, nests, measure_kernels(module, nests, arguments, stdin))


def _features(
    module: Module, nests: Sequence[Nest], measured: Sequence[MeasuredKernel] | None
) -> tuple[KernelFeatures, ...]:
    counter = StaticCounter(module)
    groups: dict[tuple[str, SourcePlace], list[int]] = {}
    for number, nest in enumerate(nests):
        groups.setdefault((nest.name, nest.place), []).append(number)
    return tuple(
        KernelFeatures(
            name=name,
            place=place,
            item_loops=len(nests[numbers[0]].items),
            copies=len(numbers),
            counts=counter.of_item(nests[numbers[0]]),
            measured=None if measured is None else _joined([measured[k] for k in numbers]),
        )
        for (name, place), numbers in groups.items()
    )


def _joined(copies: Sequence[MeasuredKernel]) -> MeasuredKernel:
    """All launches of a kernel; the buffers of the copy that has the largest."""
    largest = max(copies, key=lambda k: sum(k.input_bytes) + sum(k.output_bytes))
    return MeasuredKernel(
        sum(k.launches for k in copies),
        sum(k.items for k in copies),
        sum((k.counts for k in copies[1:]), copies[0].counts),
        largest.input_bytes,
        largest.output_bytes,
    )
