"""Calls: labels through arguments and results, effects of library functions by the model, returns.

Library functions whose address the program takes: the address becomes that of a small function of ours.

``double (*f)(double) = sin;`` calls library code through a pointer, where nothing can be inserted. Every use
of such an address (they must stay equal to each other) is replaced by a function that only calls the library
function; its call is then one like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from commanalyzer.program.ir.libcalls import CallKind, LibraryCall, LibraryModel, MemoryRange
from commanalyzer.program.ir.model import Declaration, Instruction, Module
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.allocations import AllocationPlanner
from commanalyzer.recording.instrument.labelling.labels import LabelBook
from commanalyzer.recording.instrument.labelling.origins import (
    as_i64,
    byte_count,
    label_slot,
    memory_label,
    memory_range,
    pass_value,
    pass_variadics,
    passed_types,
    pointer_value,
)
from commanalyzer.recording.instrument.labelling.recurrences import Demand
from commanalyzer.recording.instrument.labelling.values import (
    MASKED_LOADS,
    CallFacts,
    holds_value,
    source_arguments,
    value_width,
)

_PREFIX = "@ca.thunk."
_WITHOUT_EFFECT = frozenset({CallKind.IGNORE, CallKind.OUTPUT, CallKind.EXIT, CallKind.THREAD})
_SPECIAL = re.compile(r"\b(?:sret|byval|inreg|inalloca|nest|preallocated)\b")
_OTHERS = ("declare ", "define ", "attributes ", "source_filename", "!", ";")  # lines without such uses


def with_thunks(module: Module, library: LibraryModel) -> Module:
    """The module with modelled library functions called directly wherever they are called.

    Variadic functions and those with structures in their signature are left as they are.
    """
    wrapped = {d.name: d for d in module.declarations if _is_wrapped(d, module, library)}
    if not wrapped:
        return module
    uses = re.compile(r'"[^"]*"|(' + "|".join(map(re.escape, wrapped)) + r')(?![\w.$"(-])')
    used: set[str] = set()

    def renamed(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]  # a text constant
        used.add(match[1])
        return _PREFIX + match[1][1:]

    lines = [line if line.startswith(_OTHERS) else uses.sub(renamed, line) for line in module.lines]
    if not used:
        return module
    return parse_module("\n".join([*lines, *_definitions(wrapped[name] for name in sorted(used)), ""]))


def _is_wrapped(declaration: Declaration, module: Module, library: LibraryModel) -> bool:
    name, types = declaration.name[1:], (*declaration.parameter_types, declaration.return_type)
    if declaration.is_vararg or name.startswith(("llvm.", '"')):
        return False
    known = library.fitting(name, len(declaration.parameter_types))
    if known is None or known.kind in _WITHOUT_EFFECT:
        return False
    whole = {("int", 32), ("int", 64)}
    simple = all(t.kind in ("float", "ptr", "void") or (t.kind, t.bits) in whole for t in types)
    return simple and not _SPECIAL.search(module.lines[declaration.first_line])


def _definitions(declarations: Iterable[Declaration]) -> Iterable[str]:
    for declaration in declarations:
        types = [t.text for t in declaration.parameter_types]
        parameters = ", ".join(f"{t} %p{i}" for i, t in enumerate(types))
        returns = declaration.return_type.text
        kept, end = ("", "void") if returns == "void" else ("%result = ", f"{returns} %result")
        yield from ("", f"define internal {returns} {_PREFIX}{declaration.name[1:]}({parameters}) uwtable {{")
        yield from ("entry:", f"  {kept}call {returns} {declaration.name}({parameters})", f"  ret {end}", "}")


_SAME_ARGUMENTS = frozenset({"malloc", "calloc", "realloc", "posix_memalign"})  # as their hooks
_IMMEDIATE_EXITS = frozenset({"@_exit", "@_Exit"})
_ALL_ASSIGNED = 2**31 - 1
_SCANNED_WIDTHS = (4, 8, 16)  # of the three sites that ca_scanned uses


class LibraryPlanner:
    """Plans calls of modelled library functions in one function."""

    def __init__(self, labels: LabelBook, allocations: AllocationPlanner) -> None:
        self._labels = labels
        self._allocations = allocations
        self._values, self._patch, self._sites = labels.values, labels.patch, labels.sites
        self._block = ""

    def plan(self, instruction: Instruction, known: LibraryCall, block: str) -> None:
        """Plan one call of a function with effect ``known``."""
        self._block = block
        if known.calls:  # what is called back gets its arguments from the library: they have no labels
            before = self._patch.before.setdefault(instruction.first_line, [])
            before += [f"  store i64 0, ptr {label_slot(index)}, align 8" for index in range(4)]
        planned = _PLANS.get(known.kind)
        if planned is not None:
            planned(self, instruction, known, self._labels.behind(instruction))

    # ---- values --------------------------------------------------------------------------------------------

    def _write(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        """What a call leaves in memory: values computed from arguments and memory, text, input."""
        if not known.writes:
            return
        label, site = "0", -1  # of input: it has no sources
        if known.kind is CallKind.PARSE:
            label = memory_label(self._labels, instruction, known, out)
        elif known.kind is not CallKind.INPUT:
            label = self._sources(instruction, known, out)
        for written in known.writes:
            if written.size.is_scanned:
                self._scanned(instruction, written, label, out)
                continue
            address, size = memory_range(self._patch, out, instruction, written)
            if known.kind is CallKind.FORMAT:
                self._patch.call(out, "ca_show", address, size, label)
            elif known.kind is CallKind.INPUT:
                width = written.size.constant if written.size.is_constant else 8
                site = self._labels.call_site(instruction, "input", min(width, 16))
                self._patch.call(out, "ca_input", site, address, size)
            else:
                site = self._labels.call_site(instruction, "store", known.width) if site < 0 else site
                self._patch.call(out, "ca_scatter", site, address, size, known.width, label)

    def _scanned(self, instruction: Instruction, written: MemoryRange, label: str, out: list[str]) -> None:
        operands = instruction.operands
        pointers = [pointer_value(self._patch, out, o) for o in operands[written.pointer :]]
        pointers = pointers[: abi.MAX_LABELS]
        if not pointers:
            return
        kind = "input" if label == "0" else "store"
        sites = [self._labels.call_site(instruction, kind, width) for width in _SCANNED_WIDTHS]
        template = operands[written.size.arguments[0]].text
        assigned = instruction.name or _ALL_ASSIGNED
        addresses = self._patch.spill(out, pointers)
        self._patch.call(out, "ca_scanned", sites[0], label, template, assigned, len(pointers), addresses)

    def _sources(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> str:
        """One label for everything that the call computes from; ``0`` for nothing."""
        names = [o.text for o in source_arguments(instruction, known)]
        labels = list(self._labels.united(names, self._block, out))
        if known.reads:
            labels.append(memory_label(self._labels, instruction, known, out))
        if len(labels) <= 1:
            return labels[0] if labels else "0"
        site = self._labels.call_site(instruction, "register", 8)
        return self._patch.call(out, "ca_join", site, len(labels), self._patch.spill(out, labels))

    # ---- memory --------------------------------------------------------------------------------------------

    def _copy(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        assert known.size is not None
        hook, size = "ca_copy_string", list[str]()
        if not known.size.is_string:
            hook, size = "ca_copy_words", [byte_count(self._patch, out, instruction, known.size)]
        ends = (instruction.operands[i] for i in (known.pointer, known.source))
        pointers = [pointer_value(self._patch, out, end) for end in ends]
        self._patch.call(out, hook, self._labels.call_site(instruction, "copy", 0), *pointers, *size)

    def _fill(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        assert known.size is not None
        size = byte_count(self._patch, out, instruction, known.size)
        target = pointer_value(self._patch, out, instruction.operands[known.pointer])
        self._patch.call(out, "ca_fill", self._labels.call_site(instruction, "fill", 4), target, size)

    def _permute(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        assert known.size is not None and known.element is not None
        before = self._patch.before.setdefault(instruction.first_line, [])
        size = byte_count(self._patch, before, instruction, known.size)
        element = byte_count(self._patch, before, instruction, known.element)
        base = pointer_value(self._patch, before, instruction.operands[known.pointer])
        old = self._patch.call(before, "ca_permute_begin", base, size, element)
        self._patch.call(out, "ca_permute_end", old)

    # ---- heap ----------------------------------------------------------------------------------------------

    def _allocate(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        assert known.size is not None
        name = instruction.callee[1:]
        before = self._patch.before.setdefault(instruction.first_line, [])
        hook, arguments = "ca_malloc", list[str]()
        if name in _SAME_ARGUMENTS:
            hook, arguments = f"ca_{name}", _given(instruction)
        else:
            if known.kind is CallKind.REALLOCATE:
                hook, arguments = "ca_realloc", [f"ptr {instruction.operands[known.pointer].text}"]
            elif known.zeroed:
                hook, arguments = "ca_calloc", ["i64 1"]
            elif known.alignment >= 0:
                hook = "ca_aligned_alloc"
                operand = instruction.operands[known.alignment]
                arguments = [f"i64 {as_i64(self._patch, before, operand)}"]
            arguments.append(f"i64 {byte_count(self._patch, before, instruction, known.size)}")
        self._replace(instruction, hook, [self._path(instruction), *arguments])

    def _path(self, instruction: Instruction) -> str:
        return f"i32 {self._allocations.path(instruction)}"

    def _remap(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        if len(instruction.operands) == 4:  # a fifth argument says where: that is the system's business
            self._replace(instruction, "ca_mremap", _given(instruction))

    def _exit(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        if instruction.callee in _IMMEDIATE_EXITS:
            self._replace(instruction, "ca_exit_now", _given(instruction))

    def _replace(self, instruction: Instruction, hook: str, arguments: Sequence[str]) -> None:
        """Call ``hook`` instead of the library function."""
        returns = abi.HOOKS[hook].returns
        result = f"{instruction.name} = " if instruction.name else ""
        text = f"  {result}{instruction.opcode} {returns} @{hook}({', '.join(arguments)})"
        if instruction.opcode == "invoke":
            normal, unwind = instruction.targets
            text += f" to label %{normal} unwind label %{unwind}"
        self._patch.replace(instruction, text)


def _given(instruction: Instruction) -> list[str]:
    """The arguments of a call as they are written."""
    return [f"{o.type} {o.text}" for o in instruction.operands]


_Plan = Callable[[LibraryPlanner, Instruction, LibraryCall, list[str]], None]
_PLANS: Mapping[CallKind, _Plan] = {
    **dict.fromkeys((CallKind.PURE, CallKind.FORMAT, CallKind.PARSE, CallKind.INPUT), LibraryPlanner._write),
    CallKind.COPY: LibraryPlanner._copy,
    CallKind.FILL: LibraryPlanner._fill,
    CallKind.PERMUTE: LibraryPlanner._permute,
    CallKind.ALLOCATE: LibraryPlanner._allocate,
    CallKind.REALLOCATE: LibraryPlanner._allocate,
    CallKind.FREE: lambda self, i, known, _: self._replace(i, "ca_free", _given(i)[known.pointer :][:1]),
    CallKind.MAP: lambda self, i, _, __: self._replace(i, "ca_mmap", [self._path(i), *_given(i)]),
    CallKind.UNMAP: lambda self, i, known, _: self._replace(i, "ca_munmap", _given(i)),
    CallKind.REMAP: LibraryPlanner._remap,
    CallKind.EXIT: LibraryPlanner._exit,
}


class CallPlanner:
    """Plans calls and returns of one function."""

    def __init__(
        self, labels: LabelBook, calls: CallFacts, demanded: Demand, allocations: AllocationPlanner
    ) -> None:
        self._labels = labels
        self._values, self._patch, self._sites = labels.values, labels.patch, labels.sites
        self._calls = calls
        self._demanded = demanded
        self._allocations = allocations
        self._library = LibraryPlanner(labels, allocations)

    def plan(self, instruction: Instruction, block: str) -> None:
        """Plan one ``call`` or ``invoke``."""
        if self._calls.passes_labels(instruction):
            self._pass_arguments(instruction, block)
            self._allocations.plan(instruction)
            return
        if not instruction.callee.startswith("@"):
            if instruction.name or instruction.operands:  # not a mere barrier
                self._count(instruction, "inline assembly")
            return
        known = self._calls.effect(instruction)
        if known is not None and known.kind is not CallKind.THREAD:
            self._library.plan(instruction, known, block)
        elif not instruction.callee.startswith(MASKED_LOADS):
            self._count(instruction, instruction.callee[1:])
            if known is not None:
                before = self._patch.before.setdefault(instruction.first_line, [])
                self._patch.call(before, "ca_refuse_thread")

    def _count(self, instruction: Instruction, name: str) -> None:
        """Count calls of a function of which nothing is known."""
        before = self._patch.before.setdefault(instruction.first_line, [])
        self._patch.call(before, "ca_count_external", self._sites.external(name))

    def plan_entry(self) -> None:
        """Plan the start of the function: structures passed by value replicate the caller's."""
        function = self._values.function
        out = self._patch.tops.setdefault(self._values.cfg.entry, [])
        for index, size in self._calls.copied.get(function.name, {}).items():
            source = self._patch.value(out, f"load i64, ptr {label_slot(index)}, align 8")
            target = self._patch.address(out, function.parameters[index].text)
            site = self._labels.add_site(function.parameters[index].text, "copy", 0, None)
            self._patch.call(out, "ca_copy_words", site, target, source, size)

    def plan_return(self, instruction: Instruction, block: str, *, is_region: bool) -> None:
        """Plan ``ret`` and ``resume``: the label of the result, release of accumulators, end of a region."""
        out = self._patch.before.setdefault(instruction.first_line, [])
        function, values = self._values.function.name, instruction.operands
        for value in values if instruction.opcode == "ret" else ():
            if function == "@main" and (labels := self._labels.clean(value.text, block, out)):
                width = value_width(value.type, self._patch.word_bytes)
                site = self._labels.add_site("return", "exit", width, instruction)
                self._labels.name_value(out, site, labels)
            elif function != "@main" and holds_value(value.type) and function in self._demanded.results:
                pass_value(self._labels, value, block, -1, out, with_words=True)
        for storage in self._labels.accumulators:
            self._patch.call(out, "ca_accumulator_free", storage)
        if is_region:
            self._patch.call(out, "ca_region_leave")

    # ---- instrumented callees ------------------------------------------------------------------------------

    def _pass_arguments(self, instruction: Instruction, block: str) -> None:
        out = self._patch.before.setdefault(instruction.first_line, [])
        demanded = self._demanded.parameters.get(instruction.callee)
        pass_variadics(self._labels, instruction, block, out)
        for index, operand in enumerate(instruction.operands[: abi.MAX_CALL_ARGUMENTS]):
            if self._calls.is_copied(instruction.callee, index, operand.type):
                address = self._patch.address(out, operand.text)
                out.append(f"  store i64 {address}, ptr {label_slot(index)}, align 8")
            elif holds_value(operand.type) and (demanded is None or index in demanded):
                split = self._calls.split.get(instruction.callee)
                with_words = split is None or index in split
                pass_value(self._labels, operand, block, index, out, with_words=with_words)
        if demanded is None and holds_value(instruction.type):
            # a function pointer may lead to library code, which leaves the result's labels alone
            for part in range(len(passed_types(instruction.type)) or 1):
                for word in (0, 1):
                    out.append(f"  store i64 0, ptr {label_slot(-1, part, word)}, align 8")
