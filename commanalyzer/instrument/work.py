"""Which site a floating-point operation works for: the basis of work per vertex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commanalyzer.instrument.blocks import BlockCounters
from commanalyzer.instrument.costs import flops_of
from commanalyzer.instrument.sites import SiteTable
from commanalyzer.instrument.values import FunctionValues


def attribute_flops(
    values: FunctionValues,
    site_of_store: Mapping[int, int],
    site_of_register: Mapping[str, int],
    counters: BlockCounters,
    sites: SiteTable,
    first_site: int,
) -> None:
    """Give every floating-point operation of a function to the first site that its result flows into.

    Named registers come first, so that a reduction's work belongs to the reduced value; operations that only
    decide control flow or leave through calls belong to no site (they are in W all the same).
    """
    owner: dict[str, int] = {}
    for name, site in site_of_register.items():
        _claim(values, [name], site, owner, site_of_register)
    for block in values.function.blocks:
        for instruction in block.instructions:
            if instruction.first_line in site_of_store:
                site = site_of_store[instruction.first_line]
                names = [o.text for o in instruction.operands]
                if instruction.name:
                    owner.setdefault(instruction.name, site)
                _claim(values, names, site, owner, site_of_register)
    terms: dict[int, dict[int, int]] = {}
    for name, site in owner.items():
        definition = values.definitions.get(name)
        flops = flops_of(definition.instruction, values.calls) if definition is not None else 0
        if definition is None or not flops:
            continue
        counter = counters.counter_of(definition.block, definition.index)
        if counter is not None:
            terms.setdefault(site, {})
            terms[site][counter] = terms[site].get(counter, 0) + flops
    for site, found in terms.items():
        assert site >= first_site
        sites.sites[site] = replace(sites.sites[site], flop_terms=tuple(sorted(found.items())))


def _claim(
    values: FunctionValues,
    names: list[str],
    site: int,
    owner: dict[str, int],
    named: Mapping[str, int],
) -> None:
    """Walk back from ``names`` to loads and other named registers."""
    pending = list(names)
    while pending:
        name = pending.pop()
        definition = values.definitions.get(name)
        if definition is None or name in owner or named.get(name, site) != site:
            continue
        owner[name] = site
        if definition.instruction.opcode not in ("load", "atomicrmw", "cmpxchg"):
            pending.extend(o.text for o in definition.instruction.operands if o.is_local)
