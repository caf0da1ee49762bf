"""Which labels must travel through calls: those that someone reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from commanalyzer.instrument.labelling.recurrences import Component
from commanalyzer.instrument.labelling.values import CallFacts, FunctionValues
from commanalyzer.ir.model import Instruction, Module

_SYMBOL = re.compile(r'@(?:[\w.$-]+|"[^"]*")')


@dataclass(frozen=True, slots=True)
class Demand:
    """What is read of labels that travel through calls.

    Attributes:
        parameters: Per function, parameters whose labels it reads.
        results: Functions whose result's label a caller reads. The comparison that only sorting calls is
            none of them: what it reads decides over order and flows nowhere.
    """

    parameters: Mapping[str, frozenset[int]]
    results: frozenset[str]


def demand(
    module: Module,
    facts: Mapping[str, FunctionValues],
    parts: Mapping[str, list[Component]],
    calls: CallFacts,
) -> Demand:
    """Find what is read, from the registers whose labels are computed (``parts``)."""
    parameters = {}
    results: set[str] = set()
    indirect: set[str] = set()  # types that are returned through function pointers
    for name, values in facts.items():
        members = {member for part in parts[name] for member in part.members}
        parameters[name] = frozenset(i for n, i in values.parameters.items() if n in members)
        for register in members & values.definitions.keys():
            instruction = values.definitions[register].instruction
            if instruction.opcode in ("call", "invoke"):
                if instruction.callee in calls.defined:
                    results.add(instruction.callee)
                else:
                    indirect.add(instruction.type.text)
    taken = set(_taken_addresses(module, calls)) if indirect else set()
    returned = {f.name for f in module.functions if f.return_type.text in indirect and f.name in taken}
    return Demand(parameters, frozenset(results | returned))


def _taken_addresses(module: Module, calls: CallFacts) -> Iterator[str]:
    """Symbols whose address may be called through a pointer."""
    for variable in module.globals:
        yield from _SYMBOL.findall(variable.initializer)
    for aliasee in module.aliases.values():
        yield from _SYMBOL.findall(aliasee)
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                yield from _addresses_in(instruction, calls)


def _addresses_in(instruction: Instruction, calls: CallFacts) -> Iterator[str]:
    called_back: tuple[int, ...] = ()
    if instruction.opcode in ("call", "invoke"):
        known = calls.effect(instruction)
        called_back = () if known is None else known.calls
    for index, operand in enumerate(instruction.operands):
        if "@" in operand.text and index not in called_back:
            yield from _SYMBOL.findall(operand.text)
