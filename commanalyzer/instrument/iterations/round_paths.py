"""What a round does if its branches are the same: everything, but for the words that it accesses.

Two rounds with the same path execute the same instructions. Then the hooks do the same, with other words
where the addresses of accesses depend on what the round loads (``runtime_shim/src/renamings.c``).

Input: a loop that can be previewed. Output: :class:`RoundPath`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.instrument.inspectors.previews import Previewed
from commanalyzer.instrument.iterations.rounds import outside_places
from commanalyzer.ir.model import Instruction

DECIDING = ("load", "fcmp", "fptosi", "fptoui")  # the rest is computed from these
MOST_MOVING = 32  # accesses of a round
_MOST_BYTES = 1 << 15  # of an access


@dataclass(frozen=True, slots=True)
class RoundPath:
    """What differs between rounds.

    Attributes:
        moving: Per address register that depends on what is loaded, first byte and end of what is there.
        deciding: Registers that depend on it and say what is executed, and which labels are taken.
        are_few: There is room for all accesses of any round.
    """

    moving: Mapping[str, tuple[int, int]]
    deciding: frozenset[str]
    are_few: bool


def round_path(plan: Previewed) -> RoundPath | None:
    """What differs between rounds of a loop that are known apart; ``None`` if they cannot be renamed."""
    depending = _depending(plan.computed)
    moving = {name: place for name, place in plan.tracked.items() if name in depending}
    outside = set(outside_places(plan))
    if not moving or plan.code.blocks or not outside.issuperset(moving):
        return None
    if any(end - first >= _MOST_BYTES for first, end in moving.values()):
        return None
    ends = {o.text for b in plan.blocks for o in b.terminator.operands}
    times = [plan.times[name] for name in moving]
    are_few = all(times) and sum(times) <= MOST_MOVING
    return RoundPath(moving, frozenset((plan.conditions | ends) & depending), are_few)


def _depending(computed: Mapping[str, Instruction]) -> set[str]:
    """Registers that depend on what the loop loads, or on numbers that are not integers."""
    found = {name for name, i in computed.items() if i.opcode in DECIDING}
    users: dict[str, list[str]] = {}
    for name, instruction in computed.items():
        for operand in instruction.operands:
            users.setdefault(operand.text, []).append(name)
    pending = list(found)
    while pending:
        for name in users.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found
