"""Local arrays that every round of a loop fills before it reads them.

What such an array holds does not pass from one round to the next. A preview may therefore fill it itself, and
a round needs nothing of the rounds before it.

Input: facts of a function and a loop. Output: :class:`RoundMemory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from commanalyzer.instrument.labelling.values import FunctionValues, Use
from commanalyzer.ir.cfg import Loop
from commanalyzer.ir.loops.induction import LoopEnds
from commanalyzer.ir.model import Instruction, IrType
from commanalyzer.ir.types import alloc_size_bytes, field_offset_bytes

_NOTES = "@llvm.lifetime."


@dataclass(frozen=True, slots=True)
class RoundMemory:
    """Local arrays of a loop's rounds.

    Attributes:
        sizes: Bytes of each array, by the register with its address.
        arrays: Per register with an address inside one of them, that array.
        stores: The loop's stores to them.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, str]
    stores: tuple[Instruction, ...]


def round_memory(values: FunctionValues, loop: Loop, ends: LoopEnds) -> RoundMemory:
    """Find the local arrays whose address goes nowhere and that every round fills before it reads them.

    Each byte is stored to at a constant place by stores without conditions: they dominate the end of the
    round and every load.
    """
    sizes: dict[str, int] = {}
    arrays: dict[str, str] = {}
    stores: list[Instruction] = []
    for alloca in values.function.blocks[0].instructions:
        if alloca.opcode != "alloca" or alloca.element_type is None or alloca.operands:
            continue
        accesses = _accesses(values, alloca.name)
        size = alloc_size_bytes(alloca.element_type)
        if accesses is None or not _is_filled(values, loop, ends, accesses, size):
            continue
        sizes[alloca.name] = size
        arrays.update(dict.fromkeys(accesses.offsets, alloca.name))
        stores += [u.user for u in accesses.stores if u.block in loop.blocks]
    return RoundMemory(sizes, arrays, tuple(stores))


@dataclass(frozen=True, slots=True)
class _Accesses:
    """All that is done with a local array; offsets are in bytes, ``None`` where they vary."""

    offsets: dict[str, int | None]
    loads: list[Use]
    stores: list[Use]


def _accesses(values: FunctionValues, alloca: str) -> _Accesses | None:
    found = _Accesses({alloca: 0}, [], [])
    pending = [alloca]
    while pending:
        name = pending.pop()
        for use in values.uses.get(name, ()):
            user = use.user
            if user.opcode == "load":
                found.loads.append(use)
            elif user.opcode == "store" and user.operands[0].text != name:
                found.stores.append(use)
            elif user.opcode == "getelementptr" and user.operands[0].text == name:
                start, way = found.offsets[name], _offset(user)
                found.offsets[user.name] = None if start is None or way is None else start + way
                pending.append(user.name)
            elif not user.callee.startswith(_NOTES):
                return None
    return found


def _offset(address: Instruction) -> int | None:
    """Bytes from the base of an address that does not vary."""
    total = 0
    at: IrType | None = None
    for operand in address.operands[1:]:
        if not operand.text.lstrip("-").isdigit() or address.element_type is None:
            return None
        index = int(operand.text)
        if at is not None and at.kind == "struct":
            total += field_offset_bytes(at, index)
            at = at.elements[index]
            continue
        at = address.element_type if at is None else at.elements[0]
        total += index * alloc_size_bytes(at)
    return total


def _is_filled(values: FunctionValues, loop: Loop, ends: LoopEnds, accesses: _Accesses, size: int) -> bool:
    stores = [u for u in accesses.stores if u.block in loop.blocks]
    fixed = [u for u in stores if accesses.offsets[u.user.operands[1].text] is not None]
    always = [u for u in fixed if values.cfg.dominates(u.block, ends.exiting)]
    loads = [u for u in accesses.loads if u.block in loop.blocks]
    if not always or any(u.user.flags & {"volatile", "atomic"} for u in (*loads, *stores)):
        return False
    places = {(u.block, u.index) for u in loads}
    return all(
        _covers(accesses.offsets, (s for s in always if _is_before(values, s, block, index)), size)
        for block, index in (*places, (ends.exiting, 1 << 30))
    )


def _is_before(values: FunctionValues, store: Use, block: str, index: int) -> bool:
    if store.block == block:
        return store.index < index
    return values.cfg.dominates(store.block, block)


def _covers(offsets: Mapping[str, int | None], stores: Iterable[Use], size: int) -> bool:
    end = 0
    for first, last in sorted(_bytes(offsets, stores)):
        if first > end:
            return False
        end = max(end, last)
    return end >= size


def _bytes(offsets: Mapping[str, int | None], stores: Iterable[Use]) -> Iterator[tuple[int, int]]:
    for use in stores:
        value, address = use.user.operands
        offset = offsets[address.text]
        if offset is not None:
            yield offset, offset + alloc_size_bytes(value.type)
