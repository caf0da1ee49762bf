"""Calls: labels through arguments and results, library functions, returns."""

from __future__ import annotations

from collections.abc import Mapping

from commanalyzer.abi import hooks
from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.containers import user_place
from commanalyzer.instrument.labels import LabelBook
from commanalyzer.instrument.scalars import value_width
from commanalyzer.instrument.sites import DebugInfo, ObjectRecord, SiteRecord, SiteTable, SourcePlace
from commanalyzer.instrument.values import CallFacts, FunctionValues, holds_value
from commanalyzer.ir.libcalls import THREAD_STARTERS, CallKind, Extent, LibraryCall, library_call
from commanalyzer.ir.model import Instruction, Operand

_STRING_BYTES = 8  # strings written by the library: their values are not followed, only forgotten
_REPLACED = {
    "malloc": "ca_malloc",
    "calloc": "ca_calloc",
    "realloc": "ca_realloc",
    "aligned_alloc": "ca_aligned_alloc",
    "memalign": "ca_aligned_alloc",
    "posix_memalign": "ca_posix_memalign",
}
_IMMEDIATE_EXITS = frozenset({"@_exit", "@_Exit", "@quick_exit"})


class CallPlanner:
    """Plans calls and returns of one function."""

    def __init__(
        self,
        values: FunctionValues,
        patch: FunctionPatch,
        sites: SiteTable,
        debug: DebugInfo,
        labels: LabelBook,
        calls: CallFacts,
        demanded: Mapping[str, frozenset[int]],
    ) -> None:
        self._values = values
        self._patch = patch
        self._sites = sites
        self._debug = debug
        self._labels = labels
        self._calls = calls
        self._demanded = demanded
        self._variables = debug.variables_of(values.function)

    def plan(self, instruction: Instruction, block: str) -> None:
        """Plan one ``call`` or ``invoke``."""
        if self._calls.passes_labels(instruction):
            self._pass_arguments(instruction, block)
            return
        if not instruction.callee.startswith("@"):
            return  # inline assembly: nothing is known, nothing is written through registers
        known = library_call(instruction.callee[1:])
        before = self._patch.before.setdefault(instruction.first_line, [])
        if known is None or known.kind is CallKind.CALLBACK:
            if not instruction.callee.startswith("@llvm."):
                self._patch.call(before, "ca_count_external", self._sites.external(instruction.callee[1:]))
                if instruction.callee[1:] in THREAD_STARTERS:
                    self._patch.call(before, "ca_refuse_thread")
            return
        self._library(instruction, known)

    def plan_entry(self) -> None:
        """Plan the start of the function: structures passed by value replicate the caller's."""
        function = self._values.function
        out = self._patch.tops.setdefault(self._values.cfg.entry, [])
        for index, size in self._calls.copied.get(function.name, {}).items():
            slot = f"getelementptr inbounds (i64, ptr @ca_arguments, i64 {index})"
            source = self._patch.value(out, f"load i64, ptr {slot}, align 8")
            target = self._patch.value(out, f"ptrtoint ptr {function.parameters[index].text} to i64")
            record = SiteRecord(function.name, function.parameters[index].text, "copy", 4, SourcePlace())
            self._patch.call(out, "ca_copy_words", self._sites.add_site(record), target, source, size)

    def plan_return(self, instruction: Instruction, block: str, *, is_region: bool) -> None:
        """Plan ``ret`` and ``resume``: the label of the result, release of accumulators, end of a region."""
        out = self._patch.before.setdefault(instruction.first_line, [])
        if instruction.opcode == "ret" and instruction.operands:
            self._return_value(instruction, block, out)
        for storage in self._labels.accumulators:
            self._patch.call(out, "ca_accumulator_free", storage)
        if is_region:
            self._patch.call(out, "ca_region_leave")

    def _return_value(self, instruction: Instruction, block: str, out: list[str]) -> None:
        value = instruction.operands[0]
        if self._values.function.name == "@main":
            labels = self._labels.clean(value.text, block, out)
            if labels:
                record = SiteRecord(
                    "@main", "return", "exit", value_width(value.type), self._place(instruction)
                )
                self._labels.name_value(out, self._sites.add_site(record), labels)
        elif holds_value(value.type):
            label = self._labels.passed(value.text, block, out)
            out.append(f"  store i64 {label}, ptr @ca_result, align 8")

    # ---- instrumented callees ------------------------------------------------------------------------------

    def _pass_arguments(self, instruction: Instruction, block: str) -> None:
        out = self._patch.before.setdefault(instruction.first_line, [])
        demanded = self._demanded.get(instruction.callee)
        for index, operand in enumerate(instruction.operands[: hooks.MAX_CALL_ARGUMENTS]):
            if self._calls.is_copied(instruction.callee, index, operand.type):
                label = self._patch.value(out, f"ptrtoint ptr {operand.text} to i64")
            elif not holds_value(operand.type) or (demanded is not None and index not in demanded):
                continue
            else:
                label = self._labels.passed(operand.text, block, out)
            slot = f"getelementptr inbounds (i64, ptr @ca_arguments, i64 {index})"
            out.append(f"  store i64 {label}, ptr {slot}, align 8")
        if demanded is None and holds_value(instruction.type):
            # a function pointer may lead to library code, which leaves the result's label alone
            out.append("  store i64 0, ptr @ca_result, align 8")

    # ---- library functions ---------------------------------------------------------------------------------

    def _library(self, instruction: Instruction, known: LibraryCall) -> None:
        kind = known.kind
        after = self._patch.after.setdefault(instruction.last_line, [])
        if instruction.opcode == "invoke":
            after = self._patch.tops.setdefault(instruction.targets[0], [])
        if kind is CallKind.ALLOCATE or kind is CallKind.REALLOCATE:
            self._replace_allocation(instruction, known)
        elif kind is CallKind.FREE:
            self._replace(instruction, "ca_free", [f"ptr {instruction.operands[known.pointer].text}"])
        elif kind is CallKind.COPY:
            self._copy(instruction, known, after)
        elif kind is CallKind.FILL:
            self._fill(instruction, known, after)
        elif kind is CallKind.EXIT and instruction.callee in _IMMEDIATE_EXITS:
            self._replace(instruction, "ca_exit_now", [f"i32 {instruction.operands[0].text}"])
        elif known.writes:
            self._written(instruction, known, after)

    def _copy(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        operands = instruction.operands
        size = self._as_i64(out, operands[known.sizes[0]])
        target = self._patch.value(out, f"ptrtoint ptr {operands[known.pointer].text} to i64")
        source = self._patch.value(out, f"ptrtoint ptr {operands[known.source].text} to i64")
        record = SiteRecord(self._values.function.name, operands[0].text, "copy", 4, self._place(instruction))
        self._patch.call(out, "ca_copy_words", self._sites.add_site(record), target, source, size)

    def _fill(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        operands = instruction.operands
        size = self._as_i64(out, operands[known.sizes[0]])
        target = self._patch.value(out, f"ptrtoint ptr {operands[known.pointer].text} to i64")
        record = SiteRecord(self._values.function.name, operands[0].text, "fill", 4, self._place(instruction))
        self._patch.call(out, "ca_fill", self._sites.add_site(record), target, size)

    def _written(self, instruction: Instruction, known: LibraryCall, out: list[str]) -> None:
        """What the library wrote came from outside: replications recorded there are over."""
        pointers = (
            instruction.operands[known.writes[0] :]
            if known.extent is Extent.FORMAT
            else [instruction.operands[i] for i in known.writes if i < len(instruction.operands)]
        )
        for operand in pointers:
            if operand.type.kind != "ptr" or operand.text == "null":
                continue
            size: str | int = known.write_bytes or _STRING_BYTES
            if known.extent is Extent.SIZES:
                size = self._product(out, [instruction.operands[i] for i in known.sizes])
            address = self._patch.value(out, f"ptrtoint ptr {operand.text} to i64")
            self._patch.call(out, "ca_input", address, size)

    def _replace_allocation(self, instruction: Instruction, known: LibraryCall) -> None:
        name = instruction.callee[1:]
        hook = _REPLACED.get(name)
        sizes = [instruction.operands[i] for i in known.sizes]
        before = self._patch.before.setdefault(instruction.first_line, [])
        number = self._allocation(instruction)
        if name in ("malloc", "calloc", "realloc", "posix_memalign"):
            arguments = [f"{o.type} {o.text}" for o in instruction.operands]
        elif name == "reallocarray":
            hook, arguments = (
                "ca_realloc",
                [f"ptr {instruction.operands[0].text}", self._typed(before, sizes)],
            )
        elif known.alignment >= 0:
            hook = "ca_aligned_alloc"
            alignment = self._as_i64(before, instruction.operands[known.alignment])
            arguments = [f"i64 {alignment}", self._typed(before, sizes)]
        else:
            hook, arguments = "ca_malloc", [self._typed(before, sizes)]
        assert hook is not None
        self._replace(instruction, hook, [f"i32 {number}", *arguments])

    def _allocation(self, instruction: Instruction) -> int:
        function = self._values.function.name
        variable, place = "", self._place(instruction)
        if instruction.name in self._variables:
            variable, declared = self._debug.variable(self._variables[instruction.name])
            place = declared if declared.line else place
        caller = user_place(self._debug, instruction.debug_location)
        if caller is not None:
            variable, place = caller[0] or variable, caller[1]
        number = len(self._sites.allocations)
        name = variable or f"{instruction.callee[1:]}#{number}"
        key = f"{function}/{instruction.name}"
        self._sites.allocations.append(ObjectRecord(key, name, function, place))
        return number

    def _replace(self, instruction: Instruction, hook: str, arguments: list[str]) -> None:
        """Call ``hook`` instead of the library function."""
        self._patch.used_hooks.add(hook)
        returns = hooks.HOOKS[hook].returns
        result = f"{instruction.name} = " if instruction.name else ""
        text = f"  {result}{instruction.opcode} {returns} @{hook}({', '.join(arguments)})"
        if instruction.opcode == "invoke":
            normal, unwind = instruction.targets
            text += f" to label %{normal} unwind label %{unwind}"
        self._patch.replaced[instruction.first_line] = text
        for line in range(instruction.first_line + 1, instruction.last_line + 1):
            self._patch.replaced[line] = ""

    # ---- small things --------------------------------------------------------------------------------------

    def _typed(self, out: list[str], operands: list[Operand]) -> str:
        return f"i64 {self._product(out, operands)}"

    def _product(self, out: list[str], operands: list[Operand]) -> str:
        result = self._as_i64(out, operands[0])
        for operand in operands[1:]:
            result = self._patch.value(out, f"mul i64 {result}, {self._as_i64(out, operand)}")
        return result

    def _as_i64(self, out: list[str], operand: Operand) -> str:
        if operand.type.bits == 64:
            return operand.text
        return self._patch.value(out, f"zext {operand.type} {operand.text} to i64")

    def _place(self, instruction: Instruction) -> SourcePlace:
        return self._debug.place(instruction.debug_location)
