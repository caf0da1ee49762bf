"""What to insert into every function: the walk over instructions that produces patches.

Input: a canonical module. Output: :class:`ModulePlan` (patches and the site table). Nothing is written here;
see :mod:`rewrite`.

Four bytes of memory have one label; in programs that work on smaller values one has. A program does if its
loops both load and store elements of fewer than four bytes at indices, or through pointers that advance,
which count in steps that are no multiple of four bytes.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from commanalyzer.program.ir.allocators import Allocators
from commanalyzer.program.ir.libcalls import LibraryModel, default_library
from commanalyzer.program.ir.loops.combinations import counting_stores, extremum_stores
from commanalyzer.program.ir.model import DESCRIPTOR, Instruction, Module
from commanalyzer.program.ir.names.addresses import ModuleNames, fortran_name
from commanalyzer.program.ir.names.debug_info import MemberPlace
from commanalyzer.program.ir.types import address_steps, alloc_size_bytes, row_strides, size_bytes
from commanalyzer.recording.abi import EVERY, Mechanisms
from commanalyzer.recording.instrument.allocations import AllocationPlanner, plan_frame
from commanalyzer.recording.instrument.calls import CallPlanner
from commanalyzer.recording.instrument.code import FunctionPatch
from commanalyzer.recording.instrument.labelling.constants import constant_results, run_once
from commanalyzer.recording.instrument.labelling.label_code import write_labels
from commanalyzer.recording.instrument.labelling.labels import LabelBook
from commanalyzer.recording.instrument.labelling.origins import plan_variadic_function
from commanalyzer.recording.instrument.labelling.recurrences import Component, Demand, components, demand
from commanalyzer.recording.instrument.labelling.values import (
    MASKED_STORES,
    CallFacts,
    FunctionValues,
    call_facts,
    function_values,
    scalar_leaves,
    source_arguments,
)
from commanalyzer.recording.instrument.loops.repeats import plan_repeats
from commanalyzer.recording.instrument.regions import Regions, is_mark, plan_marks, resolve_regions
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.recording.instrument.stores import StorePlanner
from commanalyzer.recording.instrument.work import attribute_work, plan_blocks

_WORD_BYTES = 4


def word_bytes(functions: Iterable[FunctionValues]) -> int:
    """Bytes of a word in recordings of a program."""
    found = {
        instruction.opcode
        for values in functions
        for block in values.function.blocks
        if values.cfg.loop_of(block.label) is not None
        for instruction in block.instructions
        if instruction.opcode in ("load", "store") and _is_small_element(values, instruction)
    }
    return 1 if len(found) == 2 else _WORD_BYTES


def _is_small_element(values: FunctionValues, access: Instruction) -> bool:
    is_load = access.opcode == "load"
    leaves = scalar_leaves(access.type if is_load else access.operands[0].type)
    is_small = any(size_bytes(leaf) < _WORD_BYTES for leaf, _ in leaves)
    return is_small and _steps(values, access.operands[not is_load].text, {})


def _steps(values: FunctionValues, pointer: str, passed: dict[str, None]) -> bool:
    """An index on the way to a pointer counts no multiples of four bytes, or a number in a circle is none."""
    definition = values.definitions.get(pointer)
    if definition is None or pointer in passed:
        return False
    made = definition.instruction
    if made.opcode in ("phi", "select"):
        passed[pointer] = None
        pointers = (operand.text for operand in made.operands if operand.type.kind == "ptr")
        return any(_steps(values, text, passed) for text in pointers)
    if made.opcode != "getelementptr" or made.element_type is None:
        return False
    offset = 0
    for operand, size, field_offset in address_steps(made.element_type, made.operands[1:]):
        if operand.text.lstrip("-").isdigit():
            offset += field_offset + size * int(operand.text)
        elif size % _WORD_BYTES:
            return True
    return bool(passed and offset % _WORD_BYTES) or _steps(values, made.operands[0].text, passed)


_DEBUG = re.compile(r"!dbg !(\d+)")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to instrument.

    ``control_flows``: conditions that select between values count as sources. Regions are functions (without
    ``@``) whose calls are analysed, and those that stand for the begin of a mark; none for the whole program.
    """

    control_flows: bool = True
    regions: tuple[str, ...] = ()
    library: LibraryModel = field(default_factory=default_library)
    mechanisms: Mechanisms = EVERY


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """Patches per function name, and the tables that give the trace's numbers their meaning."""

    patches: Mapping[str, FunctionPatch]
    sites: SiteTable
    options: PlanOptions


def plan_module(module: Module, options: PlanOptions, until: float = math.inf) -> ModulePlan:
    """Decide what to insert into ``module``.

    Functions whose turn comes after ``until`` (``time.monotonic()``) are planned without mechanisms. Raises
    ConfigError if a region names no function and no mark of the program.
    """
    regions = resolve_regions(module, options.regions)
    calls = call_facts(module, options.library)
    names = ModuleNames(module)
    debug, allocators = names.debug, Allocators(module, options.library, names)
    facts = {f.name: function_values(f, calls, control_flows=options.control_flows) for f in module.functions}
    facts |= {n: facts[n].with_results(constant_results(facts[n])) for n in sorted(run_once(module, facts))}
    sites = SiteTable(word_bytes(facts.values()))
    _record_globals(module, names, sites)
    parts = {name: components(values, _wanted(values, calls)) for name, values in facts.items()}
    demanded = demand(module, facts, parts, calls)
    unread = facts.keys() - demanded.results - {"@main"}
    for name in unread:  # nothing is computed for results that nobody reads
        parts[name] = components(facts[name], _wanted(facts[name], calls, has_result=False))
    demanded = demand(module, facts, parts, calls)
    patches = {}
    for function in module.functions:
        values, patch = facts[function.name], FunctionPatch(word_bytes=sites.word_bytes)
        book = LabelBook(values, patch, sites, module, debug)
        _plan_function(book, parts[function.name], calls, demanded, regions, allocators)
        if time.monotonic() < until:
            plan_repeats(values, patch, module, options.mechanisms)
        patches[function.name] = patch
    return ModulePlan(patches, sites, options)


