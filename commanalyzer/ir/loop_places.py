"""Where loops begin in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commanalyzer.ir.debug_info import DebugInfo, SourcePlace
from commanalyzer.ir.model import Function, Instruction, Module

_LOOP = re.compile(r"!llvm\.loop !(\d+)")
_NODE = re.compile(r"!(\d+)")


def loop_place(module: Module, debug: DebugInfo, function: Function, header: str) -> SourcePlace:
    """Where a loop begins: as its branch back says, or its first instruction with a place."""
    blocks = {block.label: block for block in function.blocks}
    backward = (b.terminator for b in function.blocks if header in b.terminator.targets)
    locations = [n for i in backward for n in _starts(module, i)]
    locations += [i.debug_location for i in blocks[header].instructions]
    places = (debug.place(location) for location in locations if location >= 0)
    return next((place for place in places if place.line), SourcePlace())


def _starts(module: Module, branch: Instruction) -> Iterator[int]:
    for found in _LOOP.findall(module.lines[branch.last_line]):
        node = module.metadata.get(int(found), "")
        yield from (int(n) for n in _NODE.findall(node)[1:2])
