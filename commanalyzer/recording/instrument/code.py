"""What a plan inserts into a function, and where; no decision is taken here.

Input: registers and numbers as text, from the planner. Output: :class:`FunctionPatch`, which :mod:`rewrite`
splices into the module's text. Its lines know what they consist of (:class:`Event`), so that whoever has to
know what inserted code does (:mod:`commanalyzer.recording.instrument.loops.loop_code`) looks at fields, not
at text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field

from commanalyzer.program.ir.loops.induction import LoopEnds
from commanalyzer.program.ir.model import Instruction
from commanalyzer.recording.abi import HOOKS, MAX_LABELS

Text = Callable[[int], str]  # gives a line of a module
SCRATCH = "%ca.scratch"  # labels that a hook takes in memory
_DEBUG_ATTACHMENT = re.compile(r",? !dbg !\d+")


class Event(str):
    """An inserted line of IR."""

    __slots__ = ("result", "uses", "what")
    result: str  # register that it defines, empty for none
    uses: tuple[str, ...]  # operands that are labels or addresses, registers or numbers
    what: str  # what it does with them, see the subclasses; else empty


class HookCall(Event):
    """A call of the hook ``what``; ``uses`` are its arguments."""


class Address(Event):
    """The value of the pointer ``what`` (a register of the program, or a constant) as an integer."""


class Computed(Event):
    """The operation ``what`` (of comparisons with the predicate) on two integers of 64 bits."""

    @property
    def constant(self) -> int | None:
        """The second operand, if it is a number."""
        return int(self.uses[1]) if self.uses[1].lstrip("-").isdigit() else None


class Choice(Event):
    """One of two labels, by the condition ``what``: a register of the program, or computed from labels."""


class Joined(Event):
    """A phi of labels."""

    def besides(self, skipped: Container[str]) -> tuple[str, ...]:
        """Those that come from other blocks."""
        ways = zip(self.uses, self.what.split("\n"), strict=True)
        return tuple(label for label, block in ways if block[1:] not in skipped)


class Spilled(Event):
    """A label that goes to memory for the next hook to take, or the place where it goes."""


@dataclass(frozen=True, slots=True)
class RepeatedLoop:
    """A loop that also exists without hooks, see :mod:`commanalyzer.recording.instrument.loops.repeats`.

    The edges are ``ends``: the branch of the block in front of it becomes the choice. Blocks are in printed
    order, and ``number`` (of the loop in its function) makes the names of its copy.
    """

    ends: LoopEnds
    header: str
    blocks: tuple[str, ...]
    number: int
    guard: tuple[str, ...]  # lines that compute ``known``, at the end of the preheader
    known: str  # register (i1): the copy may run
    before_copy: tuple[str, ...]  # lines in front of the copy
    behind: tuple[str, ...]  # lines behind the instrumented loop
    # lines that compute ``is_due``, at the end of the preheader of a loop with a preview
    due: tuple[str, ...] = ()
    is_due: str = ""  # register (i1): the preview is worth while
    # blocks of the preview, the first for the branch from the preheader; they lead to the guard
    preview: tuple[str, ...] = ()
    # lines behind the guard that compute ``is_taken``, where the loop is not known
    offer: tuple[str, ...] = ()
    is_taken: str = ""  # register (i1): the copy may run all the same


@dataclass(frozen=True, slots=True)
class LoopFinding:
    """How a loop is run when it repeats, see :mod:`commanalyzer.recording.instrument.loops.repeats`."""

    header: str
    how: str  # ``known``, ``previewed``, ``with the outer loop``, ``hooks`` or ``counts only``
    reason: str = ""  # why not better; empty for known loops
    at: tuple[Instruction, ...] = ()  # the instructions that the reason speaks of


@dataclass(slots=True)
class FunctionPatch:
    """Insertions and replacements for one function, keyed by line of the module's text, or by block."""

    before: dict[int, list[str]] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)
    # phi lines per block, inserted behind the block's own phis
    phis: dict[str, list[str]] = field(default_factory=dict)
    tops: dict[str, list[str]] = field(default_factory=dict)  # lines per block, inserted behind all phis
    # lines at the very start of the entry block (local storage)
    entry: list[str] = field(default_factory=list)
    replaced: dict[int, str] = field(default_factory=dict)
    repeated: list[RepeatedLoop] = field(default_factory=list)  # loops that get a copy without hooks
    findings: list[LoopFinding] = field(default_factory=list)  # what was found out about every loop
    # new names of parameters whose old names the entry block defines
    renamed_parameters: dict[str, str] = field(default_factory=dict)
    needs_scratch: bool = False  # the function needs the scratch array for hooks that take labels in memory
    is_noinline: bool = False  # the function must keep a stack frame of its own
    word_bytes: int = 4  # bytes of memory that have one label
    _counter: int = 0

    def words(self, size_bytes: int) -> int:
        """Words that a value takes."""
        return -(-size_bytes // self.word_bytes)

    @property
    def copied_sizes(self) -> tuple[int, ...]:
        """Bytes of scalars of which a store may be a copy: smaller ones have no words of their own."""
        return tuple(size for size in (1, 2, 4, 8) if size >= self.word_bytes)

    def lines(self) -> Iterator[str]:
        """All lines that are inserted."""
        yield from self.entry
        for places in (self.before, self.after, self.phis, self.tops):
            for lines in places.values():
                yield from lines

    def replace(self, instruction: Instruction, text: str = "") -> None:
        """Write ``text`` in place of an instruction."""
        lines = range(instruction.first_line, instruction.last_line + 1)
        self.replaced.update(dict.fromkeys(lines, "") | {instruction.first_line: text})

    def fresh(self) -> str:
        """A new register name; the prefix cannot clash with the program's names."""
        self._counter += 1
        return f"%ca.{self._counter}"

    def call(self, out: list[str], hook: str, *arguments: str | int, result: str = "") -> str:
        """Append a hook call to ``out`` and return its result register (empty for void hooks)."""
        signature, uses = HOOKS[hook], [str(argument) for argument in arguments]
        result = "" if signature.returns == "void" else result or self.fresh()
        typed = ", ".join(f"{t} {a}" for t, a in zip(signature.parameters, uses, strict=True))
        return _appended(out, HookCall, f"call {signature.returns} @{hook}({typed})", result, uses, hook)

    def call_with(self, out: list[str], hook: str, labels: Sequence[str], *first: str | int) -> str:
        """Append the call of a hook that takes labels behind other arguments, many of them in memory."""
        if (inline := f"{hook}_{len(labels)}") in HOOKS:
            return self.call(out, inline, *first, *labels)
        return self.call(out, f"{hook}_many", *first, len(labels), self.spill(out, labels))

    def offset(self, out: list[str], address: str, number: int) -> str:
        """Append the addition of bytes to an address, if there are any, and return its register."""
        return self.compute(out, "add", address, number) if number else address

    def value(self, out: list[str], text: str) -> str:
        """Append ``text`` as the right-hand side of a new register that nothing is known of; return it."""
        name = self.fresh()
        out.append(f"  {name} = {text}")
        return name

    def address(self, out: list[str], pointer: str) -> str:
        """Append the conversion of a pointer to an integer and return its register."""
        return _appended(out, Address, f"ptrtoint ptr {pointer} to i64", self.fresh(), (), pointer)

    def compute(
        self, out: list[str], operation: str, left: str, right: str | int, *, result: str = ""
    ) -> str:
        """Append ``left operation right`` of 64-bit integers and return its register."""
        uses, text = (left, str(right)), f"{operation} i64 {left}, {right}"
        return _appended(out, Computed, text, result or self.fresh(), uses, operation)

    def choose(self, out: list[str], condition: str, yes: str, no: str) -> str:
        """Append the choice of a label and return its register."""
        text = f"select i1 {condition}, i64 {yes}, i64 {no}"
        return _appended(out, Choice, text, self.fresh(), (yes, no), condition)

    def join(self, out: list[str], incoming: Sequence[tuple[str, str]], *, result: str = "") -> str:
        """Append a phi of labels and the blocks that they come from, and return its register."""
        ways = ", ".join(f"[ {label}, {block} ]" for label, block in incoming)
        labels, blocks = zip(*incoming, strict=True)
        return _appended(out, Joined, f"phi i64 {ways}", result or self.fresh(), labels, "\n".join(blocks))

    def spill(self, out: list[str], labels: Sequence[str]) -> str:
        """Append stores of ``labels`` to the scratch array and return the pointer to pass."""
        assert len(labels) <= MAX_LABELS
        self.needs_scratch = True
        for index, label in enumerate(labels):
            place = f"getelementptr inbounds i64, ptr {SCRATCH}, i64 {index}"
            slot = _appended(out, Spilled, place, self.fresh()) if index else SCRATCH
            _appended(out, Spilled, f"store i64 {label}, ptr {slot}, align 8", "", (label,))
        return SCRATCH


def _appended(
    out: list[str], kind: type[Event], text: str, result: str, uses: Sequence[str] = (), what: str = ""
) -> str:
    event = kind(f"  {result} = {text}" if result else f"  {text}")
    event.result, event.uses, event.what = result, tuple(uses), what
    out.append(event)
    return result


def without_debug(line: str) -> str:
    """The line without its source place."""
    return _DEBUG_ATTACHMENT.sub("", line)


def plain_text(line: str) -> str:
    """An instruction's line as it is written into the instrumented module."""
    return without_debug(line).replace("musttail call", "call", 1)
