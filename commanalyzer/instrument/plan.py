"""What to insert into every function: the walk over instructions that produces patches.

Input: a canonical module. Output: :class:`ModulePlan` (patches and the site table). Nothing is written here;
see :mod:`rewrite`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from commanalyzer.errors import ConfigError
from commanalyzer.instrument.blocks import plan_blocks
from commanalyzer.instrument.calls import CallPlanner
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.frames import plan_frame
from commanalyzer.instrument.label_code import write_labels
from commanalyzer.instrument.labels import LabelBook
from commanalyzer.instrument.recurrences import Component, components
from commanalyzer.instrument.sites import DebugInfo, ObjectRecord, SiteTable
from commanalyzer.instrument.stores import StorePlanner
from commanalyzer.instrument.values import (
    MASKED_STORES,
    CallFacts,
    FunctionValues,
    call_facts,
    function_values,
)
from commanalyzer.instrument.variadics import plan_variadic_function
from commanalyzer.instrument.work import attribute_flops
from commanalyzer.ir.model import Function, Module
from commanalyzer.ir.types import alloc_size_bytes


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to instrument.

    Attributes:
        control_flows: Conditions that select between values count as sources.
        regions: Functions (without ``@``) whose calls are the analysed region; empty for the whole program.
    """

    control_flows: bool = True
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """Patches per function name, and the tables that give the trace's numbers their meaning."""

    patches: Mapping[str, FunctionPatch]
    sites: SiteTable
    options: PlanOptions
    used_hooks: frozenset[str] = field(default=frozenset())


def plan_module(module: Module, options: PlanOptions) -> ModulePlan:
    """Decide what to insert into ``module``.

    Raises:
        ConfigError: If a region names no function of the program.
    """
    regions = _resolve_regions(module, options.regions)
    calls = call_facts(module)
    debug = DebugInfo(module)
    sites = SiteTable()
    _record_globals(module, debug, sites)
    facts = {f.name: function_values(f, calls, control_flows=options.control_flows) for f in module.functions}
    wanted = {name: _wanted(values, calls) for name, values in facts.items()}
    parts = {name: components(values, wanted[name]) for name, values in facts.items()}
    demanded = {name: _demanded_parameters(facts[name], parts[name]) for name in facts}
    patches = {}
    for function in module.functions:
        patch = FunctionPatch()
        _plan_function(
            facts[function.name],
            parts[function.name],
            patch,
            sites,
            debug,
            calls,
            demanded,
            is_region=function.name in regions,
        )
        patches[function.name] = patch
    used = frozenset(hook for patch in patches.values() for hook in patch.used_hooks)
    return ModulePlan(patches, sites, options, used)


def _plan_function(
    values: FunctionValues,
    parts: list[Component],
    patch: FunctionPatch,
    sites: SiteTable,
    debug: DebugInfo,
    calls: CallFacts,
    demanded: Mapping[str, frozenset[int]],
    *,
    is_region: bool,
) -> None:
    first_site = len(sites.sites)
    book = LabelBook(values, patch, sites, debug)
    counters = plan_blocks(values, patch, sites)
    write_labels(book, parts)
    stores = StorePlanner(values, patch, sites, debug, book)
    call_planner = CallPlanner(values, patch, sites, debug, book, calls, demanded)
    call_planner.plan_entry()
    for block in values.function.blocks:
        for instruction in block.instructions:
            if instruction.opcode in ("store", "atomicrmw", "cmpxchg"):
                stores.plan(instruction, block.label)
            elif instruction.callee.startswith(MASKED_STORES):
                stores.plan_masked(instruction, block.label)
            elif instruction.opcode in ("call", "invoke"):
                call_planner.plan(instruction, block.label)
            elif instruction.opcode in ("ret", "resume"):
                call_planner.plan_return(instruction, block.label, is_region=is_region)
    plan_variadic_function(values.function, patch)
    plan_frame(values.function, patch, sites, debug, calls.copied.get(values.function.name, {}))
    if is_region:
        patch.call(patch.entry, "ca_region_enter")
    attribute_flops(values, stores.site_of_store, book.site_of, counters, sites, first_site)


def _wanted(values: FunctionValues, calls: CallFacts) -> tuple[str, ...]:
    """Registers that hooks read: stored values, labels passed to calls, returned values; in program order."""
    names: list[str] = []
    for block in values.function.blocks:
        for instruction in block.instructions:
            if instruction.opcode == "store":
                names.append(instruction.operands[0].text)
                names.extend(StorePlanner.address_registers(values, instruction, block.label))
            elif instruction.opcode in ("atomicrmw", "cmpxchg"):
                names.extend(o.text for o in instruction.operands[1:])
                names.append(instruction.name)
            elif instruction.opcode == "ret" or (
                instruction.opcode in ("call", "invoke")
                and (calls.passes_labels(instruction) or instruction.callee.startswith(MASKED_STORES))
            ):
                names.extend(o.text for o in instruction.operands)
    return tuple(dict.fromkeys(name for name in names if name in values.carrying))


def _demanded_parameters(values: FunctionValues, parts: list[Component]) -> frozenset[int]:
    names = {name for part in parts for name in part.members}
    return frozenset(index for name, index in values.parameters.items() if name in names)


def _record_globals(module: Module, debug: DebugInfo, sites: SiteTable) -> None:
    for variable in module.globals:
        if variable.is_external or variable.name.startswith("@llvm.") or variable.is_thread_local:
            continue
        name, place = debug.variable(variable.debug_expression)
        size = alloc_size_bytes(variable.type)
        sites.globals.append(ObjectRecord(variable.name, name or variable.name[1:], "", place, 0, size))


def _resolve_regions(module: Module, regions: tuple[str, ...]) -> frozenset[str]:
    """IR names of the region functions; C++ names may be given without their mangling.

    Raises:
        ConfigError: If a name matches no function.
    """
    names = [f.name for f in module.functions]
    found: set[str] = set()
    for region in regions:
        mangled = f"{len(region)}{region}"
        matches = [n for n in names if n.strip('@"') == region]
        matches = matches or [n for n in names if n.startswith("@_Z") and mangled in n]
        if not matches:
            raise ConfigError(
                f"the region function '{region}' is not in the program (or was inlined away)",
                hint="name a function that is defined and not static: " + _examples(module),
            )
        found.update(matches)
    return frozenset(found)


def _examples(module: Module) -> str:
    return ", ".join(f.name[1:] for f in module.functions[:12])


def defined_function(module: Module, name: str) -> Function | None:
    """The definition of ``name`` (with its ``@``)."""
    return next((f for f in module.functions if f.name == name), None)
