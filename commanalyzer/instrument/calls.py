"""Calls: labels through arguments and results, library functions, returns."""

from __future__ import annotations

from commanalyzer.abi import hooks
from commanalyzer.instrument.allocations import AllocationPlanner
from commanalyzer.instrument.labelling.labels import LabelBook
from commanalyzer.instrument.labelling.origins import (
    argument_slot,
    pass_value,
    pass_variadics,
    passed_types,
    result_slot,
)
from commanalyzer.instrument.labelling.recurrences import Demand
from commanalyzer.instrument.labelling.values import MASKED_LOADS, CallFacts, holds_value, value_width
from commanalyzer.instrument.library import LibraryPlanner
from commanalyzer.instrument.sites import SiteRecord
from commanalyzer.ir.libcalls import CallKind
from commanalyzer.ir.model import Instruction
from commanalyzer.ir.names.debug_info import SourcePlace


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
            slot = argument_slot(index)
            source = self._patch.value(out, f"load i64, ptr {slot}, align 8")
            target = self._patch.address(out, function.parameters[index].text)
            record = SiteRecord(function.name, function.parameters[index].text, "copy", 0, SourcePlace())
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
                    "@main", "return", "exit", value_width(value.type), self._labels.place(instruction)
                )
                self._labels.name_value(out, self._sites.add_site(record), labels)
        elif holds_value(value.type) and self._values.function.name in self._demanded.results:
            pass_value(self._labels, value, block, -1, out, with_words=True)

    # ---- instrumented callees ------------------------------------------------------------------------------

    def _pass_arguments(self, instruction: Instruction, block: str) -> None:
        out = self._patch.before.setdefault(instruction.first_line, [])
        demanded = self._demanded.parameters.get(instruction.callee)
        pass_variadics(self._labels, instruction, block, out)
        for index, operand in enumerate(instruction.operands[: hooks.MAX_CALL_ARGUMENTS]):
            if self._calls.is_copied(instruction.callee, index, operand.type):
                label = self._patch.address(out, operand.text)
            elif not holds_value(operand.type) or (demanded is not None and index not in demanded):
                continue
            else:
                split = self._calls.split.get(instruction.callee)
                with_words = split is None or index in split
                pass_value(self._labels, operand, block, index, out, with_words=with_words)
                continue
            out.append(f"  store i64 {label}, ptr {argument_slot(index)}, align 8")
        if demanded is None and holds_value(instruction.type):
            # a function pointer may lead to library code, which leaves the result's labels alone
            for part in range(len(passed_types(instruction.type)) or 1):
                for word in (0, 1):
                    out.append(f"  store i64 0, ptr {result_slot(part, word)}, align 8")
