"""Entry point: interpret a module as the operating system would run the program.

Explain one executed store: its dynamic slice and the value-flow chain it makes, as in paper Figure 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from commanalyzer.foundation.errors import ConfigError, UnsupportedIrError
from commanalyzer.foundation.flows import SourceRole
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import Instruction, Module
from commanalyzer.recording.interpreter.activation import RecordedStore, Recorder
from commanalyzer.recording.interpreter.libc.external import ProgramExit
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.values import Chain, Data, Home, Step, Value, as_int


@dataclass(frozen=True, slots=True)
class InterpretedRun:
    """Result of an interpreted run: what was written, and how often each value-flow chain happened."""

    stdout: bytes
    stderr: bytes
    exit_status: int  # 0..255; 134 after ``abort``
    chains: Mapping[Chain, int]
    instructions: int  # executed instructions, phis included, debug records excluded
    loads: int
    stores: int
    flops: int  # floating-point operations: one per arithmetic instruction and lane, calls by table


def interpret(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
    *,
    control_flows: bool = True,
    recorder: Recorder | None = None,
    workspace: Set[Home] = frozenset(),
    register_homes: Mapping[str, str] | None = None,
    word_bytes: int = 4,
) -> InterpretedRun:
    """Run ``@main`` and return output, status and the exact value-flow chains.

    Those are of paper Section 4.1, Algorithms 1 and 2. The module may be canonicalised or not, ``arguments``
    stand behind the program's name; the rest is as for :class:`Machine`.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    machine = Machine(
        module,
        stdin=stdin,
        control_flows=control_flows,
        recorder=recorder,
        workspace=workspace,
        register_homes=register_homes,
        word_bytes=word_bytes,
    )
    return interpret_on(machine, arguments)


def interpret_on(machine: Machine, arguments: Sequence[str] = ()) -> InterpretedRun:
    """Run ``@main`` on a new machine; arguments and errors as of :func:`interpret`."""
    status = _run_program(machine, ["program", *arguments])
    streams, counts = machine.externals.library, machine.counts
    written = bytes(streams.stdout), bytes(streams.stderr)
    executed = counts.instructions, counts.loads, counts.stores, counts.flops + machine.externals.flops
    return InterpretedRun(*written, status, dict(machine.shadow.chains), *executed)


def _run_program(machine: Machine, words: Sequence[str]) -> int:
    if not machine.is_defined("@main"):
        raise UnsupportedIrError(
            "expected a definition of @main, found none",
            hint="compile the file that contains main, or link all files of the program first",
        )
    vector = _argument_vector(machine, words)
    try:
        for constructor in machine.image.listed("@llvm.global_ctors"):
            machine.run(constructor, [])
        # A main without parameters ignores its arguments.
        result = machine.run("@main", [Value(len(words)), Value(vector), Value(0)])
        stop = ProgramExit(signed(as_int(result.data), 32) & 0xFF, runs_handlers=True)
    except ProgramExit as early:
        stop = early
    last = list(machine.image.listed("@llvm.global_dtors"))
    registered = machine.externals.at_exit
    while stop.runs_handlers and (registered or last):  # also what these register
        try:
            if registered:
                address, argument = registered.pop()
                machine.run_address(address, [argument])
            else:
                machine.run(last.pop(), [])
        except ProgramExit as again:
            stop = again
    return stop.status


def _argument_vector(machine: Machine, words: Sequence[str]) -> int:
    memory = machine.memory
    addresses: list[int] = []
    for index, word in enumerate(words):
        image = word.encode("utf-8", "surrogateescape") + b"\0"
        segment = memory.add_global(f"argv[{index}]", len(image))
        segment.data[:] = image
        addresses.append(segment.base)
    vector = memory.add_global("argv", 8 * (len(addresses) + 1))
    vector.data[:-8] = b"".join(address.to_bytes(8, "little") for address in addresses)
    return vector.base


_LOCATION_LINE = re.compile(r"!DILocation\(line: (\d+)")
_ATTACHMENT = re.compile(r"(?:, ![\w.]+ ![\w.]+)+\s*$")
_DEBUG_NODE = re.compile(r"!dbg !(\d+)")


@dataclass(frozen=True, slots=True)
class SliceStep:
    """An instruction of the slice, as printed without metadata, its line (0 when unknown), and its result.

    ``sources`` are homes of the values that it loaded; empty unless it is a load.
    """

    text: str
    function: str
    source_line: int
    value: Data
    sources: tuple[Home, ...]


@dataclass(frozen=True, slots=True)
class StoreExplanation:
    """One execution of a store, as printed without metadata; its line in the program is 0 when unknown."""

    text: str
    function: str
    source_line: int
    occurrence: int  # which execution of the chosen stores this is, from 1
    value: Data
    home: Home  # home of the first word that is written
    chain: Chain | None  # the new value-flow chain; ``None`` when nothing flowed
    replicated: tuple[Home, ...]  # homes of the words of the value that was copied, when it was only copied
    slice: tuple[SliceStep, ...]  # instructions that computed the value, in the order of execution


