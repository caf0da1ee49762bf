"""Finds kernels, tasks, range mappers and flows of a program in one interpreted run."""

from __future__ import annotations

from collections.abc import Sequence, Set

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.patterns.find import observe
from commanalyzer.kernels.tasks.accesses.observer import WorkItemObserver
from commanalyzer.kernels.tasks.analysis import analyse
from commanalyzer.kernels.tasks.assembly import assemble
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.interpreter.run import DEFAULT_MAX_INSTRUCTIONS, DEFAULT_MAX_MEMORY_BYTES

DEFAULT_NODES = (2, 4)


def find_tasks(
    module: Module,
    arguments: Sequence[str] = (),
    stdin: bytes = b"",
    *,
    nodes: Sequence[int] = DEFAULT_NODES,
    regions: Set[str] = frozenset(),
    max_instructions: int = DEFAULT_MAX_INSTRUCTIONS,
    max_memory_bytes: int = DEFAULT_MAX_MEMORY_BYTES,
) -> TaskGraph:
    """The task graph of a program, with the range mappers of its kernels.

    Args:
        module: Parsed module.
        arguments: Command line after the program name.
        stdin: Standard input.
        nodes: Numbers of nodes for which moved bytes are counted.
        regions: Functions and marks whose executions are the tasks; by default outermost kernel loops are.
            The module must have been compiled with these regions, so that they are still there.
        max_instructions: Refuse to execute more.
        max_memory_bytes: Refuse to use more.

    Raises:
        ConfigError: If there is no kernel: no loop that could be one, or no such region was executed.
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    if not nodes or min(nodes) < 1:
        raise ConfigError(
            f"expected numbers of nodes from 1 on, found {', '.join(map(str, nodes)) or 'none'}"
        )
    run = observe(
        module,
        arguments,
        stdin,
        WorkItemObserver,
        max_instructions=max_instructions,
        max_memory_bytes=max_memory_bytes,
    )
    return assemble(module, analyse(module, run, regions), tuple(nodes))
