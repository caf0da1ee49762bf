"""Stores that only count: ``h[b[i]] += q``, where no element of an array but the index decides what is added.

The contribution has no source of its own, or one that all contributions share. Which place it goes to is
known where the index is, so the owner of the index makes it (histograms, charges of particles on a grid).
"""

from __future__ import annotations

from collections.abc import Mapping

from commanalyzer.program.ir.cfg import ControlFlow
from commanalyzer.program.ir.model import Function, Instruction, Operand

_COUNTING = frozenset({"add", "sub", "fadd", "fsub", "mul", "fmul", "or", "and", "xor"})
_EXTREMA = tuple(
    f"@llvm.{name}." for name in ("smin", "smax", "umin", "umax", "minnum", "maxnum", "minimum", "maximum")
)
_FUSED = ("@llvm.fmuladd.", "@llvm.fma.")


def counting_stores(function: Function, cfg: ControlFlow) -> Mapping[int, tuple[Operand, ...]]:
    """First line of each store that counts -> the index operands of its address."""
    counts = _Counts(function, cfg)
    return {
        store.first_line: counts.indices(store.operands[1])
        for block in function.blocks
        for store in block.instructions
        if store.opcode == "store" and counts.is_count(store, block.label)
    }


class _Counts:
    def __init__(self, function: Function, cfg: ControlFlow) -> None:
        self._cfg = cfg
        self._defined = {i.name: (b.label, i) for b in function.blocks for i in b.instructions if i.name}

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


def _combines(value: Instruction, place: int) -> bool:
    if value.opcode == "call":
        return value.callee.startswith(_EXTREMA) or (place == 2 and value.callee.startswith(_FUSED))
    return value.opcode in _COUNTING and (place == 0 or value.opcode not in ("sub", "fsub"))
