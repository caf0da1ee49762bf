"""Which site an operation works for: the basis of work per vertex."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from commanalyzer.foundation.work import Operations
from commanalyzer.instrument.labelling.values import MASKED_STORES, Flow, FunctionValues, source_arguments
from commanalyzer.instrument.operations.blocks import BlockCounters
from commanalyzer.instrument.operations.costs import operations_of
from commanalyzer.instrument.sites import SiteTable
from commanalyzer.ir.model import Instruction

_ENDS = frozenset({"load", "atomicrmw", "cmpxchg"})  # what they read was computed by other sites


def attribute_work(
    values: FunctionValues,
    site_of_store: Mapping[int, int],
    site_of_register: Mapping[str, int],
    counters: BlockCounters,
    sites: SiteTable,
    first_site: int,
) -> None:
    """Give every operation of a function to a site that its result flows into.

    Where it flows into several, floating-point operations are shared among these: each goes to the first of
    them, unless another has fewer so far (of a minimum and a maximum that two stores choose from, each gets
    one). Who computes what several need is the choice of a program; equal shares are the least assumption.

    Named registers come first, so that a reduction's work belongs to the reduced value. Floating-point
    operations that only decide control flow or leave through calls belong to no site (they are in W all the
    same). Integer operations, comparisons and accesses count where they lead from a value to a value:
    addresses, loop counters, and what is computed from these, parameters and constants alone (any node can
    do that for itself) are no work.
    """
    flops = _Claims(site_of_register, lambda name: _operands(values, name), lambda name: _flops(values, name))
    served = _Claims(site_of_register, values.inputs)
    for name, site in site_of_register.items():
        flops.claim([name], site)
        served.claim([name], site)
    costs = _Costs(values, counters)
    for block in values.function.blocks:
        for index, instruction in enumerate(block.instructions):
            if instruction.first_line in site_of_store:
                site = site_of_store[instruction.first_line]
                if instruction.name:
                    flops.owner.setdefault(instruction.name, site)
                    served.owner.setdefault(instruction.name, site)
                else:
                    costs.add(site, instruction, block.label, index, of_values=True)
                flops.claim([o.text for o in instruction.operands if o.text in values.definitions], site)
                served.claim(_stored(values, instruction), site)
    for claims, of_values in ((flops, False), (served, True)):
        for name, site in claims.owner.items():
            found = values.definitions.get(name)
            if found is not None:
                costs.add(site, found.instruction, found.block, found.index, of_values=of_values)
    for site, terms in costs.terms.items():
        assert site >= first_site
        sites.sites[site] = replace(sites.sites[site], cost_terms=tuple(sorted(terms.items())))


@dataclass(slots=True)
class _Claims:
    """Which site each register works for.

    Attributes:
        named: Registers that are values of their own, and their sites.
        inputs: What a register is computed from.
        cost: Operations that are shared among several sites.
        owner: Site per register.
        load: Operations of each site.
    """

    named: Mapping[str, int]
    inputs: Callable[[str], Iterable[str]]
    cost: Callable[[str], int] = lambda _name: 0
    owner: dict[str, int] = field(default_factory=dict)
    load: Counter[int] = field(default_factory=Counter)

    def claim(self, names: Iterable[str], site: int) -> None:
        """Walk back from ``names`` to loads and other named registers."""
        pending = list(names)
        while pending:
            name = pending.pop()
            if self.named.get(name, site) != site or not self._takes(name, site):
                continue
            self.owner[name] = site
            pending.extend(self.inputs(name))

    def _takes(self, name: str, site: int) -> bool:
        """Whether a register goes to a site; from another one where that is left with no less."""
        cost, before = self.cost(name), self.owner.get(name)
        if before is not None:
            if not cost or name in self.named or self.load[before] - cost < self.load[site] + cost:
                return False
            self.load[before] -= cost
        self.load[site] += cost
        return True


def _flops(values: FunctionValues, name: str) -> int:
    """Floating-point operations of the instruction that defines a register."""
    found = values.definitions.get(name)
    return operations_of(found.instruction, values.calls).flops if found is not None else 0


def _operands(values: FunctionValues, name: str) -> list[str]:
    found = values.definitions.get(name)
    if found is None or found.instruction.opcode in _ENDS:
        return []
    return [o.text for o in found.instruction.operands if o.text in values.definitions]


def _stored(values: FunctionValues, instruction: Instruction) -> list[str]:
    """Registers whose values an instruction stores, or makes values of."""
    operands = instruction.operands
    if instruction.opcode == "store" or instruction.callee.startswith(MASKED_STORES):
        operands = operands[:1]
    elif instruction.opcode in ("atomicrmw", "cmpxchg"):
        operands = operands[1:]
    elif (known := values.calls.effect(instruction)) is not None:
        operands = source_arguments(instruction, known)
    return [o.text for o in operands if o.text in values.carrying]


@dataclass(slots=True)
class _Costs:
    """Adds up operations per site and counter.

    Attributes:
        values: Facts of the function.
        counters: How often its instructions are executed.
        terms: Per site, operations per count of each counter.
    """

    values: FunctionValues
    counters: BlockCounters
    terms: dict[int, dict[int, Operations]] = field(default_factory=dict)

    def add(self, site: int, instruction: Instruction, block: str, index: int, *, of_values: bool) -> None:
        """Add floating-point operations of an instruction, or what else it does for a value."""
        cost = operations_of(instruction, self.values.calls)
        if instruction.opcode in ("select", "phi") and self._is_extremum(instruction):
            cost = Operations(integer=1)
        cost = replace(cost, flops=0) if of_values else Operations(cost.flops)
        if cost.integer and not self._varies(instruction.name, block):
            cost = replace(cost, integer=0)
        counter = self.counters.counter_of(block, index)
        if counter is None or not cost:
            return
        terms = self.terms.setdefault(site, {})
        terms[counter] = terms.get(counter, Operations()) + cost

    def _is_extremum(self, instruction: Instruction) -> bool:
        """Whether it is a minimum or maximum, written as a choice."""
        return instruction.name in self.values.selected.combined

    def _varies(self, name: str, block: str) -> bool:
        """Whether a register depends on values that change from round to round of the loop around ``block``.

        What is computed from loop counters, parameters and what was loaded before the loop does not.
        """
        values, cfg = self.values, self.values.cfg
        header = cfg.innermost_loop.get(block)
        if header is None:
            return True
        inside, seen, pending = cfg.loops[header].blocks, {name}, [name]
        while pending:
            known = values.definitions.get(pending.pop())
            if known is None or known.block not in inside:
                continue
            result = known.instruction.name
            if values.flows[result] is Flow.SOURCE:
                return True
            if values.flows[result] is Flow.PHI and known.block == header:
                if not self._is_counter(known.instruction, inside):
                    return True
                continue
            found = [n for n in values.inputs(result) if n not in seen]
            seen.update(found)
            pending += found
        return False

    def _is_counter(self, phi: Instruction, inside: frozenset[str]) -> bool:
        """Whether the header of a loop adds the same in every round."""
        for operand in phi.operands:
            known = self.values.definitions.get(operand.text)
            if known is None or known.block not in inside or known.instruction.opcode not in ("add", "sub"):
                continue
            before, step = known.instruction.operands
            added = self.values.definitions.get(step.text)
            if before.text == phi.name and (added is None or added.block not in inside):
                return True
        return False
