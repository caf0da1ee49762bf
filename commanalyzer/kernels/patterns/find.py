"""Finds the pattern of every loop and recursive function from the flows of a run.

=============  =======================================================================================
pattern        when
=============  =======================================================================================
do-all         no value flows from one iteration to another
reduction      values flow only into a running value that one associative operation combines
stencil        a do-all whose neighbouring iterations read the same elements
pipeline       values flow between iterations, but the body falls into parts such that they flow within
               a part, or forward: stage k of element i needs stage k of i - 1 and stage k - 1 of i
task pool      a do-all with iterations of uneven work, or recursive calls that need nothing of each other
sequential     anything else, with the flows that forbid more
=============  =======================================================================================

Memory that several iterations reuse without need of the old values forbids nothing: each worker gets a copy
(*privatisation*). Loops that end on what they compute, and calls whose order the user sees, are sequential or
a stage of their own.

Reference: Calotoiu et al. 2019, Section III.A; T. Mattson, B. Sanders, B. Massingill, *Patterns for parallel
programming*, 2004 (task parallelism, geometric decomposition, pipeline); M. Wolfe, *High performance
compilers for parallel computing*, 1996 (dependence distances).

Splits the body of a loop into the stages of a pipeline.

The parts of a body (inner loops, calls, instructions) and the flows among them, in memory and in registers,
are a graph; its strongly connected components in topological order are the stages. Values flow within a
stage or forward, so that stages can work on different iterations at the same time. A stage that carries
nothing can be replicated.

Reference: E. Raman et al., *Parallel-stage decoupled software pipelining*, CGO 2008.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, TypeVar

from commanalyzer.graph.allocations import named_path
from commanalyzer.kernels.patterns.flows import (
    Carried,
    CodeSite,
    FlowCount,
    FlowKey,
    FlowObserver,
    FunctionRegisters,
    LoopCount,
    Part,
)
from commanalyzer.program.ir.cfg import ControlFlow, Loop, control_flow, reached, strong_components
from commanalyzer.program.ir.model import Function, Instruction, Module
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.program.ir.names.debug_info import DebugInfo, SourcePlace, is_library
from commanalyzer.program.ir.names.source_text import loop_place, user_place
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.sites import ObjectRecord
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.run import interpret_on

_UNNAMED = "temporary"  # as a recording calls what no variable declares
_CONSTRUCTION = re.compile(r"construct|uninitialized|EC[1-3][BE]", re.IGNORECASE)


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
            return self.of_object(known).name
        function, instruction = self._instruction[line]
        pointers = [o for o in instruction.operands if o.type.kind == "ptr"]
        definition = self._registers[function.name].definition
        variables = self._debug.variables_of(function)

        def bases(text: str) -> list[str]:
            step = definition.get(text)  # pointers that are swapped come from each other
            return [o.text for o in step.operands[: None if step.opcode == "phi" else 1]] if step else []

        texts = reached([pointers[-1].text], bases) if pointers else ()
        names = (self._own_name(variables.get(text, -1)) for text in texts)
        return next(filter(None, names), "") or self.of_object(known).name

    def _own_name(self, variable: int) -> str:
        """Name of a variable of the user's code; empty for others."""
        if variable < 0:
            return ""
        name, place = self._debug.variable(variable)
        return "" if is_library(place.file) else name

    def of_object(self, known: str) -> ObjectRecord:
        """A variable, or what calls ``function/%register`` make, as a recording has it; else ``memory``."""
        path = [self._records[key] for key in known.split() if key in self._records]
        found = named_path(path or [ObjectRecord(known, _UNNAMED, "", SourcePlace())])
        return replace(found, name="memory") if "#" in found.name or found.name == _UNNAMED else found

    @cached_property
    def _records(self) -> dict[str, ObjectRecord]:
        sites = plan_module(self._module, PlanOptions()).sites
        frames = (record for frame in reversed(sites.frames) for record in reversed(frame))
        return {record.key: record for record in (*frames, *sites.globals, *sites.allocations)}

    def constructs(self, line: int) -> bool:
        """The instruction on the module's ``line`` is of what the C++ library constructs objects with."""
        spots = self._debug.spots(self._instruction[line][1].debug_location)
        functions = (self._debug.fields(s.subprogram) for s in spots if is_library(s.place.file))
        names = (f.get("name", "") + " " + f.get("linkageName", "") for f in functions)
        return any(map(_CONSTRUCTION.search, names))


