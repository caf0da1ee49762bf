"""Where the analysed region begins and ends: calls of functions, and marks in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.program.frontend.regions import BEGIN, END
from commanalyzer.program.ir.cfg import reached
from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.recording.instrument.code import FunctionPatch

_CALLS = frozenset({"call", "invoke"})


@dataclass(frozen=True, slots=True)
class Regions:
    """What is counted; everything when nothing is named.

    Calls of ``functions`` (with ``@``) and what lies between the marks so named. In or below the functions
    ``switching``, a region can begin or end without their call being one.
    """

    functions: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    switching: frozenset[str] = frozenset()

    def switches(self, instruction: Instruction) -> bool:
        """Behind the instruction, the region may have begun or ended."""
        if not self.marks or instruction.opcode not in _CALLS:
            return False
        callee = instruction.callee
        return callee in self.switching or _may_switch(callee, self.marks)


def resolve_regions(module: Module, wanted: Sequence[str]) -> Regions:
    """Find the regions in ``module``; C++ names may be given without their mangling.

    Raises ConfigError if a name matches no function and no mark.
    """
    marks = frozenset(name.removeprefix(BEGIN) for name in wanted if name.startswith(BEGIN))
    named = (name for name in wanted if not name.startswith(BEGIN))
    functions = frozenset(found for name in named for found in _functions_named(module, name))
    return Regions(functions, marks, _switching(module, marks))


def is_mark(instruction: Instruction) -> bool:
    """The instruction is a mark in the source."""
    return instruction.opcode in _CALLS and bool(_mark(instruction.callee)[0])


def plan_marks(function: Function, patch: FunctionPatch, regions: Regions) -> None:
    """Replace marks by the begin and end of the region; marks of other regions vanish."""
    for instruction in filter(is_mark, function.instructions):
        patch.replace(instruction)
        kind, name = _mark(instruction.callee)
        if name in regions.marks:
            out = patch.after.setdefault(instruction.last_line, [])
            patch.call(out, "ca_region_enter" if kind == BEGIN else "ca_region_leave")


def _mark(callee: str) -> tuple[str, str]:
    """Prefix and name of the mark that a call stands for; empty if it is none."""
    symbol = callee.removeprefix("@").strip('"')
    kind = next((kind for kind in (BEGIN, END) if symbol.startswith(kind)), "")
    return kind, symbol.removeprefix(kind) if kind else ""


def _switching(module: Module, marks: frozenset[str]) -> frozenset[str]:
    if not marks:
        return frozenset()
    callees = {f.name: {i.callee for i in f.instructions if i.opcode in _CALLS} for f in module.functions}
    switching = (n for n, called in callees.items() if any(_may_switch(c, marks) for c in called))
    return frozenset(reached(switching, lambda name: [n for n, called in callees.items() if name in called]))


def _may_switch(callee: str, marks: frozenset[str]) -> bool:
    return callee.startswith("%") or _mark(callee)[1] in marks


def _functions_named(module: Module, wanted: str) -> list[str]:
    names = [f.name for f in module.functions if not _mark(f.name)[0]]
    mangled = f"{len(wanted)}{wanted}"
    matches = [n for n in names if n.strip('@"') == wanted]
    matches = matches or [n for n in names if n.startswith("@_Z") and mangled in n]
    if not matches:
        raise ConfigError(
            f"the region function '{wanted}' is not in the program (or was inlined away)",
            hint="name a function that is defined and not static: " + ", ".join(n[1:] for n in names[:12]),
        )
    return matches
