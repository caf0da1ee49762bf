"""What the source calls the memory behind an address: a variable, a member of what a parameter points to.

``m->u`` in a function with the parameter ``m`` is the member ``.u`` of parameter 0, whatever a caller calls
the object; ``ctx.mesh`` is the member ``mesh`` of a variable. Symbols of flang and C++ compilers are read.

Who holds the address of a new block: a variable, a member, or the caller of the function that got it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from commanalyzer.program.ir.constants import signed, unescaped
from commanalyzer.program.ir.model import DebugRecord, Function, GlobalVariable, Instruction, Module
from commanalyzer.program.ir.names.debug_info import (
    DebugInfo,
    DebugTypes,
    Member,
    MemberPlace,
    SourcePlace,
    is_library,
)
from commanalyzer.program.ir.names.source_text import allocated_name, assigned_place
from commanalyzer.program.ir.types import address_steps

_MANGLED = re.compile(r"@?_Q([A-Z][A-Za-z0-9_$.]*)")
_PART = re.compile(r"[A-Z]([a-z0-9_$.]*)")
_NESTED = re.compile(r"_Z(N?)(?:[KVrRO]|L|St)*(?=\d)")
_INLINE = frozenset(("__1", "__cxx11"))  # namespaces in which libc++ and libstdc++ have versions of theirs
_LENGTH = re.compile(r"L?(\d+)")
_CONSTRUCTOR = re.compile(r"(?:I.*E)?([CD])[0-5]")


def source_name(symbol: str) -> str:
    """What the source calls a function, without the types of its parameters; others without ``@``."""
    text = unescaped(symbol.replace('"', "")).decode("latin-1")  # lengths count bytes
    return cplusplus_name(fortran_name(text)).encode("latin-1").decode(errors="replace")


def cplusplus_name(symbol: str) -> str:
    """``hydro::compute_forces`` of a mangled symbol; other symbols unchanged.

    Plain nested names: what stands between ``_Z`` and the first type or template argument, and constructors
    (Itanium C++ ABI, 5.1).
    """
    match = _NESTED.match(symbol)
    if match is None:
        return symbol
    parts, at = ["std"] * ("St" in match[0]), match.end()
    while (number := _LENGTH.match(symbol, at)) is not None:
        at = number.end() + int(number.group(1))
        parts.append(symbol[number.end() : at])
        if not match.group(1):
            return "::".join(parts)
    special = _CONSTRUCTOR.match(symbol, at)
    if special and parts:
        parts.append("~" * (special.group(1) == "D") + parts[-1])
    said = ("(anonymous)" if part == "_GLOBAL__N_1" else part for part in parts if part not in _INLINE)
    return "::".join(said) or symbol


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
    """An address as the source would write it."""

    root: Root
    index: int = -1  # number of the parameter that it is reached from
    name: str = ""  # what leads to the object: with the variable's name, without that of a parameter
    seen: str = ""  # the same with the parameter's name
    type: int = -1  # metadata number of the type of the object that it lies in, -1 when unknown
    offset: int = 0  # bytes in that object
    is_indexed: bool = False  # an index that is not constant is part of it
    function: str = ""  # function that declares the variable; ``place`` is where
    place: SourcePlace = field(default_factory=SourcePlace)
    whole: int = -1  # type of what the parameter points to


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
            found = self.declared(text) if found.root is Root.UNKNOWN else found  # ``sret``: what is returned
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


RESULT = -1  # where a call leaves the address of a block: in its result, else the number of an argument
_FOLLOWED = frozenset(
    {"phi", "select", "bitcast", "addrspacecast", "freeze", "insertvalue", "extractvalue", "ptrtoint"}
    | {"inttoptr", "getelementptr", "add", "sub", "and", "or"}
)
_INTERIOR = frozenset({"getelementptr", "add", "sub", "and", "or"})
_COPIES = ("@llvm.memcpy.", "@llvm.memmove.", "@memcpy", "@memmove")
# the likeliest name first
_PARAMETER, _RESULT, _ELEMENT, _OWN, _STORED, _CAPTURED, _INLINED = range(7)
_WITHIN = 1 << 9  # what holds the address of some element of it, as rows of a block do
_ALLOCATOR = 1 << 10  # what inlined allocators call it, beyond the depth of inlined calls


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds the address of a block, seen from one function."""

    # A variable (then the name is complete), a parameter with its ``index``, the result, or unknown
    root: Root = Root.UNKNOWN
    index: int = -1
    whole: int = -1  # type of what the parameter points to
    # of everything that begins there, by its type, the outermost object first and last the pointer (without
    # one the outermost object again): complete names, or paths from a parameter or result
    names: tuple[tuple[int, str], ...] = ()
    seen: str = ""  # what this function calls it, where callers do not know
    function: str = ""  # function that declares the variable, at ``place``
    place: SourcePlace = field(default_factory=SourcePlace)
    # another variable of this function that holds the address, the last one, if there are several;
    # ``other_place`` is where it is declared
    other: str = ""
    other_place: SourcePlace = field(default_factory=SourcePlace)
    record_bytes: int = 0  # bytes of the structures that the pointer points to, 0 for others; with ``parts``
    strides: tuple[int, ...] = ()  # bytes from each plane, then row to the next, where it points to arrays
    parts: tuple[MemberPlace, ...] = ()

    @property
    def last(self) -> Holder:
        """The holder that the other variable is."""
        if not self.other:
            return self
        return replace(
            self, root=Root.VARIABLE, names=((-1, self.other),), seen=self.other, place=self.other_place
        )


