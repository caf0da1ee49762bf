"""What a run executed in each kernel: instructions by kind, work items, buffers and their sizes.

The program is interpreted. Blocks are counted when they are entered, so the mix is exact; a buffer is a
range of memory that the accesses of a kernel share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from commanalyzer.kernels.features.kinds import COUNTED, Counts, counts_of
from commanalyzer.kernels.features.nests import Nest, accessed
from commanalyzer.kernels.features.static import item_control
from commanalyzer.program.ir.model import Instruction, Module
from commanalyzer.recording.interpreter.activation import Frame
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.observer import Unobserved
from commanalyzer.recording.interpreter.run import (
    DEFAULT_MAX_INSTRUCTIONS,
    DEFAULT_MAX_MEMORY_BYTES,
    interpret_on,
)


@dataclass(frozen=True, slots=True)
class MeasuredKernel:
    """A kernel in a run.

    Attributes:
        launches: How often it was executed.
        items: Work items of all launches.
        counts: float64[len(COUNTED)], executed instructions of all launches without what only controls the
            loops over items; the coalesced share is that of the static counts and 0 here.
        input_bytes: Size of every buffer that it reads, ordered.
        output_bytes: Size of every buffer that it writes, ordered.
    """

    launches: int
    items: int
    counts: Counts
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]


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
    *,
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS,
    max_memory_bytes: int = DEFAULT_MAX_MEMORY_BYTES,
) -> tuple[MeasuredKernel, ...]:
    """What a run executed, for each of ``nests``.

    Args:
        module: The program.
        nests: Its kernels.
        arguments: Command line after the program name.
        stdin: Standard input.
        max_instructions: Refuse to execute more.
        max_memory_bytes: Refuse to use more.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    observer = _KernelObserver(nests)
    machine = Machine(
        module,
        stdin=stdin,
        max_instructions=max_instructions,
        max_memory_bytes=max_memory_bytes,
        observer=observer,
    )
    interpret_on(machine, arguments)
    blocks = {(f.name, b.label): b.instructions for f in module.functions for b in f.blocks}
    return tuple(_summary(nest, seen, blocks) for nest, seen in zip(nests, observer.seen, strict=True))


class _KernelObserver(Unobserved):
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