def _plan_function(
    book: LabelBook,
    parts: list[Component],
    calls: CallFacts,
    demanded: Demand,
    regions: Regions,
    allocators: Allocators,
) -> None:
    values, patch, sites = book.values, book.patch, book.sites
    is_region = values.function.name in regions.functions
    first_site = len(sites.sites)
    plan_marks(values.function, patch, regions)
    counters = plan_blocks(book, regions)
    write_labels(book, parts)
    stores = StorePlanner(book)
    allocations = AllocationPlanner(book, allocators)
    call_planner = CallPlanner(book, calls, demanded, allocations)
    call_planner.plan_entry()
    extrema = {e.store.first_line: e for e in extremum_stores(values.function, values.cfg)}
    for block in values.function.blocks:
        for instruction in block.instructions:
            if instruction.first_line in extrema:
                stores.plan_extremum(extrema[instruction.first_line], block.label)
            elif instruction.opcode in ("store", "atomicrmw", "cmpxchg"):
                stores.plan(instruction, block.label)
                allocations.plan_pointer(instruction, block.label)
            elif instruction.callee.startswith(MASKED_STORES):
                stores.plan_masked(instruction, block.label)
            elif instruction.opcode in ("call", "invoke") and not is_mark(instruction):
                call_planner.plan(instruction, block.label)
            elif instruction.opcode == "getelementptr":
                allocations.plan_pointer(instruction, block.label)
            elif instruction.opcode in ("ret", "resume"):
                call_planner.plan_return(instruction, block.label, is_region=is_region)
    plan_variadic_function(values.function, patch)
    plan_frame(book, calls.copied.get(values.function.name, {}), allocators.types)
    if is_region:
        patch.call(patch.entry, "ca_region_enter")
    attribute_work(book, stores.site_of_store, counters, first_site)


def _wanted(values: FunctionValues, calls: CallFacts, *, has_result: bool = True) -> tuple[str, ...]:
    """Registers that hooks read, in program order: stored values, labels passed to calls, returned values."""
    names: list[str] = [*values.results]
    counts = counting_stores(values.function, values.cfg)
    for instruction in (i for i in values.function.instructions if DESCRIPTOR not in i.flags):
        if instruction.opcode == "store":
            names.append(instruction.operands[0].text)
            names.extend(o.text for o in counts.get(instruction.first_line, ()))
        elif instruction.opcode in ("atomicrmw", "cmpxchg"):
            names.extend(o.text for o in instruction.operands[1:])
            names.append(instruction.name)
        elif (instruction.opcode == "ret" and has_result) or (
            instruction.opcode in ("call", "invoke")
            and (calls.passes_labels(instruction) or instruction.callee.startswith(MASKED_STORES))
        ):
            names.extend(o.text for o in instruction.operands)
        elif instruction.opcode in ("call", "invoke"):
            known = calls.effect(instruction)
            if known is not None and known.stores_labels:
                names.extend(o.text for o in source_arguments(instruction, known))
    return tuple(dict.fromkeys(name for name in names if name in values.carrying))


def _record_globals(module: Module, names: ModuleNames, sites: SiteTable) -> None:
    for variable in module.globals:
        if variable.is_external or variable.name.startswith("@llvm.") or variable.is_thread_local:
            continue
        name, place = names.global_name(variable)
        size = alloc_size_bytes(variable.type)
        common = [int(n) for n in _DEBUG.findall(module.lines[variable.first_line])]
        if len(common) > 1:  # a COMMON block has many names
            name = fortran_name(variable.name)
        parts = tuple(_parts(names, common, size))
        declared = names.types.of_variable(variable.debug_expression)
        strides = names.types.row_strides(declared, place.file) or row_strides(variable.type)
        of_record = names.types.record_bytes(declared) if names.types.is_array(declared) else 0
        record = ObjectRecord(variable.name, name, "", place, 0, size, parts=parts, strides=strides)
        record = replace(record, record_bytes=of_record, is_constant=variable.is_constant)
        sites.globals.append(record)


def _parts(names: ModuleNames, variables: Sequence[int], size: int) -> Iterator[MemberPlace]:
    """What lies in a global variable: members of a structure, variables of a COMMON block.

    Units may declare a block in different ways: what begins at a place is called by its first name there.
    """
    debug, types = names.debug, names.types
    if len(variables) == 1:
        yield from types.parts(types.of_variable(variables[0]))
        return
    starts = {number: debug.offset(number) for number in variables}
    bounds = [*sorted(set(starts.values())), size]
    for start, number in {start: number for number, start in reversed(starts.items())}.items():
        called, place = debug.variable(number)
        end = bounds[bounds.index(start) + 1]
        yield types.part(called, start, end - start, place, types.of_variable(number))