def explain_store(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
    *,
    source_line: int,
    occurrence: int = 1,
    control_flows: bool = True,
    word_bytes: int = 4,
) -> StoreExplanation:
    """Run the program and explain one execution of a store (paper Section 4.1, Algorithm 2, Figure 5).

    It is number ``occurrence``, from 1, of the stores of ``source_line`` in the program, which needs debug
    information; the rest is as for :func:`commanalyzer.recording.interpreter.run.interpret`. Raises
    ConfigError if there is no such store, or it is executed less often.
    """
    chosen = _stores_on(module, source_line)
    recorder = Recorder(frozenset(store.first_line for store in chosen), occurrence)
    interpret(module, arguments, stdin, control_flows=control_flows, recorder=recorder, word_bytes=word_bytes)
    if recorder.found is None:
        raise ConfigError(
            f"expected at least {occurrence} executions of the store, found {recorder.executions}",
            hint="choose an earlier occurrence, or arguments with which the line is reached",
        )
    return _explanation(module, recorder.found, occurrence)


def format_explanation(explanation: StoreExplanation) -> str:
    """Return the explanation as text: the slice with values and homes, then the chain."""
    place = f"line {explanation.source_line}" if explanation.source_line else "unknown line"
    lines = [f"{explanation.function}, {place}, execution {explanation.occurrence}", "", "dynamic slice"]
    width = max((len(step.text) for step in explanation.slice), default=0)
    for step in explanation.slice:
        homes = ", ".join(str(home) for home in step.sources)
        origin = f"   value of {homes}" if homes else ""
        lines.append(f"  {step.text:{width}}  = {_shown(step.value)}{origin}")
    if not explanation.slice:
        lines.append("  (none: a constant or a value from outside)")
    lines += [f"  {explanation.text}", "", "value flow"]
    lines += _flow_lines(explanation)
    return "\n".join(lines) + "\n"


def source_line_of(module: Module, instruction_line: int) -> int:
    """Return the program line of the instruction printed on ``instruction_line``, 0 when unknown."""
    match = _DEBUG_NODE.search(module.lines[instruction_line])
    location = _LOCATION_LINE.search(module.metadata.get(int(match[1]), "")) if match else None
    return int(location[1]) if location else 0


def _flow_lines(explanation: StoreExplanation) -> list[str]:
    if explanation.chain is None:
        if explanation.replicated:
            value = explanation.replicated[0]
            return [f"  {explanation.home} now replicates the value of {value}; nothing flows"]
        return [f"  {explanation.home} holds a pointer; nothing flows"]
    sources = sorted(explanation.chain.sources)
    names = {SourceRole.DATA: "data", SourceRole.CONTROL: "control", SourceRole.ADDRESS: "address"}
    lines = [f"  new version of {explanation.chain.sink}"]
    for home, role in sources:
        note = ", its own previous version" if home == explanation.chain.sink else ""
        lines.append(f"    from {home} ({names[role]}{note})")
    return lines if sources else [*lines, "    from no value (a constant or an input)"]


def _shown(value: Data) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_shown(member) for member in value) + ")"
    return str(value) if isinstance(value, int) else f"{value:.17g}"


def _stores_on(module: Module, source_line: int) -> list[Instruction]:
    every = (i for function in module.functions for block in function.blocks for i in block.instructions)
    stores = [i for i in every if i.opcode == "store"]
    by_line = {store.first_line: source_line_of(module, store.first_line) for store in stores}
    found = [store for store in stores if by_line[store.first_line] == source_line]
    if not found:
        known = ", ".join(str(line) for line in sorted(set(by_line.values()) - {0})) or "no line"
        raise ConfigError(
            f"expected a store on source line {source_line}, found stores on {known}",
            hint="compile with -g; optimisation may have moved or removed the store",
        )
    return found


def _explanation(module: Module, found: RecordedStore, occurrence: int) -> StoreExplanation:
    return StoreExplanation(
        *_placed(module, found.instruction.first_line, found.function),
        occurrence,
        found.value.data,
        found.home,
        found.chain,
        found.value.exact or () if found.chain is None else (),
        tuple(
            SliceStep(*_placed(module, s.line_index, s.function), s.value, s.homes)
            for s in _reachable(found.value.step)
        ),
    )


def _reachable(last: Step | None) -> list[Step]:
    """Return all steps behind ``last`` in the order of execution."""
    found: dict[int, Step] = {}
    pending = [] if last is None else [last]
    while pending:
        step = pending.pop()
        if step.order not in found:
            found[step.order] = step
            pending.extend(step.parents)
    return [found[order] for order in sorted(found)]


def _placed(module: Module, line_index: int, function: str) -> tuple[str, str, int]:
    text = _ATTACHMENT.sub("", module.lines[line_index]).strip()
    return text, function, source_line_of(module, line_index)