@dataclass(frozen=True, slots=True)
class _Register:
    """A register with the address, or a pointer that lies ``distance`` bytes behind the one looked for.

    ``is_element``: it is the address of some element, which differs from one time to the other.
    """

    name: str
    distance: int = 0
    is_interior: bool = False
    is_element: bool = False


@dataclass(frozen=True, slots=True)
class _Slot:
    """A stack slot in which what is looked for begins at ``start``; ``is_one``: it is a single pointer."""

    name: str
    start: int
    is_one: bool


_Found = tuple[int, SourceAddress]


class Holders(Addresses):
    """Holders of the blocks that one function makes or gets.

    ``results`` says where the address of a new block is after a call: ``RESULT`` or numbers of arguments.
    """

    def __init__(
        self, function: Function, names: ModuleNames, results: Callable[[Instruction], Collection[int]]
    ) -> None:
        super().__init__(function, names)
        self._results = results

    def holder(self, call: Instruction, where: int) -> Holder:
        """Holder of what a call leaves in its result or behind an argument."""
        ranked = sorted(self._found(call, where, frozenset()), key=lambda item: item[0])
        found = [address for _, address in ranked]
        if not found:
            return Holder()
        best, seen = found[0], next((a for a in found if a.seen), found[0])
        tail = self._component(call, best) if where == RESULT else ""
        names = tuple((m.type, best.name + m.path + tail) for m in self._begun(best, where))
        name = joined_name(seen.seen, self._begun(seen, where)[-1].path + tail)
        function, place = seen.function or self.function.name, seen.place
        if seen.root is Root.PARAMETER and not place.line:  # ``this``
            place = self.names.debug.place(self.function.debug_subprogram)
        others = [
            a for rank, a in ranked if rank <= _STORED and a.root is Root.VARIABLE and a.name != best.name
        ]
        other, other_place = "", SourcePlace()
        if where == RESULT and others and best.root is Root.VARIABLE:
            other = others[-1].name + self._begun(others[-1], where)[-1].path
            other_place = others[-1].place
        types, pointer = self.names.types, self._begun(best, where)[-1].type
        known = best.root, best.index, best.whole, names, name, function, place, other, other_place
        parts = tuple(types.parts(types.pointee(pointer)))
        return Holder(*known, types.record_bytes(pointer), types.pointed_strides(pointer), parts)

    def _assigned(self, call: Instruction, found: Sequence[_Found]) -> Iterator[_Found]:
        """What the source text assigns a block to, where no variable of this function holds it."""
        if any(rank < _CAPTURED for rank, _ in found):
            return
        debug = self.names.debug
        location = debug.spots(call.debug_location)[self._level(call)].location
        if not debug.place(location).line:
            places = (user.debug_location for user in self.uses.get(call.name, ()))
            location = next((at for at in places if debug.place(at).line), location)
        text = self._allocated(call) or assigned_place(debug, location)
        if text is not None:
            known = min(found, key=lambda item: item[0], default=(0, UNKNOWN))[1]  # of the same type
            function = debug.owner(debug.spots(location)[0].subprogram, self.function)
            named = replace(known, root=Root.VARIABLE, name=text[0], seen=text[0], function=function)
            yield _CAPTURED, replace(named, place=text[1])

    def _allocated(self, call: Instruction) -> tuple[str, SourcePlace] | None:
        """What a Fortran statement allocates here."""
        before = 0
        for other in self.function.instructions:
            if other is call:
                return allocated_name(self.names.debug, call.debug_location, before)
            same = other.debug_location == call.debug_location and other.opcode == call.opcode
            before += same and RESULT in self._results(other)
        return None

    def _component(self, call: Instruction, found: SourceAddress) -> str:
        """Component that a Fortran statement allocates, where the type of the object is not known."""
        allocated = self._allocated(call)
        if allocated is None or len(self.names.members(found)) > 1:
            return ""
        _, separator, path = allocated[0].partition("%")
        known = found.name.endswith(separator + path)
        return "" if known else separator + path

    def _level(self, call: Instruction) -> int:
        """How many of the inlined calls of an allocation hand the block on: it is used outside of them."""
        debug = self.names.debug
        inlined = [spot.location for spot in debug.spots(call.debug_location)[1:]]
        level, pending, known = 0, [call.name], set[str]()
        while pending and level < len(inlined):
            register = pending.pop()
            known.add(register)
            for user in self.uses.get(register, ()):
                if user.opcode in _FOLLOWED and user.name not in known:
                    pending.append(user.name)
                if user.debug_location < 0:
                    continue
                inside = {spot.location for spot in debug.spots(user.debug_location)[1:]}
                level = max([level, *(i + 1 for i, n in enumerate(inlined) if n not in inside)])
        return level

    def _begun(self, found: SourceAddress, where: int) -> list[Member]:
        """Members that begin at an address; the last one is what a pointer there, or a result, is called."""
        members = self.names.members(found)
        if where == RESULT:
            return members[-1:]
        begun = [m for m in members if not m.offset] or members[-1:]
        return begun if self.names.types.is_pointer(begun[-1].type) else [*begun, begun[0]]

    def of_call(self, call: Instruction, entered: frozenset[str]) -> SourceAddress:
        """The memory that the result of a call points to: what its holder points to."""
        if RESULT not in self._results(call):
            return UNKNOWN
        found = min(self._found(call, RESULT, entered), key=lambda item: item[0], default=None)
        if found is None:
            return UNKNOWN
        if found[1].root is Root.RESULT:
            type_ = self.names.types.of_result(self.function.debug_subprogram)
            return replace(found[1], type=self.names.types.pointee(type_))
        return self.names.behind(found[1])

    def _found(self, call: Instruction, where: int, entered: frozenset[str]) -> list[_Found]:
        """Everything that may hold the address, with how likely the user calls it by that."""
        pending: list[_Register | _Slot] = []
        found: list[_Found] = []
        if where == RESULT:
            pending.append(_Register(call.name))
        else:
            text = call.operands[where].text
            base, offset, _ = self.base(text)
            made = self.definitions.get(base)
            if made is not None and made.opcode == "alloca":
                pending.append(_Slot(base, offset, False))
            else:
                found += _ranked(self.address(text, entered), 0)
        known = set[_Register | _Slot]()
        spots = self.names.debug.spots(call.debug_location)[: self._level(call)] if where == RESULT else ()
        inner = [spot.subprogram for spot in spots]
        while pending:
            item = pending.pop()
            if item in known:
                continue
            known.add(item)
            if isinstance(item, _Slot):
                steps = self._from_slot(item, entered)
            else:
                steps = self._from(item, inner, entered)
            for step in steps:
                if isinstance(step, tuple):
                    found.append(step)
                else:
                    pending.append(step)
        # a pointer that is set to the beginning and moved along the block is not what holds it either
        found = [(r + _WITHIN * (r == _OWN and (r + _WITHIN, a) in found), a) for r, a in found]
        return [*found, *self._assigned(call, found)] if where == RESULT else found

    def _from(
        self, held: _Register, inner: Sequence[int], entered: frozenset[str]
    ) -> Iterator[_Register | _Slot | _Found]:
        later = _WITHIN if held.is_element else 0
        if not held.is_interior:
            for rank, found in self._variables(held, inner):
                yield rank + later, found  # ``for (auto &row : x)``: what moves along it is not what holds it
        for user in self.uses.get(held.name, ()):
            if user.opcode == "ret":
                yield _RESULT, replace(UNKNOWN, root=Root.RESULT)
            elif user.opcode in _FOLLOWED:
                inside = held.is_interior or user.opcode in _INTERIOR
                is_element = held.is_element or self._moves(user)
                yield _Register(user.name, held.distance, inside, is_element)
            elif user.opcode == "store" and user.operands[0].text == held.name:
                for kept in self._kept(user.operands[1].text, held.distance, entered, is_one=True):
                    if isinstance(kept, tuple):
                        yield kept[0] + later, kept[1]
                    elif not later:
                        yield kept

    def _moves(self, user: Instruction) -> bool:
        """A pointer that an index is added to, or one that is moved along a block in a loop."""
        if user.opcode == "getelementptr":
            return self.base(user.name)[2]
        if user.opcode != "phi":
            return False
        others = (o.text for o in user.operands if o.text != user.name)
        return any(self.base(text)[0] == user.name for text in others)

    def _variables(self, held: _Register, inner: Sequence[int]) -> Iterator[_Found]:
        """Variables, or members of such, that the register is the value of."""
        for record in self.records.get(held.name, ()):
            words = record.expression.replace(",", "").split()
            if record.kind != "value" or (words and words[0] != "DW_OP_LLVM_fragment"):
                continue
            start = int(words[1]) // 8 - held.distance if words else 0
            found = self.variable(record, start)
            depth = len(self.names.debug.spots(record.location)) - 1
            scope = self.names.debug.subprogram_of_variable(record.variable)
            yield _OWN if depth == 0 else (_ALLOCATOR if scope in inner else _INLINED) + depth, found

    def _from_slot(self, slot: _Slot, entered: frozenset[str]) -> Iterator[_Register | _Slot | _Found]:
        declared = self.declared(slot.name)
        if declared.root is not Root.UNKNOWN:
            is_own = declared.function == self.function.name
            yield _STORED if is_own else _INLINED + 1, replace(declared, offset=slot.start)
        for user, position, offset in self._accesses(slot.name, 0):
            distance = offset - slot.start
            if user.opcode == "load" and user.type.kind in ("ptr", "struct", "int"):
                if distance == 0 or not slot.is_one:
                    yield _Register(user.name, distance)
            elif user.opcode == "store" and position == 1 and user.operands[0].type.kind == "ptr":
                if declared.root is Root.UNKNOWN and not slot.is_one:
                    found = self.address(user.operands[0].text, entered)  # of a lambda, a proxy
                    if found.root in (Root.VARIABLE, Root.PARAMETER):
                        yield _CAPTURED, found
            elif user.callee.startswith(_COPIES) and position == 1:
                yield from self._kept(user.operands[0].text, distance, entered, is_one=slot.is_one)

    def _accesses(self, register: str, offset: int) -> Iterator[tuple[Instruction, int, int]]:
        """Instructions that use an address, as which operand, and the offset from ``register``."""
        for user in self.uses.get(register, ()):
            if user.opcode == "getelementptr":
                _, distance, _ = self.base(user.name)
                yield from self._accesses(user.name, distance)
            else:
                position = next(i for i, o in enumerate(user.operands) if o.text == register)
                yield user, position, offset

    def _kept(
        self, text: str, distance: int, entered: frozenset[str], *, is_one: bool
    ) -> Iterator[_Slot | _Found]:
        """What begins ``distance`` bytes before an address that is stored to."""
        base, offset, _ = self.base(text)
        made = self.definitions.get(base)
        if made is not None and made.opcode == "alloca":
            yield _Slot(base, offset - distance, is_one)
            found = self.address(text)
            if found.is_indexed and found.root is not Root.UNKNOWN:
                yield _ELEMENT, replace(found, offset=found.offset - distance)
            return
        yield from _ranked(self.address(text, entered), distance)


def _ranked(found: SourceAddress, distance: int) -> Iterator[_Found]:
    ranks = {Root.PARAMETER: _PARAMETER, Root.RESULT: _RESULT, Root.VARIABLE: _STORED}
    if found.root in ranks:
        is_element = found.root is Root.VARIABLE and found.is_indexed
        rank = _ELEMENT if is_element else ranks[found.root]
        yield rank, replace(found, offset=found.offset - distance)
