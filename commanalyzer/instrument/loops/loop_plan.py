"""Decides for every loop of a function how it is run when it repeats: known, previewed, or with hooks.

Input: facts of a function and what was inserted into it. Output: its loops that get a copy without hooks
(:attr:`FunctionPatch.repeated`) and what was found out about each loop (:attr:`FunctionPatch.findings`).
"""

from __future__ import annotations

from dataclasses import replace

from commanalyzer.instrument.code import FunctionPatch, LoopFinding, RepeatedLoop, plain_text
from commanalyzer.instrument.inspectors.preview_code import PreviewWriter
from commanalyzer.instrument.inspectors.preview_reads import may_protect_memory
from commanalyzer.instrument.inspectors.previews import Previewed, previewed
from commanalyzer.instrument.labelling.values import FunctionValues
from commanalyzer.instrument.loops.loop_findings import obstacle, why_not_single_ended
from commanalyzer.instrument.loops.repeats import (
    FEWEST_ROUNDS,
    by_polynomials,
    identity,
    is_read_outside,
    is_short,
    uses_of_inserted,
)
from commanalyzer.instrument.mechanisms import Mechanisms
from commanalyzer.ir.access_types import AccessTypes
from commanalyzer.ir.cfg import Loop
from commanalyzer.ir.loops.induction import LoopEnds, loop_ends
from commanalyzer.ir.model import Block, Module


def plan_repeats(
    values: FunctionValues, patch: FunctionPatch, module: Module, mechanisms: Mechanisms
) -> None:
    """Find the loops of a function whose effect can be known in advance, and plan their copies.

    Comes last: it reads what was inserted.
    """
    used_in = uses_of_inserted(values, patch)
    maker = _Maker(values, patch, module, AccessTypes(module.metadata), used_in, mechanisms)
    for loop in values.cfg.loops.values():
        found = maker.repeated(loop)
        outer = [f.header for f in patch.findings if f.how in ("known", "previewed")]
        is_inside = any(loop.header in values.cfg.loops[header].blocks for header in outer)
        if isinstance(found, str):
            how = "with the outer loop" if is_inside else "hooks"
            patch.findings.append(LoopFinding(loop.header, how, found))
        else:
            patch.findings.append(LoopFinding(loop.header, *maker.manner(found)))
            patch.repeated.append(found)


class _Maker:
    """Plans the copies of one function's loops, outer ones first."""

    def __init__(
        self,
        values: FunctionValues,
        patch: FunctionPatch,
        module: Module,
        accesses: AccessTypes,
        used_in: dict[str, set[str]],
        mechanisms: Mechanisms,
    ) -> None:
        self._values = values
        self._patch = patch
        self._module = module
        self._accesses = accesses
        self._used_in = used_in
        self._mechanisms = mechanisms
        self._is_protecting = may_protect_memory(module)
        self._previews: list[Previewed] = []

    def repeated(self, loop: Loop) -> RepeatedLoop | str:
        """The loop as it will be, or why it always runs with hooks."""
        values = self._values
        blocks = [b for b in values.function.blocks if b.label in loop.blocks]
        ends = loop_ends(values.cfg, loop)
        if ends is None:
            return why_not_single_ended(values.cfg, loop)
        if other := obstacle(values, blocks):
            return other
        if is_short(values, loop, ends):
            return f"fewer than {FEWEST_ROUNDS} rounds, always"
        found = by_polynomials(values, self._patch, loop, blocks, self._used_in, self._mechanisms)
        return found or self._previewed(loop, ends, blocks)

    def _previewed(self, loop: Loop, ends: LoopEnds, blocks: list[Block]) -> RepeatedLoop | str:
        if not self._mechanisms.inspectors:
            return "inspectors are switched off"
        if any(loop.header in p.loop.blocks for p in self._previews if not p.follows_values):
            return "part of a loop that is previewed"
        lines = self._module.lines
        plan = previewed(self._values, self._patch, loop, ends, blocks, self._accesses, lambda n: lines[n])
        if isinstance(plan, str):
            return plan
        if self._is_protecting or not self._mechanisms.memoised_inspectors:
            plan = replace(plan, reads=None)
        if is_read_outside(self._values, loop, ends, plan.code, self._used_in):
            return "what it computes is read behind it"
        number = len(self._patch.repeated)
        writer = PreviewWriter(self._patch, plan, number, lambda n: plain_text(lines[n]))
        found = writer.write(identity(self._values, loop, plan.code))
        if found is None:
            return "too many blocks"
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
