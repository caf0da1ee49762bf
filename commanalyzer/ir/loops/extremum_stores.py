"""Minima and maxima kept in memory: ``if (x < *m) *m = x;``.

The store happens only when it changes something, but ``*m`` is a reduction over everything it was compared
with, as ``*m = min(*m, x)`` is. LLVM may have moved the load of ``*m`` out of the loop; then registers
follow it.

       compare x with r, the value at p
        |                  |
    store x, p           (otherwise)
        |                  |
       join
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.ir.cfg import ControlFlow
from commanalyzer.ir.loops.combinations import comparison_fold
from commanalyzer.ir.model import Block, Function, Instruction, Operand
from commanalyzer.vcg.graph import Fold


@dataclass(frozen=True, slots=True)
class ExtremumStore:
    """A conditional store that keeps a minimum or maximum.

    Attributes:
        store: The store.
        otherwise: Label of the block that is executed instead of the store.
        fold: Minimum or maximum.
    """

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
    finder = _Finder(function, cfg)
    found = (
        finder.match(store, block)
        for block in function.blocks
        for store in block.instructions
        if store.opcode == "store" and store.operands[0].type.kind in ("int", "float")
    )
    return tuple(store for store in found if store is not None)


class _Finder:
    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self._cfg = cfg
        self._blocks: Mapping[str, Block] = {block.label: block for block in function.blocks}
        self._defined = {
            i.name: (block.label, i) for block in function.blocks for i in block.instructions if i.name
        }

    def match(self, store: Instruction, block: Block) -> ExtremumStore | None:
        predecessors, successors = self._cfg.predecessors[block.label], self._cfg.successors[block.label]
        if len(predecessors) != 1 or len(successors) != 1 or not store.operands[0].is_local:
            return None
        top = predecessors[0]
        branch = self._blocks[top].terminator
        otherwise = next((t for t in branch.targets if t != block.label), "")
        if branch.opcode != "br" or not self._joins(otherwise, top, successors[0]):
            return None
        _, comparison = self._defined.get(branch.operands[0].text, ("", None))
        if comparison is None or comparison.opcode not in ("icmp", "fcmp"):
            return None
        fold = comparison_fold(comparison, store.operands[0].text)
        if branch.targets[0] == otherwise and fold is not Fold.NONE:
            fold = Fold.MAX if fold is Fold.MIN else Fold.MIN
        kept = [o.text for o in comparison.operands if o.text != store.operands[0].text]
        if fold is Fold.NONE or len(kept) != 1 or not self._known_at(store.operands[1], top):
            return None
        pointer = store.operands[1]
        if not self._is_loaded(kept[0], pointer.text, top) and not self._is_followed(
            kept[0], pointer, block.label, top
        ):
            return None
        return ExtremumStore(store, otherwise, fold)

    def _joins(self, block: str, top: str, join: str) -> bool:
        return self._cfg.predecessors.get(block) == (top,) and self._cfg.successors[block] == (join,)

    def _known_at(self, pointer: Operand, block: str) -> bool:
        return pointer.text not in self._defined or self._cfg.dominates(self._defined[pointer.text][0], block)

    def _is_loaded(self, register: str, pointer: str, block: str) -> bool:
        """The register was loaded from ``pointer`` in ``block``, and nothing was written since."""
        place, load = self._defined.get(register, ("", None))
        if load is None or load.opcode != "load" or load.operands[0].text != pointer or place != block:
            return False
        instructions = self._blocks[block].instructions
        behind = instructions[instructions.index(load) + 1 :]
        return all(i.opcode not in ("store", "call", "invoke", "atomicrmw", "cmpxchg") for i in behind)

    def _is_followed(self, register: str, pointer: Operand, block: str, top: str) -> bool:
        """The register is what memory holds at the end of ``top``: loaded or stored before, or joined of such.

        Several phis may follow one place, in one loop and in those around it; each is held to follow until
        something that it joins does not. None may be older than the store in ``block``.
        """
        pending, seen = [(register, top)], set[str]()
        while pending:
            name, end = pending.pop()
            place, phi = self._held(name, pointer.text, end), None
            if not place:
                place, phi = self._defined.get(name, ("", None))
                if phi is None or phi.opcode != "phi" or place == self._defined.get(pointer.text, ("",))[0]:
                    return False
                if not self._known_at(pointer, place):
                    return False
            if block in self._reached(place, place) and end in self._reached(block, place):
                return False
            if phi is not None and name not in seen:
                seen.add(name)
                pending += zip((o.text for o in phi.operands), phi.incoming, strict=True)
        return True

    def _held(self, value: str, pointer: str, block: str) -> str:
        """Label of the block in front of the end of ``block`` that loads the value there, or stores it."""
        place, definition = self._defined.get(value, ("", None))
        if definition is not None and definition.opcode == "load" and definition.operands[0].text == pointer:
            return place
        for label in self._cfg.dominator_chain(block):
            for i in self._blocks[label].instructions:
                if i.opcode == "store" and [o.text for o in i.operands] == [value, pointer]:
                    return label
        return ""

    def _reached(self, start: str, avoided: str) -> set[str]:
        """Blocks that are executed behind ``start`` before ``avoided`` is."""
        found, pending = {avoided}, [start]
        while pending:
            new = set(self._cfg.successors[pending.pop()]) - found
            found |= new
            pending += new
        return found - {avoided}
