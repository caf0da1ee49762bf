"""What a plan inserts into a function, and where; no decision is taken here.

Input: lines of IR from the planner. Output: :class:`FunctionPatch`, which :mod:`rewrite` splices into the
module's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from commanalyzer.abi.hooks import HOOKS, MAX_LABELS
from commanalyzer.instrument.events import (
    SCRATCH,
    Address,
    Choice,
    Computed,
    Event,
    HookCall,
    Joined,
    Slot,
    Spilled,
)

_DEBUG_ATTACHMENT = re.compile(r",? !dbg !\d+")


@dataclass(frozen=True, slots=True)
class RepeatedLoop:
    """A loop that also exists without hooks, see :mod:`commanalyzer.instrument.loops.repeats`.

    Attributes:
        preheader: Block before it; its branch becomes the choice.
        header: First block.
        exiting: The block that leaves the loop.
        exit: Where that leads.
        blocks: All blocks, in printed order.
        number: Of the loop in its function, for the names of its copy.
        guard: Lines that compute ``known``, at the end of the preheader.
        known: Register (i1): the copy may run.
        before_copy: Lines in front of the copy.
        behind: Lines behind the instrumented loop.
        due: Lines that compute ``is_due``, at the end of the preheader of a loop with a preview.
        is_due: Register (i1): the preview is worth while.
        preview: Blocks of the preview, the first for the branch from the preheader; they lead to the guard.
        offer: Lines behind the guard that compute ``is_taken``, where the loop is not known.
        is_taken: Register (i1): the copy may run all the same.
    """

    preheader: str
    header: str
    exiting: str
    exit: str
    blocks: tuple[str, ...]
    number: int
    guard: tuple[str, ...]
    known: str
    before_copy: tuple[str, ...]
    behind: tuple[str, ...]
    due: tuple[str, ...] = ()
    is_due: str = ""
    preview: tuple[str, ...] = ()
    offer: tuple[str, ...] = ()
    is_taken: str = ""


@dataclass(frozen=True, slots=True)
class LoopFinding:
    """How a loop is run when it repeats, see :mod:`commanalyzer.instrument.loops.repeats`.

    Attributes:
        header: Its first block.
        how: ``known``, ``previewed``, ``with the outer loop`` or ``hooks``.
        reason: Why not better; empty for known loops.
    """

    header: str
    how: str
    reason: str = ""


@dataclass(slots=True)
class FunctionPatch:
    """Insertions and replacements for one function, keyed by line of the module's text.

    Attributes:
        before: Lines to insert before a line.
        after: Lines to insert after a line.
        phis: Phi lines per block, inserted behind the block's own phis.
        tops: Lines per block, inserted behind all phis.
        entry: Lines at the very start of the entry block (local storage).
        replaced: New text of a line.
        repeated: Loops that get a copy without hooks.
        findings: What was found out about every loop.
        renamed_parameters: New names of parameters whose old names the entry block defines.
        needs_scratch: The function needs the scratch array for hooks that take labels in memory.
        is_noinline: The function must keep a stack frame of its own.
    """

    before: dict[int, list[str]] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)
    phis: dict[str, list[str]] = field(default_factory=dict)
    tops: dict[str, list[str]] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)
    replaced: dict[int, str] = field(default_factory=dict)
    repeated: list[RepeatedLoop] = field(default_factory=list)
    findings: list[LoopFinding] = field(default_factory=list)
    renamed_parameters: dict[str, str] = field(default_factory=dict)
    needs_scratch: bool = False
    is_noinline: bool = False
    used_hooks: set[str] = field(default_factory=set)
    _counter: int = 0

    def lines(self) -> Iterator[str]:
        """All lines that are inserted."""
        yield from self.entry
        for places in (self.before, self.after, self.phis, self.tops):
            for lines in places.values():
                yield from lines

    def fresh(self) -> str:
        """A new register name; the prefix cannot clash with the program's names."""
        self._counter += 1
        return f"%ca.{self._counter}"

    def call(self, out: list[str], hook: str, *arguments: str | int, result: str = "") -> str:
        """Append a hook call to ``out`` and return its result register (empty for void hooks)."""
        self.used_hooks.add(hook)
        result = "" if HOOKS[hook].returns == "void" else result or self.fresh()
        return _appended(out, HookCall.of(hook, arguments, result))

    def value(self, out: list[str], text: str) -> str:
        """Append ``text`` as the right-hand side of a new register that nothing is known of; return it."""
        name = self.fresh()
        out.append(f"  {name} = {text}")
        return name

    def address(self, out: list[str], pointer: str) -> str:
        """Append the conversion of a pointer to an integer and return its register."""
        return _appended(out, Address.of(pointer, self.fresh()))

    def compute(
        self, out: list[str], operation: str, left: str, right: str | int, *, result: str = ""
    ) -> str:
        """Append ``left operation right`` of 64-bit integers and return its register."""
        return _appended(out, Computed.of(operation, left, right, result or self.fresh()))

    def choose(self, out: list[str], condition: str, yes: str, no: str) -> str:
        """Append the choice of a label and return its register."""
        return _appended(out, Choice.of(condition, yes, no, self.fresh()))

    def join(self, out: list[str], incoming: Sequence[tuple[str, str]], *, result: str = "") -> str:
        """Append a phi of labels and the blocks that they come from, and return its register."""
        return _appended(out, Joined.of(incoming, result or self.fresh()))

    def spill(self, out: list[str], labels: Sequence[str]) -> str:
        """Append stores of ``labels`` to the scratch array and return the pointer to pass."""
        assert len(labels) <= MAX_LABELS
        self.needs_scratch = True
        for index, label in enumerate(labels):
            slot = _appended(out, Slot.of(index, self.fresh())) if index else SCRATCH
            out.append(Spilled.of(label, slot))
        return SCRATCH


def _appended(out: list[str], event: Event) -> str:
    out.append(event)
    return event.result


def without_debug(line: str) -> str:
    """The line without its source place."""
    return _DEBUG_ATTACHMENT.sub("", line)


def plain_text(line: str) -> str:
    """An instruction's line as it is written into the instrumented module."""
    return without_debug(line).replace("musttail call", "call", 1)
