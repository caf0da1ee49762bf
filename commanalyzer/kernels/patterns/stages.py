"""Splits the body of a loop into the stages of a pipeline.

The parts of a body (inner loops, calls, instructions) and the flows among them, in memory and in registers,
are a graph; its strongly connected components in topological order are the stages. Values flow within a
stage or forward, so that stages can work on different iterations at the same time. A stage that carries
nothing can be replicated.

Reference: E. Raman et al., *Parallel-stage decoupled software pipelining*, CGO 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.kernels.patterns.carried import Carried, FunctionRegisters
from commanalyzer.kernels.patterns.contexts import Site
from commanalyzer.kernels.patterns.flows import LoopCount, Part
from commanalyzer.program.ir.cfg import ControlFlow, Loop
from commanalyzer.program.ir.graphs import strong_components
from commanalyzer.program.ir.model import Function, Instruction

# A pipeline that gains less is none: with 1.01, every loop over time with something before it is one; with 2,
# two equal stages would only just be.
LEAST_SPEEDUP = 1.1
# Share of the work in inner loops and calls: single instructions are no stages, handing over costs more. With
# a quarter, a loop with one short call is a pipeline; with 1, one with an addition beside its calls is not.
LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a pipeline.

    Attributes:
        parts: Parts of the body that it consists of.
        share: Part of the loop's instructions.
        is_replicable: No value flows from one of its executions to the next.
    """

    parts: tuple[Part, ...]
    share: float
    is_replicable: bool


class Body:
    """The parts of a loop's body, and what each needs of others.

    Args:
        function: Function with the loop.
        cfg: Its control flow.
        loop: The loop.
        registers: Of all functions, by name.
    """

    def __init__(
        self, function: Function, cfg: ControlFlow, loop: Loop, registers: Mapping[str, FunctionRegisters]
    ) -> None:
        self._loop, self._registers = loop, registers[function.name]
        self._part_of: dict[int, Part] = {}
        for block in function.blocks:
            if block.label in loop.blocks:
                inside = [inner for inner in cfg.loops_around(block.label) if inner.blocks < loop.blocks]
                for i in block.instructions:
                    self._part_of[i.first_line] = _part(function, inside, i, registers)
        self._needs: dict[Part, set[Part]] = {
            part: set() for part in self._part_of.values() if part.site is not None
        }
        self._add_registers()

    def add_flow(self, source: Part, sink: Part) -> None:
        """``sink`` needs a value of ``source``, of this or an earlier iteration."""
        self._needs.setdefault(source, set())
        self._needs.setdefault(sink, set()).add(source)

    def add_order(self, line: int) -> None:
        """What stands on ``line`` of the module happens in the order of the iterations."""
        part = next((p for p in self._needs if p.line == line), Part(None, line))
        self.add_flow(part, part)

    def add_carried(self, carried: Sequence[Carried]) -> None:
        """Registers that the next iteration goes on from tie what computes and what uses them."""
        for item in carried:
            if item.kind == "forbids":
                own = Part(None, self._registers.definition[item.register].first_line)
                self.add_flow(self._part_of.get(item.update, Part(None, item.update)), own)
                for user in self._registers.users.get(item.register, ()):
                    sink = self._part_of.get(user.first_line)
                    if sink is not None and sink != own:
                        self.add_flow(own, sink)

    def stages(self, count: LoopCount) -> tuple[Stage, ...]:
        """Stages in order; empty where they gain nothing.

        Args:
            count: What the loop did.
        """
        needs = self._needs
        groups = strong_components(sorted(needs, key=_order), lambda p: sorted(needs[p], key=_order))
        found: list[tuple[list[Part], bool]] = []
        for group in groups:
            is_serial = len(group) > 1 or group[0] in needs[group[0]]
            if all(part.site is None for part in group) and not is_serial:
                continue  # an instruction goes along with what needs it
            if found and not is_serial and not found[-1][1]:
                found[-1][0].extend(group)  # what is independent stays together
            else:
                found.append((list(group), is_serial))
        stages = tuple(Stage(tuple(group), _share(group, count), not serial) for group, serial in found)
        # Without bound on threads a pipeline is as slow as its slowest stage that is not replicated.
        slowest = max((stage.share for stage in stages if not stage.is_replicable), default=0.0)
        whole = sum(stage.share for stage in stages)
        is_worth_it = len(stages) > 1 and whole >= LEAST_SHARE and slowest * LEAST_SPEEDUP <= whole
        return stages if is_worth_it else ()

    def _add_registers(self) -> None:
        """Flows within an iteration that never are in memory."""
        for name, definition in self._registers.definition.items():
            source = self._part_of.get(definition.first_line)
            if source is None or self._is_carrying(definition):
                continue
            for user in self._registers.users.get(name, ()):
                sink = self._part_of.get(user.first_line)
                if sink is not None and sink != source and not self._is_carrying(user):
                    self.add_flow(source, sink)

    def _is_carrying(self, instruction: Instruction) -> bool:
        """A phi of the loop's header."""
        block = self._registers.block_of[instruction.first_line]
        return instruction.opcode == "phi" and block == self._loop.header


def _part(
    function: Function, inside: Sequence[Loop], i: Instruction, registers: Mapping[str, FunctionRegisters]
) -> Part:
    """Part of a body that an instruction belongs to; ``inside`` are inner loops, the innermost first."""
    if inside:
        return Part(Site(function.name, inside[-1].header), -1)
    if i.opcode in ("call", "invoke") and i.callee in registers:
        return Part(Site(i.callee, "", i.first_line), i.first_line)
    return Part(None, i.first_line)


def _share(group: Sequence[Part], count: LoopCount) -> float:
    inner = sum(count.inner.get(part.site, 0) for part in group if part.site is not None)
    return min(inner / max(count.instructions, 1), 1.0)  # recursion counts inner ones again


def _order(part: Part) -> tuple[int, str, str]:
    site = part.site or Site("", "")
    return (part.line, site.function, site.name)
