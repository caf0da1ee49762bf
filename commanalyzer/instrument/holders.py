"""Names of heap blocks: the variable that holds the block's address."""

from __future__ import annotations

from commanalyzer.instrument.sites import DebugInfo, SiteTable, SourcePlace
from commanalyzer.instrument.values import FunctionValues


def holder_of(
    block: str, values: FunctionValues, debug: DebugInfo, sites: SiteTable
) -> tuple[str, SourcePlace]:
    """Variable that the address in register ``block`` is stored to, and its declaration.

    A global, a local variable or a parameter; an array descriptor begins with the address of its block, so
    Fortran's allocatables and pointers are found as well. Empty when there is no such variable.
    """
    for use in values.uses.get(block, ()):
        if use.user.opcode != "store" or use.user.operands[0].text != block:
            continue
        target = use.user.operands[1].text
        found = next((g for g in sites.globals if g.key == target), None)
        if found is not None:
            return found.name, found.place
        for record in values.function.debug_records:
            if record.kind == "declare" and record.value.split()[-1] == target:
                return debug.variable(record.variable)
    return "", SourcePlace()
