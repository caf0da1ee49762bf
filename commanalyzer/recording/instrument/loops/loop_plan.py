"""Decides for every loop of a function how it is run when it repeats: known, previewed, or with hooks.

Input: facts of a function and what was inserted into it. Output: its loops that get a copy without hooks
(:attr:`FunctionPatch.repeated`) and what was found out about each loop (:attr:`FunctionPatch.findings`),
as text for users, and for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from commanalyzer.program.ir.cfg import Loop
from commanalyzer.program.ir.libcalls import CallKind
from commanalyzer.program.ir.loops.induction import LoopEnds, loop_ends
from commanalyzer.program.ir.model import BasicBlock, Function, Instruction, Module
from commanalyzer.program.ir.names.debug_info import DebugInfo
from commanalyzer.program.ir.names.source_text import loop_place, user_place
from commanalyzer.recording.instrument.code import FunctionPatch, LoopFinding, RepeatedLoop, plain_text
from commanalyzer.recording.instrument.inspectors.preview_code import PreviewWriter
from commanalyzer.recording.instrument.inspectors.previews import (
    NOTHING,
    Previewed,
    may_protect_memory,
    previewed,
)
from commanalyzer.recording.instrument.labelling.values import FunctionValues
from commanalyzer.recording.instrument.loops.loop_code import Obstacle
from commanalyzer.recording.instrument.loops.repeats import (
    FEWEST_ROUNDS,
    by_polynomials,
    identity,
    is_read_outside,
    is_short,
    uses_of_inserted,
)
from commanalyzer.recording.instrument.mechanisms import Mechanisms

MAX_INSTRUCTIONS = 2000  # of a nest: it is written out once more per level
_SIDE_EFFECTS = frozenset(
    {"invoke", "fence", "atomicrmw", "cmpxchg", "alloca", "va_arg", "switch", "indirectbr", "callbr"}
)
_NOTES = ("@llvm.lifetime.", "@llvm.assume", "@llvm.experimental.noalias.")  # for the compiler only


def plan_repeats(
    values: FunctionValues, patch: FunctionPatch, module: Module, mechanisms: Mechanisms
) -> None:
    """Find the loops of a function whose effect can be known in advance, and plan their copies.

    Comes last: it reads what was inserted.
    """
    maker = _Maker(values, patch, module, mechanisms)
    for loop in values.cfg.loops.values():
        outer = [f.header for f in patch.findings if f.how in ("known", "previewed")]
        is_inside = any(loop.header in values.cfg.loops[header].blocks for header in outer)
        try:
            found = maker.repeated(loop)
        except Obstacle as met:
            alone = "counts only" if met.reason == NOTHING else "hooks"
            how = "with the outer loop" if is_inside else alone
            patch.findings.append(LoopFinding(loop.header, how, met.reason, met.at))
        else:
            patch.findings.append(LoopFinding(loop.header, *maker.manner(found)))
            patch.repeated.append(found)


class _Maker:
    """Plans the copies of one function's loops, outer ones first."""

    def __init__(
        self, values: FunctionValues, patch: FunctionPatch, module: Module, mechanisms: Mechanisms
    ) -> None:
        self._values, self._patch, self._module, self._mechanisms = values, patch, module, mechanisms
        self._used_in = uses_of_inserted(values, patch)
        self._is_protecting = may_protect_memory(module)
        self._previews: list[Previewed] = []

    def repeated(self, loop: Loop) -> RepeatedLoop:
        """The loop as it will be; an obstacle is raised if it always runs with hooks."""
        values = self._values
        blocks = [b for b in values.function.blocks if b.label in loop.blocks]
        ends = loop_ends(values.cfg, loop)
        if ends is None:
            raise _why_not_single_ended(values.function, loop)
        if sum(len(b.instructions) for b in blocks) > MAX_INSTRUCTIONS:
            raise Obstacle(f"has more than {MAX_INSTRUCTIONS} instructions")
        for instruction in (i for b in blocks for i in b.instructions if not _is_plain(values, i)):
            raise Obstacle(_named(instruction), instruction)
        if is_short(values, loop, ends):
            raise Obstacle(f"never makes {FEWEST_ROUNDS} rounds: looking ahead would cost more")
        found = by_polynomials(values, self._patch, loop, blocks, self._used_in, self._mechanisms)
        return found or self._previewed(loop, ends, blocks)

    def _previewed(self, loop: Loop, ends: LoopEnds, blocks: list[BasicBlock]) -> RepeatedLoop:
        if not self._mechanisms.inspectors:
            raise Obstacle("inspectors are switched off")
        if any(loop.header in p.loop.blocks for p in self._previews if not p.follows_values):
            raise Obstacle("part of a loop that is previewed")
        lines = self._module.lines
        plan = previewed(self._values, self._patch, loop, ends, blocks, self._module)
        if self._is_protecting or not self._mechanisms.memoised_inspectors:
            plan = replace(plan, reads=None)
        if is_read_outside(self._values, loop, ends, plan.code, self._used_in):
            raise Obstacle("a value or a sum that it computes is used after it")
        number = len(self._patch.repeated)
        writer = PreviewWriter(self._patch, plan, number, lambda n: plain_text(lines[n]))
        found = writer.write(identity(self._values, loop, plan.code))
        if found is None:
            raise Obstacle("has too many branches")
        self._previews.append(plan)
        return found

    def manner(self, loop: RepeatedLoop) -> tuple[str, str]:
        """How a loop is known, and what that costs."""
        if not loop.preview:
            return "known", ""
        plan = self._previews[-1]
        if plan.follows_values:
            return "previewed", "computed numbers decide addresses or branches"
        if plan.reads is None:
            return "previewed", "reads too many arrays to keep them"
        if plan.reads.sizes:
            return "previewed", "arrays decide addresses, rounds or branches: again when they change"
        return "previewed", "has branches or rounds that may not happen"