# A pipeline that gains less is none: with 1.01, every loop over time with something before it is one; with 2,
# two equal stages would only just be.
LEAST_SPEEDUP = 1.1
# Share of the work in inner loops and calls: single instructions are no stages, handing over costs more. With
# a quarter, a loop with one short call is a pipeline; with 1, one with an addition beside its calls is not.
LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a pipeline."""

    parts: tuple[Part, ...]  # parts of the body that it consists of
    share: float  # part of the loop's instructions
    is_replicable: bool  # no value flows from one of its executions to the next


class Body:
    """The parts of a loop's body, and what each needs of others."""

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
        """Stages in order; empty where they gain nothing."""
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
        return Part(CodeSite(function.name, inside[-1].header), -1)
    if i.opcode in ("call", "invoke") and i.callee in registers:
        return Part(CodeSite(i.callee, "", i.first_line), i.first_line)
    return Part(None, i.first_line)


def _share(group: Sequence[Part], count: LoopCount) -> float:
    inner = sum(count.inner.get(part.site, 0) for part in group if part.site is not None)
    return min(inner / max(count.instructions, 1), 1.0)  # recursion counts inner ones again


def _order(part: Part) -> tuple[int, str, str]:
    site = part.site or CodeSite("", "")
    return (part.line, site.function, site.name)


PatternKind = Literal["do-all", "reduction", "stencil", "pipeline", "task pool", "sequential"]
# An iteration with twice the work of another puts two workers a third apart from their mean. With 1.1, loops
# over triangles of few rows come in; with 4, only the wildest.
UNEVEN = 2.0
Seen = TypeVar("Seen", bound=FlowObserver, covariant=True)
_FEWEST_SHARING = 3  # iterations that must run before a shared element tells of neighbours


@dataclass(frozen=True, slots=True)
class ForbiddingFlow:
    """A flow from one iteration to a later one, or another reason."""

    variable: str  # variable that carries the value; empty for other reasons
    source: SourcePlace  # where it is written
    sink: SourcePlace  # where it is read
    distance: tuple[int, int]  # iterations between them: smallest and largest
    count: int  # how often (words)
    reason: str  # in words


@dataclass(frozen=True, slots=True)
class FoundStage:
    """A part of a pipeline."""

    lines: tuple[int, ...]  # source lines that it consists of
    share: float  # part of the loop's instructions
    is_replicable: bool  # no value flows from one of its executions to the next


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """What was found for one loop or recursive function."""

    function: str  # function that contains it
    place: SourcePlace  # where it begins
    kind: PatternKind
    is_loop: bool  # a loop, not a recursion
    instances: int  # how often it was entered
    iterations: int  # iterations of all instances
    share: float  # part of all executed instructions
    private: tuple[str, ...] = ()  # variables of which each worker needs a copy
    reduced: tuple[str, ...] = ()  # variables that are reduced
    radius: int = 0  # distance of iterations that read the same elements, for stencils
    neighbours: tuple[str, ...] = ()  # variables that these elements belong to
    stages: tuple[FoundStage, ...] = ()  # of a pipeline, in order
    forbidding: tuple[ForbiddingFlow, ...] = ()  # why it is nothing better, the most frequent first

    @property
    def expression(self) -> str:
        """The pattern over stages, as ``composition`` writes it; empty for a sequence."""
        if self.kind == "pipeline":
            names = [f"stage{k}" for k in range(1, len(self.stages) + 1)]
            parts = [
                f"tpool(T{k}, {name})" if stage.is_replicable else name
                for k, (name, stage) in enumerate(zip(names, self.stages, strict=True), 1)
            ]
            return f"pipe({', '.join(parts)})"
        forms = {
            "do-all": "map(T, iteration)",
            "reduction": "reduction(T, iteration, combine)",
            "stencil": "stencil(T, iteration, exchange)",
            "task pool": "tpool(T, iteration)",
        }
        return forms.get(self.kind, "")


