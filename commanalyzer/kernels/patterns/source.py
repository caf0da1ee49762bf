"""Places and names in the source of what a run showed."""

from __future__ import annotations

from collections.abc import Mapping

from commanalyzer.kernels.patterns.carried import FunctionRegisters
from commanalyzer.kernels.patterns.flows import Part
from commanalyzer.program.ir.cfg import Loop, control_flow
from commanalyzer.program.ir.model import Function, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, is_library
from commanalyzer.program.ir.names.source_text import loop_place, user_place


class SourceNames:
    """Places and variables of a module."""

    def __init__(self, module: Module, registers: Mapping[str, FunctionRegisters]) -> None:
        self._module, self._registers = module, registers
        self._debug = DebugInfo(module)
        self._instruction = {
            i.first_line: (f, i) for f in module.functions for b in f.blocks for i in b.instructions
        }

    def place(self, line: int) -> SourcePlace:
        """Place of an instruction on the module's ``line``."""
        if line not in self._instruction:
            return SourcePlace()
        return user_place(self._debug, self._instruction[line][1].debug_location)

    def of_loop(self, function: Function, loop: Loop) -> SourcePlace:
        """Where a loop begins."""
        return loop_place(self._module, self._debug, function, loop.header)

    def of_function(self, function: Function) -> SourcePlace:
        """Where a function begins."""
        return self._debug.place(function.debug_subprogram)

    def line_of(self, part: Part) -> int:
        """Line of a part of a body, 0 when unknown."""
        if part.site is None or not part.site.is_loop:
            return self.place(part.line).line
        function = next(f for f in self._module.functions if f.name == part.site.function)
        return self.of_loop(function, control_flow(function).loops[part.site.name]).line

    def variable(self, function: Function, register: str) -> str:
        """Variable that a register held first, empty when unknown."""
        return self._own_name(self._debug.variables_of(function).get(register, -1))

    def accessed(self, line: int, known: str) -> str:
        """Variable that an access of the module's ``line`` goes through; a global's own name."""
        if known.startswith("@") and "/" not in known:
            return known.removeprefix("@")
        function, instruction = self._instruction[line]
        pointers = [o for o in instruction.operands if o.type.kind == "ptr"]
        definition = self._registers[function.name].definition
        variables = self._debug.variables_of(function)
        text = pointers[-1].text if pointers else ""
        while text and not self._own_name(variables.get(text, -1)):
            step = definition.get(text)
            text = step.operands[0].text if step is not None and step.operands else ""
        return self._own_name(variables[text]) if text else self.of_object(known)

    def _own_name(self, variable: int) -> str:
        """Name of a variable of the user's code; empty for others."""
        if variable < 0:
            return ""
        name, place = self._debug.variable(variable)
        return "" if is_library(place.file) else name

    def of_object(self, known: str) -> str:
        """Variable that held the address of a stack or heap object first: ``function/%register``."""
        owner, _, register = known.partition("/")
        function = next((f for f in self._module.functions if f.name == owner), None)
        if function is None:
            return "memory"
        held = self._debug.variables_of(function)
        held |= {r.register: r.variable for r in function.debug_records if r.kind == "declare"}
        return self._own_name(held.get(register, -1)) or "memory"
