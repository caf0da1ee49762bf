"""Memory that a program asks for: paths of allocations, and local arrays, which get storage of their own.

Calls of functions that hand out blocks tell them where they come from. The stack hands the same address to
unrelated functions; a home must not. All local arrays of a function live in one frame per recursion depth, at
addresses that stay the same in every call; those of variable length have storage of their own, structures
passed by value a copy in the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commanalyzer.program.ir.allocators import Allocators, call_key
from commanalyzer.program.ir.model import Function, Instruction
from commanalyzer.program.ir.names.debug_info import DebugInfo, DebugTypes
from commanalyzer.program.ir.names.source_text import user_frames, user_variable
from commanalyzer.program.ir.types import alignment_bytes, alloc_size_bytes, row_strides
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.labelling.labels import LabelBook
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable

_OUTER = "%ca.context"


class AllocationPlanner:
    """Plans the paths of one function's calls; ``allocators`` says which functions hand out blocks."""

    def __init__(self, book: LabelBook, allocators: Allocators) -> None:
        self._function, self._patch, self._sites = book.values.function, book.patch, book.sites
        self._allocators, self._debug, self._cfg = allocators, book.debug, book.values.cfg
        self._has_outer = allocators.hands_out(self._function.name)
        if self._has_outer:
            self._patch.entry.append(f"  {_OUTER} = load i32, ptr @ca_context, align 4")

    def plan(self, call: Instruction) -> None:
        """Plan a call of the program's own functions."""
        if self._allocators.carves(call) and call.opcode == "call":
            self._note_part(call, call)
        if not self._allocators.enters(call):
            return
        path = _OUTER
        if self._allocators.lengthens(self._function.name, call):
            path = self.path(call)
        text = f"  store i32 {path}, ptr @ca_context, align 4"
        self._patch.before.setdefault(call.first_line, []).append(text)

    def plan_pointer(self, made: Instruction, label: str) -> None:
        """Plan a ``getelementptr``, or a store of one of many pointers: an array in a block may begin."""
        function, allocators = self._function.name, self._allocators
        if self._cfg.loop_of(label) is not None or allocators.is_repeated(function):
            pointer = allocators.kept(function, made)
        else:
            pointer = made if allocators.begins_array(function, made) else None
        if pointer is not None:
            self._note_part(pointer, made)

    def _note_part(self, pointer: Instruction, at: Instruction) -> None:
        path = self.path(pointer, at)
        self._patch.call(self._patch.after.setdefault(at.last_line, []), "ca_part", pointer.name, path)

    def path(self, call: Instruction, at: Instruction | None = None) -> str:
        """Number or register of the path that ends with ``call``, in front of ``at``, or the call itself."""
        location = (at := at or call).debug_location
        function, number = self._function.name, len(self._sites.allocations)
        # without a holder, the source text behind library code names the block
        name, place = f"{call.callee[1:]}#{number}", self._debug.place(location)
        if (caller := user_variable(self._debug, location)) is not None:
            name, place = caller[0] or name, caller[1]
        holders = self._allocators.holders(function, call)
        frames = user_frames(self._debug, location, function)
        is_piece = self._allocators.carves(call)
        record = ObjectRecord(
            call_key(function, call), name, function, place, 0, 0, holders, (), is_piece, frames
        )
        self._sites.allocations.append(record)
        if not self._has_outer:
            return str(number)
        return self._patch.call(self._patch.before.setdefault(at.first_line, []), "ca_nested", _OUTER, number)


_ALIGNMENT = 64


def plan_frame(book: LabelBook, copied: Mapping[int, int], types: DebugTypes) -> None:
    """Replace stack slots, and place the homes of registers that are kept in memory.

    ``copied`` are the bytes of parameters that are structures passed by value: they get copies in the frame.
    """
    function, patch, sites = book.values.function, book.patch, book.sites
    allocas = [i for i in function.instructions if i.opcode == "alloca" and "inalloca" not in i.flags]
    entered = {i.name for i in function.blocks[0].instructions}
    fixed = {
        i.name: i for i in allocas if i.name in entered and (not i.operands or i.operands[0].text.isdigit())
    }
    frame = _Frame(function, book.debug, types, patch)
    for index, size in copied.items():
        frame.add_copy(function.parameters[index].text, size)
    for home, (variable, size) in book.home_sizes().items():
        frame.add_home(home, variable, size)
    for alloca in fixed.values():
        assert alloca.element_type is not None
        size = alloc_size_bytes(alloca.element_type) * int(alloca.operands[0].text if alloca.operands else 1)
        alignment, strides = alignment_bytes(alloca.element_type), row_strides(alloca.element_type)
        text = frame.add(alloca.name, size, alignment, strides)
        patch.replaced[alloca.first_line] = f"  {text}"
    frame.finish(sites)
    for alloca in (i for i in allocas if i.name not in fixed):
        _replace_open(alloca, frame, patch, sites)
    moved = {alloca.name for alloca in allocas}
    for instruction in function.instructions:  # lifetime markers may only name stack slots
        if instruction.callee.startswith("@llvm.lifetime.") and instruction.operands[-1].text in moved:
            patch.replace(instruction)


