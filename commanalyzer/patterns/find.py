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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from commanalyzer.interpreter.machine import Machine
from commanalyzer.interpreter.run import (
    DEFAULT_MAX_INSTRUCTIONS,
    DEFAULT_MAX_MEMORY_BYTES,
    interpret_on,
)
from commanalyzer.ir.cfg import Loop, control_flow
from commanalyzer.ir.debug_info import DebugInfo, SourcePlace
from commanalyzer.ir.graphs import strong_components
from commanalyzer.ir.loop_places import loop_place
from commanalyzer.ir.model import Function, Module
from commanalyzer.patterns.carried import Carried, FunctionRegisters
from commanalyzer.patterns.contexts import Site
from commanalyzer.patterns.flows import FlowCount, FlowKey, FlowObserver, LoopCount, Part

PatternKind = Literal["do-all", "reduction", "stencil", "pipeline", "task pool", "sequential"]
# An iteration with twice the work of another puts two workers a third apart from their mean. With 1.1, loops
# over triangles of few rows come in; with 4, only the wildest.
UNEVEN = 2.0
# A pipeline that gains less is none: with 1.01, every loop over time with something before it is one; with 2,
# two equal stages would only just be.
LEAST_SPEEDUP = 1.1
_FEWEST_SHARING = 3  # iterations that must run before a shared element tells of neighbours


@dataclass(frozen=True, slots=True)
class ForbiddingFlow:
    """A flow from one iteration to a later one, or another reason.

    Attributes:
        variable: Variable that carries the value; empty for other reasons.
        source: Where it is written.
        sink: Where it is read.
        distance: Iterations between them: smallest and largest.
        count: How often (words).
        reason: In words.
    """

    variable: str
    source: SourcePlace
    sink: SourcePlace
    distance: tuple[int, int]
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a pipeline.

    Attributes:
        lines: Source lines that it consists of.
        share: Part of the loop's instructions.
        is_replicable: No value flows from one of its executions to the next.
    """

    lines: tuple[int, ...]
    share: float
    is_replicable: bool


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """What was found for one loop or recursive function.

    Attributes:
        function: Function that contains it.
        place: Where it begins.
        kind: Pattern.
        is_loop: A loop, not a recursion.
        instances: How often it was entered.
        iterations: Iterations of all instances.
        share: Part of all executed instructions.
        private: Variables of which each worker needs a copy.
        reduced: Variables that are reduced.
        radius: Distance of iterations that read the same elements, for stencils.
        stages: Of a pipeline, in order.
        forbidding: Why it is nothing better, the most frequent first.
    """

    function: str
    place: SourcePlace
    kind: PatternKind
    is_loop: bool
    instances: int
    iterations: int
    share: float
    private: tuple[str, ...] = ()
    reduced: tuple[str, ...] = ()
    radius: int = 0
    stages: tuple[Stage, ...] = ()
    forbidding: tuple[ForbiddingFlow, ...] = ()

    @property
    def expression(self) -> str:
        """The pattern over stages as :mod:`commanalyzer.composition` writes it; empty for a sequence."""
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
    *,
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS,
    max_memory_bytes: int = DEFAULT_MAX_MEMORY_BYTES,
) -> tuple[FoundPattern, ...]:
    """Patterns of the loops that ran and of the functions that called themselves, by source line.

    Args:
        module: Parsed module.
        arguments: Command line after the program name.
        stdin: Standard input.
        max_instructions: Refuse to execute more.
        max_memory_bytes: Refuse to use more.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    registers = {f.name: FunctionRegisters(f, control_flow(f)) for f in module.functions}
    updates: dict[int, tuple[int, ...]] = {}
    for known in registers.values():
        updates |= known.updates()
    machine: Machine | None = None

    def executed() -> int:
        assert machine is not None
        return machine.counts.instructions

    def name_of(address: int) -> str:
        assert machine is not None
        return machine.memory.segment(address, 1).name

    observer = FlowObserver(module, executed, name_of)
    observer.watched = updates
    observer.indices = frozenset().union(*(known.index_loads() for known in registers.values()))
    machine = Machine(
        module,
        stdin=stdin,
        max_instructions=max_instructions,
        max_memory_bytes=max_memory_bytes,
        observer=observer,
    )
    interpret_on(machine, arguments)
    return _Finder(module, registers, observer, updates, machine.counts.instructions).found()


