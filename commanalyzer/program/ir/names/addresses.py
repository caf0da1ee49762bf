"""What the source calls the memory behind an address: a variable, a member of what a parameter points to.

``m->u`` in a function with the parameter ``m`` is the member ``.u`` of parameter 0, whatever a caller calls
the object; ``ctx.mesh`` is the member ``mesh`` of a variable. Symbols of flang and C++ compilers are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import DebugRecord, Function, GlobalVariable, Instruction, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, DebugTypes, Member, SourcePlace, is_library
from commanalyzer.program.ir.types import address_steps

_MANGLED = re.compile(r"@?_Q([A-Z][A-Za-z0-9_$.]*)")
_PART = re.compile(r"[A-Z]([a-z0-9_$.]*)")
_NESTED = re.compile(r"_Z(N?)(?:[KVrRO]|L|St)*(?=\d)")
_LENGTH = re.compile(r"L?(\d+)")
_CONSTRUCTOR = re.compile(r"(?:I.*E)?([CD])[0-5]")


def source_name(symbol: str) -> str:
    """What the source calls a function, without the types of its parameters; others without ``@``."""
    return cplusplus_name(fortran_name(symbol))


def cplusplus_name(symbol: str) -> str:
    """``hydro::compute_forces`` of a mangled symbol; other symbols unchanged.

    Plain nested names: what stands between ``_Z`` and the first type or template argument, and constructors
    (Itanium C++ ABI, 5.1).
    """
    match = _NESTED.match(symbol)
    if match is None:
        return symbol
    parts, at = list[str](), match.end()
    while (number := _LENGTH.match(symbol, at)) is not None:
        at = number.end() + int(number.group(1))
        parts.append(symbol[number.end() : at])
        if not match.group(1):
            return parts[0]
    special = _CONSTRUCTOR.match(symbol, at)
    if special and parts:
        parts.append("~" * (special.group(1) == "D") + parts[-1])
    return "::".join("(anonymous)" if part == "_GLOBAL__N_1" else part for part in parts) or symbol


def fortran_name(symbol: str) -> str:
    """``module::procedure::variable`` of a mangled symbol; other symbols unchanged, without ``@``.

    flang writes names in lower case and puts one capital letter in front of each: the kind of scope.
    """
    match = _MANGLED.fullmatch(symbol)
    if match is None:
        return symbol.removeprefix("@")
    if match.group(1) == "Qmain":
        return "main program"
    return "::".join(part for part in _PART.findall(match.group(1)) if part) or symbol.removeprefix("@")


_CASTS = frozenset({"bitcast", "addrspacecast", "freeze", "ptrtoint", "inttoptr"})
_MOST_STEPS = 256  # along a chain of registers
_MOST_LEVELS = 8  # blocks whose addresses lie in other blocks; further out, names say nothing to users


# what LLVM adds to the names of variables that it makes of pieces of others, or of a block that one points to
_PIECE = re.compile(r"(?:\.\d+)*(?:\.body)?$")


class Root(Enum):
    """What an address is reached from."""

    VARIABLE = "variable"
    PARAMETER = "parameter"
    RESULT = "result"  # what the function returns
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SourceAddress:
    """An address as the source would write it.

    Attributes:
        index: Number of the parameter that it is reached from.
        name: What leads to the object: with the variable's name, without that of a parameter.
        seen: The same with the parameter's name.
        type: Metadata number of the type of the object that it lies in, -1 when unknown.
        offset: Bytes in that object.
        is_indexed: An index that is not constant is part of it.
        function: Function that declares the variable; ``place`` is where.
        whole: Type of what the parameter points to.
    """

    root: Root
    index: int = -1
    name: str = ""
    seen: str = ""
    type: int = -1
    offset: int = 0
    is_indexed: bool = False
    function: str = ""
    place: SourcePlace = field(default_factory=SourcePlace)
    whole: int = -1


UNKNOWN = SourceAddress(Root.UNKNOWN)


class ModuleNames:
    """What the addresses of all functions of a module have in common."""

    def __init__(self, module: Module) -> None:
        self.debug = DebugInfo(module)
        self.types = DebugTypes(self.debug)
        self._globals = {variable.name: variable for variable in module.globals}

    def of_global(self, name: str) -> SourceAddress:
        """Address of a global variable."""
        variable = self._globals.get(name)
        if variable is None:
            return UNKNOWN
        shown, place = self.global_name(variable)
        type_ = self.types.of_variable(variable.debug_expression)
        return SourceAddress(Root.VARIABLE, name=shown, seen=shown, type=type_, place=place)

    def global_name(self, variable: GlobalVariable) -> tuple[str, SourcePlace]:
        """Name and declaration of a global variable."""
        name, place = self.debug.variable(variable.debug_expression)
        symbol = _PIECE.sub("", variable.name)
        if not name and symbol != variable.name:
            name, place = self.debug.variable(self.debug.global_variable(symbol.removeprefix("@")))
        if not name or variable.name.startswith("@_Q"):
            name = fortran_name(symbol)
        return name, place

    def members(self, address: SourceAddress) -> list[Member]:
        """Members that lead to an address within its object; the object itself in front of them."""
        return self.types.members(address.type, address.offset, has_indices=not address.is_indexed)

    def behind(self, address: SourceAddress) -> SourceAddress:
        """The object that the pointer at an address points to."""
        last = self.members(address)[-1]
        joined = replace(address, name=address.name + last.path, seen=joined_name(address.seen, last.path))
        return replace(joined, type=self.types.pointee(last.type), offset=0, is_indexed=False)


def joined_name(name: str, path: str) -> str:
    """A name and the path of a member; members of ``this`` have no other name than their own."""
    return path.lstrip(".%") if name in ("", "this") else name + path


class Addresses:
    """Addresses in the registers of one function."""

    def __init__(self, function: Function, names: ModuleNames) -> None:
        self.function = function
        self.names = names
        self.definitions = {i.name: i for i in function.instructions if i.name}
        self.uses: dict[str, list[Instruction]] = {}
        for instruction in function.instructions:
            for operand in instruction.operands:
                if operand.is_local:
                    self.uses.setdefault(operand.text, []).append(instruction)
        self.parameters = {p.text: i for i, p in enumerate(function.parameters)}
        self.records = self._records()

    def _records(self) -> Mapping[str, list[DebugRecord]]:
        """Debug records of the user's variables by register; those of this function first, then by depth."""
        debug, result = self.names.debug, dict[str, list[DebugRecord]]()
        for record in self.function.debug_records:
            if not (is_library(debug.file_of(record.variable)) or debug.is_artificial(record.variable)):
                result.setdefault(record.register, []).append(record)
        for records in result.values():
            records.sort(key=lambda r: len(debug.spots(r.location)))
        return result

    def variable(self, record: DebugRecord, offset: int = 0) -> SourceAddress:
        """Address of an offset in the variable of a record."""
        debug = self.names.debug
        name, place = debug.variable(record.variable)
        scope = debug.subprogram_of_variable(record.variable)
        function = debug.owner(scope, self.function)
        type_ = self.names.types.of_variable(record.variable)
        return SourceAddress(Root.VARIABLE, -1, name, name, type_, offset, function=function, place=place)

    def base(self, text: str) -> tuple[str, int, bool]:
        """Where an address is computed from, its constant offset, whether others are added."""
        total, is_indexed = 0, False
        for _ in range(_MOST_STEPS):
            made = self.definitions.get(text)
            if made is None or made.opcode not in ("getelementptr", *_CASTS):
                break
            if made.opcode == "getelementptr":
                offset, varies = _offset(made)
                total, is_indexed = total + offset, is_indexed or varies
            text = made.operands[0].text
        return text, total, is_indexed

    def address(self, text: str, entered: frozenset[str] = frozenset()) -> SourceAddress:
        """What the source calls the memory at an address; ``entered`` is where the question comes from."""
        text, offset, is_indexed = self.base(text)
        is_new = text not in entered and len(entered) < _MOST_LEVELS
        found = self._of_base(text, entered) if is_new else UNKNOWN
        return replace(found, offset=found.offset + offset, is_indexed=found.is_indexed or is_indexed)

    def _of_base(self, text: str, entered: frozenset[str]) -> SourceAddress:
        if text in self.parameters:
            found = self._of_pointer(text, is_own=True)
            whole = self.names.types.plain(found.type)
            return replace(found, root=Root.PARAMETER, index=self.parameters[text], name="", whole=whole)
        if not text.startswith("%"):
            return self._of_constant(text)
        made, entered = self.definitions[text], entered | {text}
        found = UNKNOWN
        if made.opcode == "alloca":
            return self.declared(text)
        if made.opcode == "load":
            found = self.names.behind(self.address(made.operands[0].text, entered))
        elif made.opcode in ("phi", "select"):
            operands = made.operands[1:] if made.opcode == "select" else made.operands
            every = (self.address(o.text, entered) for o in operands)
            found = next((a for a in every if a.root is not Root.UNKNOWN), UNKNOWN)
        elif made.opcode in ("call", "invoke"):
            found = self.of_call(made, entered)
        return found if found.root is not Root.UNKNOWN else self._of_pointer(text)

    def of_call(self, call: Instruction, entered: frozenset[str]) -> SourceAddress:
        """What the source calls the memory that the result of a call points to."""
        return UNKNOWN

    def declared(self, register: str) -> SourceAddress:
        """The variable that lives in a stack slot."""
        for record in self.records.get(register, ()):
            if record.kind != "value" or record.expression == "DW_OP_deref":
                return self.variable(record)
        return UNKNOWN

    def _of_pointer(self, register: str, *, is_own: bool = False) -> SourceAddress:
        """The memory that a pointer variable held in a register points to."""
        for record in self.records.get(register, ()):
            scope = self.names.debug.subprogram_of_variable(record.variable)
            if record.kind == "value" and not record.expression:
                if is_own and scope not in (-1, self.function.debug_subprogram):
                    continue
                return self.names.behind(self.variable(record))
        return UNKNOWN

    def _of_constant(self, text: str) -> SourceAddress:
        """A global, or a place in it (``getelementptr (i8, ptr @S, i64 16)``)."""
        name = next((word.strip("(),") for word in text.split() if word.startswith("@")), "")
        found = self.names.of_global(name)
        last = text.rstrip(")").rsplit(" ", 1)[-1]
        return replace(found, offset=int(last)) if "(i8, " in text and last.isdigit() else found


def _offset(made: Instruction) -> tuple[int, bool]:
    """Constant bytes that a ``getelementptr`` adds, and whether it adds others."""
    total, varies = 0, False
    assert made.element_type is not None
    for operand, size, offset in address_steps(made.element_type, made.operands[1:]):
        if operand.text.lstrip("-").isdigit():
            total += offset + size * signed(int(operand.text) % (1 << 64), 64)
        else:
            varies |= size > 0
    return total, varies
