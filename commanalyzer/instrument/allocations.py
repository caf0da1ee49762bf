"""Paths of allocations: calls of functions that hand out blocks tell them where they come from."""

from __future__ import annotations

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.ir.allocators import Allocators, call_key
from commanalyzer.ir.model import Function, Instruction
from commanalyzer.ir.names.debug_info import DebugInfo
from commanalyzer.ir.names.source_text import user_frames, user_place

_OUTER = "%ca.context"


class AllocationPlanner:
    """Plans the paths of one function's calls.

    Args:
        function: The function.
        patch: Receives the code.
        sites: Receives the calls.
        allocators: Which functions hand out blocks.
        debug: Source places.
    """

    def __init__(
        self,
        function: Function,
        patch: FunctionPatch,
        sites: SiteTable,
        allocators: Allocators,
        debug: DebugInfo,
    ) -> None:
        self._function, self._patch, self._sites = function, patch, sites
        self._allocators, self._debug = allocators, debug
        self._has_outer = allocators.hands_out(function.name)
        if self._has_outer:
            patch.entry.append(f"  {_OUTER} = load i32, ptr @ca_context, align 4")

    def plan(self, call: Instruction) -> None:
        """Plan a call of the program's own functions."""
        if self._allocators.carves(call) and call.opcode == "call":
            self._note_part(call)
        if not self._allocators.enters(call):
            return
        path = _OUTER
        if self._allocators.lengthens(self._function.name, call):
            path = self.path(call)
        before = self._patch.before.setdefault(call.first_line, [])
        before.append(f"  store i32 {path}, ptr @ca_context, align 4")

    def plan_pointer(self, pointer: Instruction) -> None:
        """Plan a ``getelementptr`` in no loop: it may be where an array in a block begins."""
        if self._allocators.begins_array(self._function.name, pointer):
            self._note_part(pointer)

    def _note_part(self, pointer: Instruction) -> None:
        path = self.path(pointer)
        after = self._patch.after.setdefault(pointer.last_line, [])
        self._patch.call(after, "ca_part", pointer.name, path)

    def path(self, call: Instruction) -> str:
        """Number or register of the path that ends with ``call``."""
        number = self._record(call)
        if not self._has_outer:
            return str(number)
        before = self._patch.before.setdefault(call.first_line, [])
        return self._patch.call(before, "ca_nested", _OUTER, number)

    def _record(self, call: Instruction) -> int:
        """Add a call to the table; without a holder, the source text behind library code names the block."""
        function, number = self._function.name, len(self._sites.allocations)
        name, place = f"{call.callee[1:]}#{number}", self._debug.place(call.debug_location)
        caller = user_place(self._debug, call.debug_location)
        if caller is not None:
            name, place = caller[0] or name, caller[1]
        holders = self._allocators.holders(function, call)
        frames = user_frames(self._debug, call.debug_location, function)
        is_piece = self._allocators.carves(call)
        record = ObjectRecord(
            call_key(function, call), name, function, place, 0, 0, holders, (), is_piece, frames
        )
        self._sites.allocations.append(record)
        return number
