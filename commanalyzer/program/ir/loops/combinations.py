"""Choices that are operations: minimum, maximum and logical connectives written as ``select`` or branch.

``if (x < m) m = x;`` is ``m = min(m, x)``: the result depends on both operands, whichever is taken. LLVM has
it as a ``select``, or as a phi when the branch does something else as well.

Minima and maxima kept in memory: ``if (x < *m) *m = x;``.

The store happens only when it changes something, but ``*m`` is a reduction over everything it was compared
with, as ``*m = min(*m, x)`` is. LLVM may have moved the load of ``*m`` out of the loop; then registers
follow it.

       compare x with r, the value at p
        |                  |
    store x, p           (otherwise)
        |                  |
       join

Stores that only count: ``h[b[i]] += q``, where no element of an array but the index decides what is added.

The contribution has no source of its own, or one that all contributions share. Which place it goes to is
known where the index is, so the owner of the index makes it (histograms, charges of particles on a grid).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.foundation.flows import Fold
from commanalyzer.program.ir.cfg import ControlFlow
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, Operand

_LESS = frozenset({"slt", "sle", "ult", "ule", "olt", "ole"})
_GREATER = frozenset({"sgt", "sge", "ugt", "uge", "ogt", "oge"})
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(frozen=True, slots=True)
class Combination:
    """A register that combines two operands; its condition is a comparison, or the first operand."""

    operands: tuple[Operand, Operand]
    fold: Fold
    condition: str


def combinations(function: Function, cfg: ControlFlow) -> dict[str, Combination]:
    """Selects and phis of ``function`` that are minima, maxima or connectives, by register."""
    definitions = {i.name: i for i in function.instructions if i.name}
    terminators = {block.label: block.terminator for block in function.blocks}
    found: dict[str, Combination] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            choice = _choice(instruction, block.label, cfg, terminators)
            if choice is None:
                continue
            combination = _combination(choice, definitions, is_select=instruction.opcode == "select")
            if combination is not None:
                found[instruction.name] = combination
    return found


def _choice(
    instruction: Instruction, block: str, cfg: ControlFlow, terminators: Mapping[str, Instruction]
) -> tuple[Operand, Operand, Operand] | None:
    """Condition, operand if true, operand if false."""
    if instruction.opcode == "select":
        condition, yes, no = instruction.operands
        return (condition, yes, no) if condition.type.kind == "int" else None
    top = cfg.immediate_dominator.get(block)
    if instruction.opcode != "phi" or len(instruction.operands) != 2 or top is None:
        return None
    branch = terminators[top]
    same_loop = cfg.innermost_loop.get(top) == cfg.innermost_loop.get(block)
    if branch.opcode != "br" or len(set(branch.targets)) != 2 or not same_loop or cfg.is_loop_header(block):
        return None
    sides = [[cfg.dominates(t, p) for p in instruction.incoming] for t in branch.targets]
    if sides == [[True, False], [False, True]]:
        return branch.operands[0], instruction.operands[0], instruction.operands[1]
    if sides == [[False, True], [True, False]]:
        return branch.operands[0], instruction.operands[1], instruction.operands[0]
    return None


def _combination(
    choice: tuple[Operand, Operand, Operand], definitions: Mapping[str, Instruction], *, is_select: bool
) -> Combination | None:
    condition, yes, no = choice
    if yes.type.kind == "int" and yes.type.bits == 1 and (no.text in _FALSE or yes.text in _TRUE):
        if not is_select:  # the operand behind the branch need not be known at the join
            return None
        other = yes if no.text in _FALSE else no
        return Combination((condition, other), Fold.BITWISE, condition.text)
    comparison = definitions.get(condition.text)
    if comparison is None or comparison.opcode not in ("icmp", "fcmp"):
        return None
    compared = [o.text for o in comparison.operands]
    if compared not in ([yes.text, no.text], [no.text, yes.text]) or yes.text == no.text:
        return None
    fold = comparison_fold(comparison, yes.text)
    return None if fold is Fold.NONE else Combination((yes, no), fold, condition.text)


def comparison_fold(comparison: Instruction, taken: str) -> Fold:
    """Whether taking operand ``taken`` of a comparison that holds takes the smaller or the larger one."""
    is_first = comparison.operands[0].text == taken
    if comparison.predicate in _LESS:
        return Fold.MIN if is_first else Fold.MAX
    if comparison.predicate in _GREATER:
        return Fold.MAX if is_first else Fold.MIN
    return Fold.NONE


@dataclass(frozen=True, slots=True)
class ExtremumStore:
    """A conditional store that keeps a minimum or maximum; the block ``otherwise`` is executed instead."""

    store: Instruction
    otherwise: str
    fold: Fold

    @property
    def value(self) -> Operand:
        """What the value in memory is compared with."""
        return self.store.operands[0]

    @property
    def pointer(self) -> Operand:
        """Where the minimum or maximum lives."""
        return self.store.operands[1]


def extremum_stores(function: Function, cfg: ControlFlow) -> tuple[ExtremumStore, ...]:
    """All stores of ``function`` that keep a minimum or maximum in memory."""
    finder = _Stores(function, cfg)
    return tuple(
        found
        for block in function.blocks
        for store in block.instructions
        if store.opcode == "store" and store.operands[0].type.kind in ("int", "float")
        if (found := finder.match(store, block)) is not None
    )


class _Stores:
    """What stores of one function keep: minima, maxima, counts."""

    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self._cfg = cfg
        self._blocks: Mapping[str, BasicBlock] = {block.label: block for block in function.blocks}
        self._defined = {i.name: (b.label, i) for b in function.blocks for i in b.instructions if i.name}

    def match(self, store: Instruction, block: BasicBlock) -> ExtremumStore | None:
        predecessors, successors = self._cfg.predecessors[block.label], self._cfg.successors[block.label]
        if len(predecessors) != 1 or len(successors) != 1 or not store.operands[0].is_local:
            return None
        top = predecessors[0]
        branch = self._blocks[top].terminator
        otherwise = next((t for t in branch.targets if t != block.label), "")
        around = self._cfg.predecessors.get(otherwise), self._cfg.successors.get(otherwise)
        if branch.opcode != "br" or around != ((top,), successors):
            return None
        _, comparison = self._defined.get(branch.operands[0].text, ("", None))
        if comparison is None or comparison.opcode not in ("icmp", "fcmp"):
            return None
        fold = comparison_fold(comparison, store.operands[0].text)
        if branch.targets[0] == otherwise and fold is not Fold.NONE:
            fold = Fold.MAX if fold is Fold.MIN else Fold.MIN
        kept = [o.text for o in comparison.operands if o.text != store.operands[0].text]
        if fold is Fold.NONE or len(kept) != 1:
            return None
        is_followed = self._defined.get(kept[0], ("", store))[1].opcode == "phi"
        holds = self._is_followed if is_followed else self._is_loaded
        if not holds(kept[0], store.operands[1].text, block.label, top):
            return None
        return ExtremumStore(store, otherwise, fold)

    def _is_loaded(self, register: str, pointer: str, _: str, block: str) -> bool:
        """The register was loaded from ``pointer`` in ``block``, and nothing was written since."""
        place, load = self._defined.get(register, ("", None))
        if load is None or load.opcode != "load" or load.operands[0].text != pointer or place != block:
            return False
        instructions = self._blocks[block].instructions
        behind = instructions[instructions.index(load) + 1 :]
        return all(i.opcode not in ("store", "call", "invoke", "atomicrmw", "cmpxchg") for i in behind)

    def _is_followed(self, register: str, pointer: str, block: str, top: str) -> bool:
        """The register is what memory holds behind ``top``: loaded or stored before, or a phi of such.

        Several phis may follow one place, in one loop and in those around it; each is held to follow until
        something that it joins does not. None may be older than the store in ``block``.
        """
        pending, seen = [(register, top)], set[str]()
        while pending:
            name, end = pending.pop()
            held, (place, joined) = self._held(name, pointer, end), self._defined.get(name, ("", None))
            is_known = pointer not in self._defined or self._cfg.dominates(self._defined[pointer][0], end)
            if not is_known or not (held or (joined and joined.opcode == "phi")):
                return False
            if block in self._cfg.between(held or place, end) - {held or place}:
                return False
            if joined and not held and name not in seen:
                seen.add(name)
                pending += zip((o.text for o in joined.operands), joined.incoming, strict=True)
        return True

    def _held(self, value: str, pointer: str, block: str) -> str:
        """Label of the block in front of the end of ``block`` that loads the value there, or stores it."""
        place, definition = self._defined.get(value, ("", None))
        if definition is not None and definition.opcode == "load" and definition.operands[0].text == pointer:
            return place
        stored = [value, pointer]
        for label in self._cfg.dominator_chain(block):
            stores = (i for i in self._blocks[label].instructions if i.opcode == "store")
            if any([o.text for o in store.operands] == stored for store in stores):
                return label
        return ""

    def indices(self, pointer: Operand) -> tuple[Operand, ...]:
        found: list[Operand] = []
        _, address = self._defined.get(pointer.text, ("", None))
        while address is not None and address.opcode == "getelementptr":
            found.extend(operand for operand in address.operands[1:] if operand.is_local)
            _, address = self._defined.get(address.operands[0].text, ("", None))
        return tuple(found)

    def is_count(self, store: Instruction, block: str) -> bool:
        """The stored value is its own previous version, read as often, combined with no array's element."""
        _, value = self._defined.get(store.operands[0].text, ("", None))
        if value is None:
            return False
        places = [
            k for k, o in enumerate(value.operands) if self._is_previous(o, store.operands[1].text, block)
        ]
        others = [o for k, o in enumerate(value.operands) if k not in places]
        return (
            len(places) == 1
            and _combines(value, places[0])
            and not any(self._is_element(operand, block, set()) for operand in others)
        )

    def _is_previous(self, operand: Operand, address: str, block: str) -> bool:
        read_in, load = self._defined.get(operand.text, ("", None))
        is_read = load is not None and load.opcode == "load" and load.operands[0].text == address
        return is_read and self._cfg.innermost_loop.get(read_in) == self._cfg.innermost_loop.get(block)

    def _is_element(self, operand: Operand, block: str, seen: set[str]) -> bool:
        """Whether an operand depends on what is read from another address in each round around ``block``."""
        place, made = self._defined.get(operand.text, ("", None))
        if made is None or made.name in seen:
            return False
        seen.add(made.name)
        loop = self._cfg.loop_of(place)
        if loop is not None and block not in loop.blocks:
            return False  # the result of another loop
        if made.opcode == "load":
            if loop is None:
                return bool(self.indices(made.operands[0]))
            return self._defined.get(made.operands[0].text, ("", None))[0] in loop.blocks
        if made.opcode in ("atomicrmw", "cmpxchg", "invoke"):
            return True
        if made.opcode == "call" and not made.callee.startswith("@llvm."):
            return loop is not None
        return any(self._is_element(o, block, seen) for o in made.operands)


_COUNTING = frozenset({"add", "sub", "fadd", "fsub", "mul", "fmul", "or", "and", "xor"})
_EXTREMA = tuple(
    f"@llvm.{name}." for name in ("smin", "smax", "umin", "umax", "minnum", "maxnum", "minimum", "maximum")
)
_FUSED = ("@llvm.fmuladd.", "@llvm.fma.")


def counting_stores(function: Function, cfg: ControlFlow) -> Mapping[int, tuple[Operand, ...]]:
    """First line of each store that counts -> the index operands of its address."""
    counts = _Stores(function, cfg)
    return {
        store.first_line: counts.indices(store.operands[1])
        for block in function.blocks
        for store in block.instructions
        if store.opcode == "store" and counts.is_count(store, block.label)
    }


def _combines(value: Instruction, place: int) -> bool:
    if value.opcode == "call":
        return value.callee.startswith(_EXTREMA) or (place == 2 and value.callee.startswith(_FUSED))
    return value.opcode in _COUNTING and (place == 0 or value.opcode not in ("sub", "fsub"))
