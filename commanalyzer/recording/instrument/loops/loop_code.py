"""What the inserted code of a loop nest does, read from its events: memory looked at, labels that enter.

Input: the finished patch of a function. Output: :class:`LoopCode`; there is an obstacle when the effect of
the code depends on anything but addresses, entering labels and the shadow.

Writes loops that exist twice into a function's text: the choice before them, the copy, the joined exit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from commanalyzer.program.ir.loops.induction import Polynomial
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, Operand
from commanalyzer.program.ir.types import I64, PTR
from commanalyzer.recording.abi import MAX_INLINE_LABELS
from commanalyzer.recording.instrument.code import (
    SCRATCH,
    Address,
    Choice,
    Computed,
    Event,
    FunctionPatch,
    HookCall,
    Joined,
    RepeatedLoop,
    Text,
)

TOKEN = re.compile(r'%(?:[\w.$-]+|"[^"]*")')
_OWN = "%ca."  # registers of the instrumentation
_ON_LABELS = frozenset({"add", "and", "or", "icmp eq"})
# position of the address among the arguments, bytes (None: the next argument says how many words)
_ACCESSES: dict[str, tuple[int, int | None]] = {
    "ca_load": (0, 4),
    "ca_load_high": (0, 8),
    "ca_copy_4": (1, 4),
    "ca_copy_part": (1, None),
    "ca_copy_8": (1, 8),
    "ca_copy_value": (1, 8),
    "ca_store_unknown": (1, None),
    "ca_store_pair": (1, 8),
    "ca_forget": (0, None),
}
_BLOCKS = frozenset({"ca_copy_words", "ca_fill"})
_NAMING = {"ca_register_many", "ca_join", *(f"ca_register_{n}" for n in range(MAX_INLINE_LABELS + 1))}
_PURE = _NAMING | {"ca_control", "ca_address", "ca_lower", "ca_upper"}


class Obstacle(Exception):
    """Why a loop is not run better, for a user, and the instructions that this speaks of, in that order."""

    def __init__(self, reason: str, *at: Instruction) -> None:
        self.reason, self.at = reason, at


@dataclass(slots=True)
class LoopCode:
    """What the inserted code of a loop does."""

    # addresses whose shadow it reads or writes, with the number of bytes
    accesses: list[tuple[Polynomial, int]] = field(default_factory=list)
    # first address and number of bytes of whole blocks of memory that it looks at
    blocks: list[tuple[Polynomial, Polynomial]] = field(default_factory=list)
    entering: dict[str, None] = field(default_factory=dict)  # label registers from outside
    # number of each block counter and the block that counts
    counters: list[tuple[int, str]] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    has_effect: bool = False  # it counts rows, names values or changes the shadow


def inserted_lines(patch: FunctionPatch, block: BasicBlock) -> Iterator[str]:
    """Lines that the patch inserts into a block."""
    yield from patch.phis.get(block.label, ())
    yield from patch.tops.get(block.label, ())
    for instruction in block.instructions:
        yield from patch.before.get(instruction.first_line, ())
        yield from patch.after.get(instruction.last_line, ())


class Numbers(Protocol):
    """What is known about integers and addresses in a loop."""

    def polynomial(self, operand: Operand) -> Polynomial | None:
        """Value of an integer or pointer; ``None`` if it is not known in advance."""

    def decides(self, condition: str) -> bool:
        """A condition of the loop is known in advance."""


def computed_address(line: Event, numbers: Numbers, addresses: Mapping[str, Polynomial]) -> Polynomial | None:
    """The address that a line computes: of a pointer, or some bytes behind one of ``addresses``."""
    if isinstance(line, Address):
        return numbers.polynomial(Operand(PTR, line.what))
    if isinstance(line, Computed) and line.what == "add" and line.uses[0] in addresses:
        return None if line.constant is None else addresses[line.uses[0]] + Polynomial.number(line.constant)
    return None


def loop_code(
    patch: FunctionPatch, blocks: list[BasicBlock], numbers: Numbers, skipped: Container[str] = ()
) -> LoopCode:
    """Read the code that was inserted into ``blocks``, a loop nest, of which ``skipped`` are not executed.

    Raises an obstacle if the effect of that code is not known in advance.
    """
    reader = _CodeReader(numbers, patch.word_bytes, skipped)
    for block in (b for b in blocks if b.label not in skipped):
        for line in inserted_lines(patch, block):
            if not reader.read(line, block.label):
                raise Obstacle("the recorder has to see every time what is done", *_at(patch, blocks, line))
    return reader.finish(patch, blocks)


def _at(patch: FunctionPatch, blocks: list[BasicBlock], line: str) -> tuple[Instruction, ...]:
    """The instruction of the program that a line is inserted next to; none for phis."""
    every = (i for b in blocks for i in b.instructions)
    around = ((i, patch.before.get(i.first_line, []) + patch.after.get(i.last_line, [])) for i in every)
    return next(((i,) for i, lines in around if line in lines), ())


class _CodeReader:
    def __init__(self, numbers: Numbers, word_bytes: int, skipped: Container[str]) -> None:
        self._numbers, self._word_bytes, self._skipped = numbers, word_bytes, skipped
        self._code = LoopCode()
        self._addresses: dict[str, Polynomial] = {}
        self._used: dict[str, None] = {}
        self._terms: set[str] = set()  # storages
        self._summing = ""  # a line that adds a term
        self._resets: list[str] = []
        self._closed: list[str] = []

    def read(self, line: str, block: str) -> bool:
        """Take a line; false if it cannot be followed."""
        if not isinstance(line, Event):
            return False
        self._code.defined.add(line.result)
        address = computed_address(line, self._numbers, self._addresses)
        if address is not None:
            self._addresses[line.result] = address
            return True
        if isinstance(line, HookCall):
            return self._call(line, block)
        if isinstance(line, Choice) and not self._is_followed(line.what):
            return False
        if isinstance(line, Address) or (isinstance(line, Computed) and line.what not in _ON_LABELS):
            return False
        return self._use(line.besides(self._skipped) if isinstance(line, Joined) else line.uses)

    def _is_followed(self, condition: str) -> bool:
        """A condition is computed from labels, or known in advance."""
        if condition.startswith(_OWN):
            return self._use((condition,))
        return condition.startswith("%") and self._numbers.decides(condition)

    def finish(self, patch: FunctionPatch, blocks: list[BasicBlock]) -> LoopCode:
        """The code as a whole; reductions that begin or end in a way that is not followed are obstacles."""
        code = self._code
        code.entering = {name: None for name in self._used if name not in code.defined}
        inside = {*self._resets, *self._closed}
        if self._terms - inside or not self._are_whole(patch):
            raise Obstacle("a sum begins before it or goes on after it", *_at(patch, blocks, self._summing))
        return code

    def _are_whole(self, patch: FunctionPatch) -> bool:
        """Reductions that begin or end in the loop do both there, and nowhere else."""
        begun, ended = Counter(self._resets), Counter(self._closed)
        everywhere = Counter(
            line.uses[0]
            for line in patch.lines()
            if isinstance(line, HookCall) and line.what in ("ca_accumulator_reset", "ca_accumulator_close")
        )
        return all(begun[s] and ended[s] and begun[s] + ended[s] == everywhere[s] for s in begun | ended)

    def _use(self, operands: Iterable[str]) -> bool:
        registers = [name for name in operands if name.startswith("%")]
        if not all(name.startswith(_OWN) for name in registers):
            return False
        self._used.update((name, None) for name in registers if name != SCRATCH)
        return True

    def _call(self, call: HookCall, block: str) -> bool:
        hook, arguments = call.what, call.uses
        if hook == "ca_count_block":
            self._code.counters.append((int(arguments[0]), block))
            return True
        if hook.startswith("ca_term_"):
            self._summing = call
            self._terms.add(arguments[0])
            return hook == "ca_term_many" or self._use(arguments[1:])
        if hook in ("ca_accumulator_reset", "ca_accumulator_close"):
            self._code.has_effect = True
            (self._resets if hook == "ca_accumulator_reset" else self._closed).append(arguments[0])
            return True
        if hook in _BLOCKS:
            return self._block(arguments)
        if hook in _PURE:
            self._code.has_effect |= hook in _NAMING
            return self._use(arguments)
        if hook not in _ACCESSES and not hook.startswith("ca_row_"):
            return False
        position, size = _ACCESSES.get(hook, (1, None))
        address = self._address(arguments[position])
        if address is None:
            return False
        num_bytes = int(arguments[position + 1]) * self._word_bytes if size is None else size
        self._code.accesses.append((address, num_bytes))
        if hook in ("ca_load", "ca_load_high"):
            return True
        self._code.has_effect = True
        return self._use(arguments[position + 1 :])

    def _block(self, arguments: Sequence[str]) -> bool:
        """Copies and fills: (site, addresses, bytes)."""
        self._code.has_effect = True
        size = self._numbers.polynomial(Operand(I64, arguments[-1]))
        for text in arguments[1:-1]:
            address = self._address(text)
            if address is None or size is None:
                return False
            self._code.blocks.append((address, size))
        return True

    def _address(self, text: str) -> Polynomial | None:
        if text in self._addresses:
            return self._addresses[text]
        return None if text in self._code.defined else self._numbers.polynomial(Operand(I64, text))


BlockRole = Literal["entry", "exit", "look", "recall", "seen", "guard", "offer"]
"""Blocks that are added around a loop: ``entry`` in front of its copy; ``exit`` behind the instrumented loop;
``look`` in front of a preview, ``recall`` takes what a preview found out before, ``seen`` says what it found
out, ``guard`` behind it; ``offer`` between a guard and the instrumented loop."""
_INCOMING = re.compile(r'\[ ([^\[\]]+?), (%(?:[\w.$-]+|"[^"]*")) \]')


def suffixed(name: str, suffix: str) -> str:
    """A register or label with another name."""
    return f'{name[:-1]}{suffix}"' if name.endswith('"') else name + suffix


def block_at(role: BlockRole, header: str, number: int) -> str:
    """Label of a block that is added around loop ``number``."""
    return suffixed(f"%{header}", f".ca.{number}.{role}")


class LoopCopies:
    """The copies of one function's loops, made of lines of the original, which ``text`` gives."""

    def __init__(self, function: Function, repeated: Sequence[RepeatedLoop], text: Text) -> None:
        self._text = text
        self._blocks = {block.label: block for block in function.blocks}
        self._repeated = repeated
        self._before = {loop.ends.preheader: loop for loop in repeated}
        self._headers = {loop.header: loop for loop in repeated}
        self._left = {loop.ends.exiting: loop for loop in repeated}
        self._behind = {loop.ends.exit: loop for loop in repeated}
        self._renamed = {loop.number: self._new_names(loop) for loop in repeated}

    def joined(self, block: BasicBlock, lines: list[str]) -> list[str]:
        """Lines of an instrumented block, with its branches to and from copies."""
        result = list(lines)
        if (loop := self._behind.get(block.label)) is not None:  # it takes the copy's values, too
            renamed, left = self._renamed[loop.number], _of_loop("exit", loop)
            last = renamed[f"%{loop.ends.exiting}"]
            _rejoin(result, loop.ends.exiting, lambda v: f"[ {v}, {left} ], [ {renamed.get(v, v)}, {last} ]")
        if (loop := self._left.get(block.label)) is not None:
            old, new = f"%{loop.ends.exit}", _of_loop("exit", loop)
            result[-1] = TOKEN.sub(lambda m: new if m[0] == old else m[0], result[-1])
        if (loop := self._before.get(block.label)) is not None:
            ways = f"label {_of_loop('look', loop)}, label %{loop.header}"
            asked = [*loop.due, f"  br i1 {loop.is_due}, {ways}"]  # whether a preview is worth while
            result[-1:] = asked if loop.preview else self._choice(loop)
        if (loop := self._headers.get(block.label)) is not None:  # it takes the preheader's values
            before = f"%{loop.ends.preheader}"
            if loop.preview:
                guard = _of_loop("guard", loop)
                _rejoin(result, loop.ends.preheader, lambda v: f"[ {v}, {before} ], [ {v}, {guard} ]")
            if loop.offer:
                offer = _of_loop("offer", loop)
                _rejoin(result, loop.ends.preheader, lambda v: f"[ {v}, {offer} ]")
        return result

    def _choice(self, loop: RepeatedLoop) -> list[str]:
        """The guard and the branch to the copy or the instrumented loop."""
        copy = _of_loop("entry", loop)
        if not loop.offer:
            return [*loop.guard, f"  br i1 {loop.known}, label {copy}, label %{loop.header}"]
        behind = _of_loop("offer", loop)
        return [
            *loop.guard,
            f"  br i1 {loop.known}, label {copy}, label {behind}",
            "",
            f"{behind[1:]}:",
            *loop.offer,
            f"  br i1 {loop.is_taken}, label {copy}, label %{loop.header}",
        ]

    def blocks(self) -> list[str]:
        """All blocks that are new; those of the function were asked for before."""
        result: list[str] = []
        for loop in self._repeated:
            renamed = self._renamed[loop.number]
            if loop.preview:
                guard = _of_loop("guard", loop)
                result += [*loop.preview, "", f"{guard[1:]}:", *self._choice(loop)]
            result += ["", f"{_of_loop('entry', loop)[1:]}:", *loop.before_copy]
            result.append(f"  br label {renamed[f'%{loop.header}']}")
            for label in loop.blocks:
                block = self._blocks[label]
                result += ["", f"{renamed[f'%{label}'][1:]}:"]
                lines = range(block.instructions[0].first_line, block.instructions[-1].last_line + 1)
                result += [self._copied(loop, self._text(line)) for line in lines if self._text(line)]
            result += ["", f"{_of_loop('exit', loop)[1:]}:", *loop.behind, f"  br label %{loop.ends.exit}"]
        return result

    def _copied(self, loop: RepeatedLoop, line: str) -> str:
        """A line of the copy: registers and labels of the loop have other names."""
        renamed = self._renamed[loop.number]
        return "" if line.lstrip().startswith("#dbg_") else TOKEN.sub(lambda m: renamed.get(m[0], m[0]), line)

    def _new_names(self, loop: RepeatedLoop) -> dict[str, str]:
        names = [f"%{label}" for label in loop.blocks]
        names += [i.name for label in loop.blocks for i in self._blocks[label].instructions if i.name]
        renamed = {name: suffixed(name, f".ca.{loop.number}") for name in names}
        return renamed | {f"%{loop.ends.preheader}": _of_loop("entry", loop)}


def _rejoin(lines: list[str], block: str, ways: Callable[[str], str]) -> None:
    """Replace what the phis in front of the lines take from ``block`` by the ``ways`` of that value."""
    for k, line in enumerate(lines):
        if " = phi " not in line:
            break
        lines[k] = _INCOMING.sub(lambda m: ways(m[1]) if m[2] == f"%{block}" else m[0], line)


def _of_loop(role: BlockRole, loop: RepeatedLoop) -> str:
    return block_at(role, loop.header, loop.number)