def find_patterns(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
) -> tuple[FoundPattern, ...]:
    """Patterns of the loops that ran and of the functions that called themselves, by source line.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    return _PatternFinder(module, observe(module, arguments, stdin, FlowObserver)).found()


def loop_patterns(module: Module, run: ObservedRun[FlowObserver]) -> dict[CodeSite, FoundPattern]:
    """Patterns of the loops that made more than one iteration in a run."""
    return _PatternFinder(module, run).of_loops()


@dataclass(frozen=True, slots=True)
class ObservedRun(Generic[Seen]):
    """A run and what its observer has seen."""

    observer: Seen
    machine: Machine
    registers: Mapping[str, FunctionRegisters]  # of its functions, by name
    # Stores that combine a loaded value with others: line -> lines of such loads
    updates: Mapping[int, tuple[int, ...]]


def observe(
    module: Module,
    arguments: Sequence[str],
    stdin: bytes,
    kind: Callable[[Module, Callable[[], Machine]], Seen],
) -> ObservedRun[Seen]:
    """Interpret a program under an observer; arguments and errors as :func:`find_patterns`."""
    registers = {f.name: FunctionRegisters(f, control_flow(f)) for f in module.functions}
    updates: dict[int, tuple[int, ...]] = {}
    for known in registers.values():
        updates |= known.updates()
    machine: Machine | None = None

    def running() -> Machine:
        assert machine is not None
        return machine

    observer = kind(module, running)
    observer.watched = updates
    observer.indices = frozenset().union(*(known.index_loads() for known in registers.values()))
    machine = Machine(module, stdin=stdin, observer=observer)
    interpret_on(machine, arguments)
    return ObservedRun(observer, machine, registers, updates)


class _PatternFinder:
    def __init__(self, module: Module, run: ObservedRun[FlowObserver]) -> None:
        self._module, self._registers, self._observer = module, run.registers, run.observer
        self._updates, self._instructions = run.updates, max(run.machine.counts.instructions, 1)
        self._source = SourceNames(module, run.registers)
        self._of: dict[CodeSite, list[tuple[FlowKey, FlowCount]]] = {}
        for key, flow in run.observer.flows.items():
            self._of.setdefault(key.site, []).append((key, flow))

    def found(self) -> tuple[FoundPattern, ...]:
        result = list(self.of_loops().values())
        for function in self._module.functions:
            result += self._of_recursion(function)
        return tuple(sorted(result, key=lambda p: (p.place.file, p.place.line, not p.is_loop)))

    def of_loops(self) -> dict[CodeSite, FoundPattern]:
        """Loops that made more than one iteration."""
        result = {}
        for function in self._module.functions:
            for loop in control_flow(function).loops.values():
                site = CodeSite(function.name, loop.header)
                count = self._observer.counts.get(site)
                if count is not None and count.iterations > count.instances:
                    result[site] = self._of_loop(function, loop, count)
        return result

    def _of_loop(self, function: Function, loop: Loop, count: LoopCount) -> FoundPattern:
        site = CodeSite(function.name, loop.header)
        registers = self._registers[function.name]
        carried = registers.carried(loop)
        flows = [(key, flow) for key, flow in self._of.get(site, ()) if key.is_carried]
        reducing = [(key, flow) for key, flow in flows if self._is_update(key)]
        forbidding = [item for item in flows if item not in reducing]
        reasons = [self._flow(key, flow) for key, flow in forbidding]
        reasons += [self._register(function, c) for c in carried if c.kind == "forbids"]
        calls = count.calls.items()
        ordered = [self._reason(line, f"{name} is called in this order") for line, name in calls]
        leaving = registers.leaves_on_data(loop)
        ends = [self._reason(leaving, "the loop ends on what its iterations compute")] if leaving >= 0 else []
        reduced = [self._source.accessed(key.read, flow.variable) for key, flow in reducing]
        reduced += [self._source.variable(function, c.register) for c in carried if c.kind == "reduction"]
        stages: tuple[FoundStage, ...] = ()
        near: dict[str, int] = {}
        radius = 0
        if reasons or ordered or ends:
            kind: PatternKind = "sequential"
            if not ends:
                stages = self._stages(function, loop, site, count, carried)
                kind = "pipeline" if stages else "sequential"
        else:
            near = self._neighbours(count)
            radius = max(near.values(), default=0)
            is_uneven = count.most > UNEVEN * count.least
            kind = "stencil" if radius else "reduction" if reduced else "task pool" if is_uneven else "do-all"
        forbidding_flows = sorted((*reasons, *ordered, *ends), key=lambda r: -r.count)
        used = {flow.variable for _, flow in flows}
        return FoundPattern(
            function=source_name(function.name),
            place=self._source.of_loop(function, loop),
            kind=kind,
            is_loop=True,
            instances=count.instances,
            iterations=count.iterations,
            share=count.instructions / self._instructions,
            private=tuple(
                sorted({self._source.accessed(n, v) for v, n in count.rewritten.items() if v not in used})
            ),
            reduced=tuple(dict.fromkeys(filter(None, reduced))),
            radius=radius,
            neighbours=tuple(sorted(near)),
            stages=stages,
            forbidding=tuple(forbidding_flows),
        )

    def _is_update(self, key: FlowKey) -> bool:
        """The flow leads from a combining store into itself, through one address."""
        is_pair = key.read in self._updates.get(key.write, ())
        return is_pair and (key.read, key.write) not in self._observer.moved

    def _neighbours(self, count: LoopCount) -> dict[str, int]:
        """Variables of which neighbouring iterations read the same elements, and how far these are apart.

        Elements that iterations from all over the loop read are not a neighbour's.
        """
        mean = count.iterations / count.instances
        if mean < _FEWEST_SHARING:
            return {}
        near = {name: seen for name, seen in count.shared.items() if seen[0] < mean / 2}
        return {self._source.accessed(line, name): distance for name, (distance, line) in near.items()}

    def _stages(
        self, function: Function, loop: Loop, site: CodeSite, count: LoopCount, carried: Sequence[Carried]
    ) -> tuple[FoundStage, ...]:
        body = Body(function, control_flow(function), loop, self._registers)
        for key, _ in self._of.get(site, ()):
            if not self._is_update(key):
                body.add_flow(key.source, key.sink)
        body.add_carried(carried)
        for line in count.calls:
            body.add_order(line)
        return tuple(
            FoundStage(
                tuple(sorted({self._source.line_of(part) for part in stage.parts} - {0})),
                stage.share,
                stage.is_replicable,
            )
            for stage in body.stages(count)
        )

    def _of_recursion(self, function: Function) -> list[FoundPattern]:
        """A function that calls itself from several places that need nothing of each other."""
        counts = self._observer.counts
        own = [site for site in counts if site.function == function.name]
        inner = {
            call for site in own for call in counts[site].inner
            if call.function == function.name and not call.is_loop
        }  # fmt: skip
        # a second call at the end of a function has become a loop around the first
        in_loop = any(site.is_loop and inner & set(counts[site].inner) for site in own)
        if len(inner) < 2 and not (inner and in_loop):
            return []
        flows = [
            (key, flow)
            for site in own
            for key, flow in self._of.get(site, ())
            if key.source.site in inner and (key.is_carried or key.sink.site in inner - {key.source.site})
        ]
        sites = [site for site in own if not site.is_loop]
        executed = sum(counts[site].instructions for site in sites if site not in inner)
        calls = sum(counts[site].instances for site in sites)
        return [
            FoundPattern(
                function=source_name(function.name),
                place=self._source.of_function(function),
                kind="sequential" if flows else "task pool",
                is_loop=False,
                instances=calls,
                iterations=calls,
                share=executed / self._instructions,
                forbidding=tuple(self._flow(key, flow) for key, flow in flows),
            )
        ]

    def _flow(self, key: FlowKey, flow: FlowCount) -> ForbiddingFlow:
        near, far = flow.nearest, flow.farthest
        reach = f"{near}" if near == far else f"{near} to {far}"
        what = f"{reach} iteration{'s' if far > 1 else ''} later" if key.is_carried else "in the next call"
        return ForbiddingFlow(
            self._source.accessed(key.read, flow.variable),
            self._source.place(key.write),
            self._source.place(key.read),
            (near, far),
            flow.count,
            f"needed {what}",
        )

    def _register(self, function: Function, carried: Carried) -> ForbiddingFlow:
        name = self._source.variable(function, carried.register)
        place = self._source.place(carried.update)
        return ForbiddingFlow(name, place, place, (1, 1), 1, "the next iteration goes on from it")

    def _reason(self, line: int, text: str) -> ForbiddingFlow:
        place = self._source.place(line)
        return ForbiddingFlow("", place, place, (0, 0), 0, text)
