import tempfile
from functools import cache
from pathlib import Path

from commanalyzer.kernels.tasks.find import find_tasks
from commanalyzer.kernels.tasks.graph import Kernel, TaskGraph
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

HEAD = """
#include <stdio.h>
#include <stdlib.h>
"""


@cache
def compiled(text: str, *regions: str) -> Module:
    """Module of a C program in which some regions survive."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(HEAD + text)
        request = AnalysisRequest(sources=(source,), compiler=CompilerOptions("", ()), regions=regions)
        return compile_request(request)[1]


@cache
def tasks_of(text: str, *arguments: str, nodes: tuple[int, ...] = (2, 4)) -> TaskGraph:
    """Task graph of a C program."""
    return find_tasks(compiled(text), arguments, nodes=nodes)


def kernel(graph: TaskGraph, name: str) -> Kernel:
    """The kernel of a name."""
    (found,) = [k for k in graph.kernels if k.name == name]
    return found


def mappers(of: Kernel) -> set[tuple[str, str, str]]:
    """Buffer, mode and mapper of a kernel's accesses."""
    return {(a.buffer, a.mode, str(a.mapper)) for a in of.accesses}