class _Frame:
    """The fixed-size objects of one function, and the names of all its local objects."""

    def __init__(self, function: Function, debug: DebugInfo, types: DebugTypes, patch: FunctionPatch) -> None:
        self._function, self._debug, self._types, self._patch = function, debug, types, patch
        declared = ((r.register, r.variable) for r in function.debug_records if r.kind == "declare")
        self._declared = {name: number for name, number in declared if not debug.is_artificial(number)}
        self._offset = 0
        self._records: list[ObjectRecord] = []
        self._copies: list[str] = []

    def record(self, register: str, offset: int, size: int) -> ObjectRecord:
        """A local object with its source name."""
        variable, place = "temporary", self._debug.place(self._function.debug_subprogram)
        if self._function.debug_subprogram == -1:  # no debug information: all that is known
            variable = register[1:]
        if register in self._declared:
            variable, place = self._debug.variable(self._declared[register])
        key = f"{self._function.name}/{register}"
        return ObjectRecord(key, variable or register[1:], self._function.name, place, offset, size)

    def add(self, register: str, size: int, alignment: int, strides: tuple[int, ...] = ()) -> str:
        """Place an object; returns the instruction that defines its address."""
        alignment = max(16, alignment)
        start = (self._offset + alignment - 1) // alignment * alignment
        whole = replace(self.record(register, 0, size), strides=strides)
        parts = self._types.parts(self._types.of_variable(self._declared.get(register, -1)))
        objects = whole, *replace(whole, parts=tuple(parts)).members
        self._records += [replace(item, offset=start + item.offset) for item in objects]
        self._offset = start + size
        return f"{register} = getelementptr inbounds i8, ptr %ca.frame, i64 {start}"

    def add_copy(self, parameter: str, size: int) -> None:
        """Place a copy of a structure passed by value and use it instead."""
        original = f"%ca.original.{len(self._copies)}"
        self._patch.renamed_parameters[parameter] = original
        self._copies += [
            f"  {self.add(parameter, size, 16)}",
            f"  call void @ca_take_copy(ptr {parameter}, ptr {original}, i64 {size})",
        ]

    def add_home(self, pointer: str, variable: str, size: int) -> None:
        """Place a value that the program keeps in a register."""
        self._copies.append(f"  {self.add(pointer, size, 16)}")
        self._records[-1] = replace(self._records[-1], name=variable or "unnamed value")

    def finish(self, sites: SiteTable) -> None:
        """Write the start of the function, if it has any object."""
        if not self._records:
            return
        number = len(sites.frames)
        sites.frames.append(tuple(self._records))
        size = (self._offset + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        self._patch.entry += [
            "  %ca.stack = alloca i8, align 1",
            "  %ca.stack.address = ptrtoint ptr %ca.stack to i64",
            f"  %ca.frame = call ptr @ca_frame(i32 {number}, i64 {size}, i64 %ca.stack.address)",
            *self._copies,
        ]
        self._patch.is_noinline = True


def _replace_open(alloca: Instruction, frame: _Frame, patch: FunctionPatch, sites: SiteTable) -> None:
    """An array of variable length (or allocated outside the entry block): its stack slot marks its life."""
    assert alloca.element_type is not None
    number = len(sites.frames)
    sites.frames.append((frame.record(alloca.name, 0, 0),))
    lines: list[str] = []
    count = alloca.operands[0] if alloca.operands else None
    text = f"alloca {alloca.element_type}" + (f", {count.type} {count.text}" if count else "")
    slot = patch.value(lines, f"{text}, align {max(16, alignment_bytes(alloca.element_type))}")
    address = patch.address(lines, slot)
    size: str | int = alloc_size_bytes(alloca.element_type)
    if count is not None:
        wide = count.text
        if count.type.bits < 64:
            wide = patch.value(lines, f"zext {count.type} {count.text} to i64")
        size = patch.compute(lines, "mul", wide, size)
    patch.call(lines, "ca_local", number, size, address, result=alloca.name)
    patch.replaced[alloca.first_line] = "\n".join(lines)
