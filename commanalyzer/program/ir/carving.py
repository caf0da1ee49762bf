"""Functions that cut what they return from a larger block, as arenas do.

``void *take(size_t n) { void *p = next; next += n; return p; }``: what a function returns is reached from a
place in memory, and the function moves that place on by something that its caller says. (By a constant, it
would hand out the records of one array.)
"""

from __future__ import annotations

from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.names.addresses import Addresses, ModuleNames

_COMPUTED = frozenset(
    {
        "getelementptr",
        "add",
        "sub",
        "mul",
        "shl",
        "and",
        "or",
        "select",
        "phi",
        "zext",
        "sext",
        "trunc",
        "freeze",
    }
    | {"ptrtoint", "inttoptr", "bitcast", "addrspacecast"}
)


def carvers(module: Module, names: ModuleNames) -> frozenset[str]:
    """Names of the functions of a module that cut blocks."""
    return frozenset(f.name for f in module.functions if f.return_type.kind == "ptr" and _carves(f, names))


def _carves(function: Function, names: ModuleNames) -> bool:
    instructions = [i for block in function.blocks for i in block.instructions]
    returned = [i.operands[0].text for i in instructions if i.opcode == "ret" and i.operands]
    stores = [i for i in instructions if i.opcode == "store"]
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
    loads, parameters = list[Instruction](), set[str]()
    pending, seen = list(texts), set[str]()
    while pending:
        text = pending.pop()
        if text in seen:
            continue
        seen.add(text)
        if text in known.parameters:
            parameters.add(text)
        made = known.definitions.get(text)
        if made is not None and made.opcode == "load":
            loads.append(made)
        elif made is not None and made.opcode in _COMPUTED:
            pending.extend(operand.text for operand in made.operands)
    return loads, parameters