def _named(instruction: Instruction) -> str:
    if instruction.opcode in ("call", "invoke"):
        name = instruction.callee.removeprefix("@")
        return "calls a function through a pointer" if name.startswith("%") else f"calls {name}"
    if instruction.flags & {"volatile", "atomic"}:
        return "has a volatile or atomic access"
    return f"contains '{instruction.opcode}'"


def _is_plain(values: FunctionValues, instruction: Instruction) -> bool:
    """Nothing but computing, loading and storing."""
    if instruction.opcode in _SIDE_EFFECTS or instruction.flags & {"volatile", "atomic"}:
        return False
    if instruction.opcode == "br":
        return True
    if instruction.opcode == "call":
        if instruction.callee.startswith(_NOTES):
            return True
        known = values.calls.effect(instruction)
        if known is None or known.reads or known.writes:
            return False
        return known.kind in (CallKind.PURE, CallKind.COPY, CallKind.FILL) and not known.calls
    return not instruction.targets and instruction.opcode not in ("ret", "resume", "unreachable")


def _why_not_single_ended(function: Function, loop: Loop) -> Obstacle:
    """Why a loop has no edges that :func:`commanalyzer.program.ir.loops.induction.loop_ends` would take."""
    branches = (b.terminator for b in function.blocks if b.label in loop.blocks)
    exiting = [branch for branch in branches if not loop.blocks.issuperset(branch.targets)]
    if len(exiting) > 1:
        return Obstacle(f"can end in {len(exiting)} places", *exiting)
    return Obstacle("is entered, repeated or left in several ways" if exiting else "never ends")


def loops_text(module: Module, patches: Mapping[str, FunctionPatch]) -> str:
    """One line per loop: place, function, how it is run again, and why not better."""
    debug = DebugInfo(module)
    rows = [("loop", "function", "when it repeats", "because")]
    for function in module.functions:
        for finding in patches[function.name].findings:
            place = loop_place(module, debug, function, finding.header)
            where = f"{place.file}:{place.line}" if place.line else finding.header
            places = [user_place(debug, i.debug_location) for i in finding.at]
            lines = dict.fromkeys(p.line for p in places if p.file == place.file and p.line)
            why = finding.reason + (f" ({', '.join(f'line {n}' for n in lines)})" if lines else "")
            rows.append((where, function.name.removeprefix("@"), finding.how, why))
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows)
