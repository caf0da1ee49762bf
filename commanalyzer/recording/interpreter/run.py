"""Entry point: interpret a module as the operating system would run the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from commanalyzer.foundation.errors import UnsupportedIrError
from commanalyzer.program.ir.constants import signed
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.interpreter.activation import Recorder
from commanalyzer.recording.interpreter.libc.external import ProgramExit
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.values import Chain, Home, Value, as_int

DEFAULT_MAX_INSTRUCTIONS = 50_000_000
DEFAULT_MAX_MEMORY_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class InterpretedRun:
    """Result of an interpreted run: what was written, and how often each value-flow chain happened.

    Attributes:
        exit_status: 0..255; 134 after ``abort``.
        instructions: Executed instructions, phis included, debug records excluded.
        flops: Floating-point operations: one per arithmetic instruction and lane, calls by table.
    """

    stdout: bytes
    stderr: bytes
    exit_status: int
    chains: Mapping[Chain, int]
    instructions: int
    loads: int
    stores: int
    flops: int


def interpret(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
    *,
    control_flows: bool = True,
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS,
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
        max_instructions=max_instructions,
        max_memory_bytes=DEFAULT_MAX_MEMORY_BYTES,
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
