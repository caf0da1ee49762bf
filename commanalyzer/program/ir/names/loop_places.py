"""Where loops begin in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, is_library

_LOOP = re.compile(r"!llvm\.loop !(\d+)")
_NODE = re.compile(r"!(\d+)")


def loop_place(module: Module, debug: DebugInfo, function: Function, header: str) -> SourcePlace:
    """Where a loop begins: as its branch back says, or its first instruction with a place.

    A loop of the C++ library begins where the user's code calls it.
    """
    places = (user_place(debug, location) for location in _locations(module, function, header))
    return next((place for place in places if place.line), SourcePlace())


def loop_function(module: Module, debug: DebugInfo, function: Function, header: str) -> str:
    """Name of the function in whose source a loop stands, also if that was inlined; empty when unknown."""
    for location in _locations(module, function, header):
        if debug.place(location).line:
            return function_at(debug, location)
    return ""


def function_at(debug: DebugInfo, location: int) -> str:
    """Name of the function in whose source a location is, also if that was inlined; empty when unknown."""
    scopes = debug.scopes(location) if location >= 0 else []
    return debug.fields(scopes[0]).get("name", "") if scopes else ""


def _locations(module: Module, function: Function, header: str) -> list[int]:
    blocks = {block.label: block for block in function.blocks}
    backward = (b.terminator for b in function.blocks if header in b.terminator.targets)
    locations = [n for i in backward for n in _starts(module, i)]
    locations += [i.debug_location for i in blocks[header].instructions]
    return [location for location in locations if location >= 0]


def user_place(debug: DebugInfo, location: int) -> SourcePlace:
    """Place of a location, or of the innermost call that led from the user's code into the library there."""
    first = debug.place(location)
    places = [first, *(debug.place(number) for number, _, _ in debug.callers(location))]
    return next((place for place in places if place.line and not is_library(place.file)), first)


def _starts(module: Module, branch: Instruction) -> Iterator[int]:
    for found in _LOOP.findall(module.lines[branch.last_line]):
        node = module.metadata.get(int(found), "")
        yield from (int(n) for n in _NODE.findall(node)[1:2])
