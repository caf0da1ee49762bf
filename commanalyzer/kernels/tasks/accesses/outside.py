"""Accesses that the compiler moved out of a loop although the source has them inside.

A load whose value the loop uses, and a store of a value that the loop computes, belong to the kernel: work
items read the one and contribute to the other.
"""

from __future__ import annotations

from typing import NamedTuple

from commanalyzer.kernels.patterns.carried import FunctionRegisters
from commanalyzer.program.ir.cfg import Loop


class Outside(NamedTuple):
    """Lines of accesses outside a loop that belong to it.

    Attributes:
        loads: Loads of what it uses.
        stores: Stores of what it computes.
    """

    loads: frozenset[int] = frozenset()
    stores: frozenset[int] = frozenset()


def moved_outside(registers: FunctionRegisters, loop: Loop) -> Outside:
    """Accesses around ``loop`` that belong to it; loads of bounds, indices and addresses do not."""
    loads: set[int] = set()
    stores: set[int] = set()
    indices = registers.index_loads()
    for name, definition in registers.definition.items():
        is_inside = registers.is_inside(name, loop)
        if definition.opcode == "load" and not is_inside and definition.first_line not in indices:
            users = [u for n in registers.ahead(name, None) for u in registers.users.get(n, ())]
            if any(registers.block_of[u.first_line] in loop.blocks for u in users):
                loads.add(definition.first_line)
        if is_inside and definition.opcode not in ("load", "getelementptr"):
            stores.update(
                user.first_line
                for n in registers.ahead(name, None)
                for user in registers.users.get(n, ())
                if user.opcode == "store" and registers.block_of[user.first_line] not in loop.blocks
            )
    return Outside(frozenset(loads), frozenset(stores))
