"""Which functions hand new blocks of memory to their callers, and which calls get them from there.

A function *hands out* blocks when it returns the address of one that it allocated or got, or stores it in
memory that a caller reaches it by (an out-parameter, a structure that is set up, ``this``). Such a function
says nothing about what a block is for: its callers do. An allocation is therefore told apart by its *path*:
the calls from the first function that keeps the block down to the library's own allocation. Calls within a
cycle of such functions are left out of it.

Functions that cut what they return from a larger block, as arenas do.

``void *take(size_t n) { void *p = next; next += n; return p; }``: what a function returns is reached from a
place in memory, and the function moves that place on by something that its caller says. (By a constant, it
would hand out the records of one array.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from commanalyzer.program.ir.cfg import control_flow, reached, strong_components
from commanalyzer.program.ir.libcalls import CallKind, LibraryModel
from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.names.addresses import RESULT, Addresses, Holder, Holders, ModuleNames, Root
from commanalyzer.program.ir.names.debug_info import is_fortran, is_library

_COMPUTED = frozenset(
    (
        "getelementptr", "add", "sub", "mul", "shl", "and", "or", "select", "phi", "zext", "sext", "trunc",
        "freeze", "ptrtoint", "inttoptr", "bitcast", "addrspacecast",
    )
)  # fmt: skip


def carvers(module: Module, names: ModuleNames) -> frozenset[str]:
    """Names of the functions of a module that cut blocks."""
    return frozenset(f.name for f in module.functions if f.return_type.kind == "ptr" and _carves(f, names))


def _carves(function: Function, names: ModuleNames) -> bool:
    returned = [i.operands[0].text for i in function.instructions if i.opcode == "ret" and i.operands]
    stores = [i for i in function.instructions if i.opcode == "store"]
    if not stores or not returned:
        return False
    known = Addresses(function, names)
    places = {_place(known, load) for load in _slice(known, returned)[0]}
    for store in stores:
        place = known.base(store.operands[1].text)
        if place in places and not place[2]:
            loads, parameters = _slice(known, [store.operands[0].text])
            if parameters and any(_place(known, load) == place for load in loads):
                return True
    return False


def _place(known: Addresses, load: Instruction) -> tuple[str, int, bool]:
    return known.base(load.operands[0].text)


def _slice(known: Addresses, texts: list[str]) -> tuple[list[Instruction], set[str]]:
    """Loads and parameters that values are computed from."""

    def inputs(text: str) -> list[str]:
        made = known.definitions.get(text)
        return [o.text for o in made.operands] if made is not None and made.opcode in _COMPUTED else []

    found = reached(texts, inputs)
    made = (known.definitions[text] for text in found if text in known.definitions)
    return [i for i in made if i.opcode == "load"], {text for text in found if text in known.parameters}


_ALLOCATES = frozenset({CallKind.ALLOCATE, CallKind.REALLOCATE, CallKind.MAP})
_SYMBOL = re.compile(r'@(?:"[^"]*"|[-\w$.]+)')
_THIS = 0
_POINTERS = ("getelementptr", "phi")  # what makes pointers into objects
_Places = frozenset[int]
_NOWHERE: _Places = frozenset()


class Allocators:
    """The allocating functions of a module and the calls that allocate."""

    def __init__(self, module: Module, library: LibraryModel, names: ModuleNames | None = None) -> None:
        self._functions = {f.name: f for f in module.functions}
        self._library = library
        self._names = names or ModuleNames(module)
        self.types = self._names.types
        self._handed: dict[str, _Places] = {}
        self._known: dict[str, Holders] = {}
        self._pointed = _address_taken(module, self._functions)
        self._calls = {
            f.name: [i for i in f.instructions if i.opcode in ("call", "invoke") and i.callee != "asm"]
            for f in module.functions
        }
        self._carvers = carvers(module, self._names)
        self._find(module)
        cycles = strong_components(
            sorted(self._handed), lambda name: [c for c in self._called(name) if c in self._handed]
        )
        # number of the cycle that each function that hands out is part of
        self._cycle = {name: number for number, names in enumerate(cycles) for name in names}
        self._repeated: frozenset[str] | None = None

    def hands_out(self, function: str) -> bool:
        """The function hands out blocks: what it allocates depends on who calls it."""
        return function in self._handed

    def carves(self, call: Instruction) -> bool:
        """The call gets a piece of a larger block."""
        return call.callee in self._carvers and call.type.kind == "ptr"

    def begins_array(self, function: str, pointer: Instruction) -> bool:
        """The instruction makes a pointer into an object, once in a run, that a variable of users holds."""
        if pointer.opcode != "getelementptr" or pointer.type.kind != "ptr":
            return False
        known = self._facts(function)
        base, offset, is_indexed = known.base(pointer.name)
        if any(user.opcode == "phi" for user in known.uses.get(pointer.name, ())):
            return False  # it goes through an array
        made = known.definitions.get(base)
        if not is_indexed and (not offset or made is None or not self._places(made)):
            return False  # a member of a structure, for all that is known
        return self._holds_array(function, pointer, may_be_record=is_indexed)

    def kept(self, function: str, store: Instruction) -> Instruction | None:
        """The pointer that an instruction stores, if it may begin one of many arrays: levels in one pool."""
        known, address = self._facts(function), [o.text for o in store.operands[1:]]
        pointer = known.definitions.get(store.operands[0].text) if store.opcode == "store" else None
        if pointer is None or pointer.opcode not in _POINTERS or pointer.type.kind != "ptr":
            return None
        made = known.definitions.get(known.base(pointer.name)[0])
        if made is not None and made.opcode == "load" and made.operands[0].text in address:
            return None  # the end of what is used of a pool, moved on
        return pointer if self._holds_array(function, pointer, may_be_record=False) else None

    def _holds_array(self, function: str, pointer: Instruction, *, may_be_record: bool) -> bool:
        """A variable or member of the user's holds the pointer, which is not one to structures."""
        debug = self._names.debug
        if is_fortran(debug.place(self._functions[function].debug_subprogram).file):
            return False  # a pointer to a section is a view of its array
        holder = self._facts(function).holder(pointer, RESULT)
        if holder.root not in (Root.VARIABLE, Root.PARAMETER) or not holder.names:
            return False
        types = self._names.types
        pointee = types.pointee(holder.names[-1][0])
        return pointee >= 0 and (may_be_record or not types.is_record(pointee))

    def is_repeated(self, function: str) -> bool:
        """The function may be called several times, or in a loop."""
        if self._repeated is None:
            pending = [name for names in self._pointed.values() for name in names]
            every = strong_components(sorted(self._functions), self._called)
            pending += [name for names in every if len(names) > 1 for name in names]
            for name, calls in self._calls.items():
                flow = control_flow(self._functions[name]) if calls else None
                lines = {
                    i.first_line
                    for block in self._functions[name].blocks
                    if flow and flow.loop_of(block.label) is not None
                    for i in block.instructions
                }
                inside = (c for call in calls if call.first_line in lines for c in self._callees(call))
                pending += [*inside, *([name] if name in self._called(name) else [])]
            self._repeated = frozenset(reached(pending, self._called))
        return function in self._repeated

    def _called(self, function: str) -> list[str]:
        return [c for call in self._calls[function] for c in self._callees(call)]

    def enters(self, call: Instruction) -> bool:
        """The call may lead to a function that hands out blocks."""
        return any(c in self._handed for c in self._callees(call))

    def lengthens(self, function: str, call: Instruction) -> bool:
        """The call is part of the paths of the blocks that it gets: it goes on in no cycle."""
        own = self._cycle.get(function, -1)
        return self.enters(call) and all(self._cycle.get(c) != own for c in self._callees(call))

    def holders(self, function: str, call: Instruction) -> Mapping[int, Holder]:
        """Holders of what a call leaves in its result (``RESULT``) and behind its arguments; of a pointer."""
        known = self._facts(function)
        places = {RESULT} if call.opcode in _POINTERS else self._places(call)
        return {where: known.holder(call, where) for where in sorted(places)}

    def _find(self, module: Module) -> None:
        """Functions that hand out, to a fixed point: each one may make callers do so."""
        callers: dict[str, set[str]] = {}
        for caller in self._calls:
            for callee in self._called(caller):
                callers.setdefault(callee, set()).add(caller)
        pending = [f.name for f in module.functions]
        waiting = set(pending)
        while pending:
            name = pending.pop()
            waiting.discard(name)
            handed = self._handed_by(self._functions[name])
            if handed == self._handed.get(name, _NOWHERE):
                continue
            self._handed[name] = handed
            fresh = callers.get(name, set()) - waiting
            waiting |= fresh
            pending.extend(sorted(fresh))

    def _handed_by(self, function: Function) -> _Places:
        """Where a function leaves new blocks, as far as its callees are known."""
        places = set(self._handed.get(function.name, _NOWHERE))
        if function.name == "@main":
            return _NOWHERE
        for call in self._calls[function.name]:
            for where in self._places(call):
                found = self._facts(function.name).holder(call, where)
                if found.root is Root.RESULT:
                    places.add(RESULT)
                elif found.root is Root.PARAMETER:
                    places.add(found.index)
                elif function.parameters and is_library(
                    self._names.debug.place(function.debug_subprogram).file
                ):
                    places.add(_THIS)
        return frozenset(places)

    def _facts(self, function: str) -> Holders:
        if function not in self._known:
            self._known[function] = Holders(self._functions[function], self._names, self._places)
        return self._known[function]

    def _places(self, call: Instruction) -> _Places:
        """Where a call leaves new blocks."""
        made = self._made(call)
        if made:
            return made
        if self.carves(call):
            return frozenset({RESULT})
        handed = [self._handed[c] for c in self._callees(call) if c in self._handed]
        return frozenset(p for places in handed for p in places if p < len(call.operands))

    def _made(self, call: Instruction) -> _Places:
        if call.callee in self._functions or not call.callee.startswith("@"):
            return _NOWHERE
        known = self._library.fitting(call.callee[1:], len(call.operands))
        if known is None or known.kind not in _ALLOCATES:
            return _NOWHERE
        is_out = known.kind is CallKind.ALLOCATE and known.pointer >= 0
        return frozenset({known.pointer if is_out else RESULT})

    def _callees(self, call: Instruction) -> Iterable[str]:
        """Functions that a call may lead to; through a pointer, those with as many parameters."""
        if call.callee.startswith("%"):
            return self._pointed.get((len(call.operands), call.type.kind), ())
        return (call.callee,) if call.callee in self._functions else ()


def call_key(function: str, call: Instruction) -> str:
    """Stable identification of a call: ``@function/%result``, or its line where it has no result."""
    return f"{function}/{call.name or call.first_line}"


def joined_key(outer: str, call: str) -> str:
    """Identification of a path of calls."""
    return f"{outer} {call}"


def _address_taken(
    module: Module, functions: Mapping[str, Function]
) -> Mapping[tuple[int, str], tuple[str, ...]]:
    """Functions whose address is stored somewhere, by their number of parameters and kind of result."""
    texts = [variable.initializer for variable in module.globals]
    texts += [o.text for f in module.functions for i in f.instructions for o in i.operands if "@" in o.text]
    found = {name for text in texts for name in _SYMBOL.findall(text)}
    result: dict[tuple[int, str], list[str]] = {}
    for name in sorted(found & functions.keys()):
        function = functions[name]
        result.setdefault((len(function.parameters), function.return_type.kind), []).append(name)
    return {shape: tuple(names) for shape, names in result.items()}
