"""Loops whose rounds are known apart: in each run, only few of them do something else than before.

A loop over particles is never known as a whole when some of them move to other cells in every time step. Then
the recorder keeps what the preview found out per round, and only rounds in which that has changed run with
hooks (:mod:`commanalyzer.instrument.iterations.round_copies`, ``runtime_shim/src/rounds.c``).

A round does what it did before if its addresses and branches are the same and it finds the same shadow. The
preview tells the former. The latter holds where no round changes the shadow: the recorder checks that. No
label may pass from round to round in a register.
"""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.inspectors.previews import Previewed

_MOST_INSTRUCTIONS = 600  # the loop is written out twice more
_MOST_PLACES = 32


def are_known_apart(patch: FunctionPatch, plan: Previewed) -> bool:
    """Whether rounds of a previewed loop can be known apart.

    Args:
        patch: What was inserted.
        plan: The loop.
    """
    loop = plan.loop
    if patch.phis.get(loop.header):
        return False
    if not any(i.opcode == "load" for i in plan.computed.values()):
        return False  # what decides does not change
    if sum(len(b.instructions) for b in plan.blocks) > _MOST_INSTRUCTIONS:
        return False
    return len(plan.tracked) <= _MOST_PLACES
