"""What the inserted code of a loop nest does, read from its text: memory that it looks at, labels that enter.

Input: the finished patch of a function. Output: :class:`LoopCode`, or ``None`` when the effect of the code
depends on anything but addresses, entering labels and the shadow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from commanalyzer.instrument.code import SCRATCH, FunctionPatch
from commanalyzer.ir.model import Block, Operand
from commanalyzer.ir.polynomials import Polynomial
from commanalyzer.ir.types import I64, PTR

TOKEN = re.compile(r'%(?:[\w.$-]+|"[^"]*")')
ADDRESS_LINE = re.compile(r"  (%ca\.\d+) = ptrtoint ptr (.+) to i64$")
OFFSET_LINE = re.compile(r"  (%ca\.\d+) = add i64 (%ca\.\d+), (-?\d+)$")
CALL_LINE = re.compile(r"  (?:(%ca\.\d+) = )?call (?:void|i64) @(ca_\w+)\((.*)\)$")
_LABEL_ARITHMETIC = re.compile(r"  (%ca\.\d+) = (?:add|and|or|phi|icmp \w+|select i1 %ca\.\d+,) i64 ")
_SPILL = re.compile(
    rf"  (?:store i64 \S+, ptr \S+, align 8|(%ca\.\d+) = getelementptr inbounds i64, ptr {SCRATCH}, i64 \d+)$"
)
_CHOICE = re.compile(r"  (%ca\.\d+) = select i1 (%\S+), (i64 \S+, i64 \S+)$")
_INCOMING = re.compile(r", %(?:[\w.$-]+|\"[^\"]*\") \]")
# position of the address among the arguments, bytes (None: the next argument says how many words)
_ACCESSES: dict[str, tuple[int, int | None]] = {
    "ca_load": (0, 4),
    "ca_load_high": (0, 8),
    "ca_copy_4": (1, 4),
    "ca_copy_8": (1, 8),
    "ca_copy_value": (1, 8),
    "ca_store_unknown": (1, None),
    "ca_store_pair": (1, 8),
    "ca_forget": (0, None),
}
_BLOCKS = frozenset({"ca_copy_words", "ca_fill"})
_PURE = re.compile(r"ca_(?:register_\d|register_many|join|control|address|lower|upper)$")
_NAMING = re.compile(r"ca_(?:register_\d|register_many|join)$")


@dataclass(frozen=True, slots=True)
class Collected:
    """Terms of a reduction that goes on behind the loop.

    Attributes:
        storage: The accumulator.
        labels: Per label of a term: the address that is loaded from, or a label from outside the loop.
    """

    storage: str
    labels: tuple[Polynomial | str, ...]


@dataclass(slots=True)
class LoopCode:
    """What the inserted code of a loop does.

    Attributes:
        accesses: Addresses whose shadow it reads or writes, with the number of bytes.
        blocks: First address and number of bytes of whole blocks of memory that it looks at.
        entering: Label registers from outside.
        counters: Number of each block counter and the block that counts.
        collected: Terms for reductions that go on.
        defined: Registers that it defines.
        has_effect: It counts rows, names values or changes the shadow.
    """

    accesses: list[tuple[Polynomial, int]] = field(default_factory=list)
    blocks: list[tuple[Polynomial, Polynomial]] = field(default_factory=list)
    entering: dict[str, None] = field(default_factory=dict)
    counters: list[tuple[int, str]] = field(default_factory=list)
    collected: list[Collected] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    has_effect: bool = False


def inserted_lines(patch: FunctionPatch, block: Block) -> Iterator[str]:
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


def loop_code(
    patch: FunctionPatch, blocks: list[Block], numbers: Numbers, enclosed: Collection[str] = ()
) -> LoopCode | None:
    """Read the code that was inserted into ``blocks``, a loop nest.

    Args:
        patch: What was inserted.
        blocks: Blocks of the nest.
        numbers: What is known about integers and addresses.
        enclosed: Accumulators whose reductions belong to the loop as a whole.
    """
    reader = _Reader(numbers, enclosed)
    for block in blocks:
        for line in inserted_lines(patch, block):
            if not reader.read(line, block.label):
                return None
    return reader.finish(patch)


class _Reader:
    def __init__(self, numbers: Numbers, enclosed: Collection[str]) -> None:
        self._numbers = numbers
        self._enclosed = enclosed
        self._code = LoopCode()
        self._addresses: dict[str, Polynomial] = {}
        self._loads: dict[str, Polynomial] = {}  # label register -> address
        self._used: dict[str, None] = {}
        self._terms: dict[str, list[tuple[str, ...]]] = {}  # by storage
        self._resets: list[str] = []
        self._closed: list[str] = []

    def read(self, line: str, block: str) -> bool:
        """Take a line; false if it cannot be followed."""
        if found := ADDRESS_LINE.match(line):
            address = self._numbers.polynomial(Operand(PTR, found[2]))
            if address is None:
                return False
            return self._set_address(found[1], address)
        if (found := OFFSET_LINE.match(line)) and found[2] in self._addresses:
            return self._set_address(found[1], self._addresses[found[2]] + Polynomial.number(int(found[3])))
        if found := CALL_LINE.match(line):
            return self._call(found[1] or "", found[2], found[3], block)
        if (found := _CHOICE.match(line)) and not found[2].startswith("%ca."):
            return self._numbers.decides(found[2]) and self._define(found[1]) and self._use(found[3])
        if found := _LABEL_ARITHMETIC.match(line):
            return self._define(found[1]) and self._use(_INCOMING.sub(" ]", line.split("=", 1)[1]))
        if found := _SPILL.match(line):
            return self._define(found[1] or "") and self._use(line.split("ptr", 1)[0])
        return False

    def finish(self, patch: FunctionPatch) -> LoopCode | None:
        """The code as a whole; ``None`` if reductions begin or end in a way that is not followed."""
        code = self._code
        code.entering = {name: None for name in self._used if name not in code.defined}
        inside = {*self._resets, *self._closed}
        for storage, terms in self._terms.items():
            if storage in self._enclosed:
                code.has_effect = True
                continue
            if storage in inside:
                continue
            if len(terms) != 1:
                return None
            labels = [self._collected(label) for label in terms[0]]
            if any(label is None for label in labels):
                return None
            code.collected.append(Collected(storage, tuple(label for label in labels if label is not None)))
        if inside and not self._are_whole(patch):
            return None
        return code

    def _are_whole(self, patch: FunctionPatch) -> bool:
        """Reductions that begin or end in the loop do both there, and nowhere else."""
        begun_or_ended = Counter((*self._resets, *self._closed))
        for storage, count in begun_or_ended.items():
            mark = f"ptr {storage},"
            everywhere = sum(
                mark in line and ("@ca_accumulator_reset" in line or "@ca_accumulator_close" in line)
                for line in patch.lines()
            )
            if count != everywhere or storage not in self._resets or storage not in self._closed:
                return False
        return True

    def _collected(self, label: str) -> Polynomial | str | None:
        """Where a label comes from; ``None`` if it is computed in the loop or was passed in memory."""
        if not label:
            return None
        if label in self._loads:
            return self._loads[label]
        return None if label in self._code.defined else label

    def _set_address(self, name: str, address: Polynomial) -> bool:
        self._addresses[name] = address
        return self._define(name)

    def _define(self, name: str) -> bool:
        if name:
            self._code.defined.add(name)
        return True

    def _use(self, text: str) -> bool:
        tokens = TOKEN.findall(text)
        if not all(t.startswith("%ca.") for t in tokens):
            return False
        self._used.update((t, None) for t in tokens if t != SCRATCH)
        return True

    def _call(self, result: str, hook: str, text: str, block: str) -> bool:
        arguments = [a.rsplit(" ", 1)[1] for a in text.split(", ")] if text else []
        if hook == "ca_count_block":
            self._code.counters.append((int(arguments[0]), block))
            return True
        if hook.startswith("ca_term_"):
            return self._term(hook, arguments)
        if hook in ("ca_accumulator_reset", "ca_accumulator_close"):
            return self._reduction(hook, arguments, result)
        if hook in _BLOCKS:
            return self._block(arguments)
        self._define(result)
        if _PURE.match(hook):
            self._code.has_effect |= bool(_NAMING.match(hook))
            return self._use(text)
        if hook not in _ACCESSES and not hook.startswith("ca_row_"):
            return False
        position, size = _ACCESSES.get(hook, (1, None))
        address = self._address(arguments[position])
        if address is None:
            return False
        self._code.accesses.append((address, int(arguments[position + 1]) * 4 if size is None else size))
        if hook in ("ca_load", "ca_load_high"):
            if hook == "ca_load":
                self._loads[result] = address
            return True
        self._code.has_effect = True
        return self._use(" ".join(arguments[position + 1 :]))

    def _block(self, arguments: list[str]) -> bool:
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

    def _term(self, hook: str, arguments: list[str]) -> bool:
        in_memory = hook == "ca_term_many"
        self._terms.setdefault(arguments[0], []).append(("",) if in_memory else tuple(arguments[1:]))
        return in_memory or self._use(" ".join(arguments[1:]))

    def _reduction(self, hook: str, arguments: list[str], result: str) -> bool:
        self._define(result)
        self._code.has_effect = True
        (self._resets if hook == "ca_accumulator_reset" else self._closed).append(arguments[0])
        return True