class _Finder:
    def __init__(
        self,
        module: Module,
        registers: Mapping[str, FunctionRegisters],
        observer: FlowObserver,
        updates: Mapping[int, tuple[int, ...]],
        instructions: int,
    ) -> None:
        self._module, self._registers, self._observer = module, registers, observer
        self._updates, self._instructions = updates, max(instructions, 1)
        self._debug = DebugInfo(module)
        self._instruction = {
            i.first_line: (f, i) for f in module.functions for b in f.blocks for i in b.instructions
        }
        self._part_of: dict[str, dict[int, Part]] = {}
        self._of: dict[Site, list[tuple[FlowKey, FlowCount]]] = {}
        for key, flow in observer.flows.items():
            self._of.setdefault(key.site, []).append((key, flow))

    def found(self) -> tuple[FoundPattern, ...]:
        result = []
        for function in self._module.functions:
            cfg = control_flow(function)
            for loop in cfg.loops.values():
                count = self._observer.counts.get(Site(function.name, loop.header))
                if count is not None and count.iterations > count.instances:
                    result.append(self._of_loop(function, loop, count))
            result += self._of_recursion(function)
        return tuple(sorted(result, key=lambda p: (p.place.file, p.place.line, not p.is_loop)))

    def _of_loop(self, function: Function, loop: Loop, count: LoopCount) -> FoundPattern:
        site = Site(function.name, loop.header)
        registers = self._registers[function.name]
        carried = registers.carried(loop)
        flows = [(key, flow) for key, flow in self._of.get(site, ()) if key.is_carried]
        reducing = [(key, flow) for key, flow in flows if self._is_update(key)]
        forbidding = [item for item in flows if item not in reducing]
        reasons = [self._flow(key, flow) for key, flow in forbidding]
        reasons += [self._register(function, c) for c in carried if c.kind == "forbids"]
        ordered = [self._call(line, name) for line, name in count.calls.items()]
        leaving = registers.leaves_on_data(loop)
        ends = [self._reason(leaving, "the loop ends on what its iterations compute")] if leaving >= 0 else []
        reduced = [self._name(key.read, flow.variable) for key, flow in reducing]
        reduced += [self._variable(function, c.register) for c in carried if c.kind == "reduction"]
        stages: tuple[Stage, ...] = ()
        radius = 0
        if reasons or ordered or ends:
            kind: PatternKind = "sequential"
            if not ends:
                stages = self._stages(function, loop, site, count, carried)
                kind = "pipeline" if stages else "sequential"
        else:
            radius = self._radius(count)
            is_uneven = count.most > UNEVEN * count.least
            kind = "stencil" if radius else "reduction" if reduced else "task pool" if is_uneven else "do-all"
        forbidding_flows = sorted((*reasons, *ordered, *ends), key=lambda r: -r.count)
        used = {flow.variable for _, flow in flows}
        return FoundPattern(
            function=function.name.removeprefix("@"),
            place=loop_place(self._module, self._debug, function, loop.header),
            kind=kind,
            is_loop=True,
            instances=count.instances,
            iterations=count.iterations,
            share=count.instructions / self._instructions,
            private=tuple(sorted({self._name(n, v) for v, n in count.rewritten.items() if v not in used})),
            reduced=tuple(dict.fromkeys(filter(None, reduced))),
            radius=radius,
            stages=stages,
            forbidding=tuple(forbidding_flows),
        )

    def _is_update(self, key: FlowKey) -> bool:
        """The flow leads from a combining store into itself, through one address."""
        is_pair = key.read in self._updates.get(key.write, ())
        return is_pair and (key.read, key.write) not in self._observer.moved

    def _radius(self, count: LoopCount) -> int:
        """Distance of neighbouring iterations that read the same elements of a variable; 0 if none do.

        Elements that iterations from all over the loop read are not a neighbour's.
        """
        mean = count.iterations / count.instances
        if mean < _FEWEST_SHARING:
            return 0
        near = [distance for distance in count.shared.values() if distance < mean / 2]
        return max(near, default=0)

    def _stages(
        self, function: Function, loop: Loop, site: Site, count: LoopCount, carried: Sequence[Carried]
    ) -> tuple[Stage, ...]:
        """Parts of the body such that values flow within one or forward; empty where that gains nothing."""
        graph = self._parts(function, loop)
        for key, _ in self._of.get(site, ()):
            if not self._is_update(key):
                graph.setdefault(key.source, set())
                graph.setdefault(key.sink, set()).add(key.source)
        self._add_carried(function, carried, graph)
        for line in count.calls:
            part = next((p for p in graph if p.line == line), Part(None, line))
            graph.setdefault(part, set()).add(part)
        groups = strong_components(sorted(graph, key=_order), lambda p: sorted(graph[p], key=_order))
        found: list[tuple[list[Part], bool]] = []
        for group in groups:
            is_serial = len(group) > 1 or group[0] in graph[group[0]]
            if all(part.site is None for part in group) and not is_serial:
                continue  # an instruction goes along with what needs it
            if found and not is_serial and not found[-1][1]:
                found[-1][0].extend(group)  # what is independent stays together
            else:
                found.append((list(group), is_serial))
        stages = tuple(
            Stage(self._lines(group), self._share(group, count), not is_serial) for group, is_serial in found
        )
        # Without bound on threads a pipeline is as slow as its slowest stage that is not replicated.
        slowest = max((stage.share for stage in stages if not stage.is_replicable), default=0.0)
        is_worth_it = len(stages) > 1 and slowest * LEAST_SPEEDUP <= sum(stage.share for stage in stages)
        return stages if is_worth_it else ()

    def _add_carried(
        self, function: Function, carried: Sequence[Carried], graph: dict[Part, set[Part]]
    ) -> None:
        """Registers that the next iteration goes on from tie what computes and what uses them."""
        registers = self._registers[function.name]
        for item in carried:
            if item.kind != "forbids":
                continue
            phi = registers.definition[item.register]
            own = Part(None, phi.first_line)
            update = self._part_of[function.name].get(item.update, Part(None, item.update))
            graph.setdefault(update, set())
            graph.setdefault(own, set()).add(update)
            for user in registers.users.get(item.register, ()):
                sink = self._part_of[function.name].get(user.first_line)
                if sink is not None and sink != own:
                    graph.setdefault(sink, set()).add(own)

    def _lines(self, group: Sequence[Part]) -> tuple[int, ...]:
        return tuple(sorted({self._line_of(part) for part in group} - {0}))

    def _share(self, group: Sequence[Part], count: LoopCount) -> float:
        inner = sum(count.inner.get(part.site, 0) for part in group if part.site is not None)
        return min(inner / max(count.instructions, 1), 1.0)  # recursion counts inner ones again

    def _parts(self, function: Function, loop: Loop) -> dict[Part, set[Part]]:
        """Parts of a body and what each gets from others in registers."""
        cfg = control_flow(function)
        part_of: dict[int, Part] = {}
        for block in function.blocks:
            if block.label not in loop.blocks:
                continue
            chain = [inner for inner in cfg.loops_around(block.label) if inner.header != loop.header]
            inside = [inner for inner in chain if inner.blocks < loop.blocks]
            for instruction in block.instructions:
                part = Part(None, instruction.first_line)
                if inside:
                    part = Part(Site(function.name, inside[-1].header), -1)
                elif instruction.opcode in ("call", "invoke") and instruction.callee in self._registers:
                    part = Part(Site(instruction.callee, "", instruction.first_line), instruction.first_line)
                part_of[instruction.first_line] = part
        registers = self._registers[function.name]
        self._part_of[function.name] = part_of
        graph: dict[Part, set[Part]] = {part: set() for part in part_of.values() if part.site is not None}
        self._add_register_flows(registers, loop, part_of, graph)
        return graph

    def _add_register_flows(
        self,
        registers: FunctionRegisters,
        loop: Loop,
        part_of: Mapping[int, Part],
        graph: dict[Part, set[Part]],
    ) -> None:
        for name, definition in registers.definition.items():
            source = part_of.get(definition.first_line)
            is_header_phi = (
                definition.opcode == "phi" and registers.block_of[definition.first_line] == loop.header
            )
            if source is None or is_header_phi:
                continue
            for user in registers.users.get(name, ()):
                sink = part_of.get(user.first_line)
                back = user.opcode == "phi" and registers.block_of[user.first_line] == loop.header
                if sink is not None and sink != source and not back:
                    graph.setdefault(source, set())
                    graph.setdefault(sink, set()).add(source)

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
                function=function.name.removeprefix("@"),
                place=self._debug.subprogram_place(function),
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
            self._name(key.read, flow.variable),
            self._place(key.write),
            self._place(key.read),
            (near, far),
            flow.count,
            f"needed {what}",
        )

    def _register(self, function: Function, carried: Carried) -> ForbiddingFlow:
        name = self._variable(function, carried.register)
        place = self._place(carried.update)
        return ForbiddingFlow(name, place, place, (1, 1), 1, "the next iteration goes on from it")

    def _call(self, line: int, name: str) -> ForbiddingFlow:
        return self._reason(line, f"{name} is called in this order")

    def _reason(self, line: int, text: str) -> ForbiddingFlow:
        place = self._place(line)
        return ForbiddingFlow("", place, place, (0, 0), 0, text)

    def _place(self, line: int) -> SourcePlace:
        if line not in self._instruction:
            return SourcePlace()
        return self._debug.place(self._instruction[line][1].debug_location)

    def _line_of(self, part: Part) -> int:
        if part.site is not None and part.site.is_loop:
            function = next(f for f in self._module.functions if f.name == part.site.function)
            loop = control_flow(function).loops[part.site.name]
            return loop_place(self._module, self._debug, function, loop.header).line
        return self._place(part.line).line

    def _variable(self, function: Function, register: str) -> str:
        number = self._debug.variables_of(function).get(register, -1)
        return self._debug.variable(number)[0] if number >= 0 else ""

    def _name(self, line: int, known: str) -> str:
        """Variable that an access of the module's ``line`` goes through; a global's own name."""
        if known.startswith("@") and "/" not in known:
            return known.removeprefix("@")
        function, instruction = self._instruction[line]
        pointers = [o for o in instruction.operands if o.type.kind == "ptr"]
        definition = self._registers[function.name].definition
        variables = self._debug.variables_of(function)
        text = pointers[-1].text if pointers else ""
        while text and text not in variables:
            step = definition.get(text)
            text = step.operands[0].text if step is not None and step.operands else ""
        return self._debug.variable(variables[text])[0] if text else self._of_object(known)

    def _of_object(self, known: str) -> str:
        """Variable that held the address of a stack or heap object first: ``function/%register``."""
        owner, _, register = known.partition("/")
        function = next((f for f in self._module.functions if f.name == owner), None)
        if function is None:
            return known
        held = self._debug.variables_of(function)
        held |= {r.register: r.variable for r in function.debug_records if r.kind == "declare"}
        return self._debug.variable(held[register])[0] if register in held else known


def _order(part: Part) -> tuple[int, str, str]:
    site = part.site or Site("", "")
    return (part.line, site.function, site.name)
