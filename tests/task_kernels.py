"""The applications of ``workloads/tasks``: what is published of their kernels, and what the package finds."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from commanalyzer.kernels.patterns.find import observe
from commanalyzer.kernels.tasks.accesses.buffers import Ints, WorkItemObserver
from commanalyzer.kernels.tasks.accesses.kernels import Analysis, analyse
from commanalyzer.kernels.tasks.find import assembled
from commanalyzer.kernels.tasks.graph import Kernel, TaskGraph
from commanalyzer.kernels.tasks.mappers import RangeMapper
from commanalyzer.recording.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions

FOLDER = Path(__file__).resolve().parents[1] / "workloads" / "tasks"
NODES = (2, 4)


@dataclass(frozen=True, slots=True)
class Access:
    """A line of ``access``: buffer, mode, published mapper, needed mapper."""

    buffer: str
    mode: str
    published: str
    needed: str


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel of ``tasks.toml``."""

    application: str
    function: str
    items: int
    tasks: int
    accesses: tuple[Access, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Application:
    """An application of ``tasks.toml``; ``moved`` is the expression of its bytes, empty for none."""

    name: str
    suite: str
    sizes: tuple[str, ...]
    moved: str
    kernels: tuple[ListedKernel, ...]

    def expected(self, size: int) -> tuple[int, ...]:
        """Bytes that are moved on the numbers of nodes by the expression."""
        n = int(self.sizes[size].split()[0])
        return tuple(int(eval(self.moved, {"n": n, "p": p})) for p in NODES)


@cache
def applications() -> tuple[Application, ...]:
    """What ``tasks.toml`` lists."""
    content = tomllib.loads((FOLDER / "tasks.toml").read_text())
    return tuple(
        Application(
            a["name"],
            a["suite"],
            tuple(a["sizes"]),
            a.get("bytes", ""),
            tuple(
                ListedKernel(
                    a["name"],
                    k["function"],
                    k["items"],
                    k["tasks"],
                    tuple(Access(*access) for access in k["access"]),
                    k.get("because", ""),
                )
                for k in a["kernel"]
            ),
        )
        for a in content["application"]
    )


@cache
def analysed(application: Application, size: int = 0) -> tuple[Analysis, TaskGraph, Ints]:
    """Run of an application cut into tasks, their graph, and the nodes of accesses."""
    request = AnalysisRequest(
        sources=(FOLDER / f"{application.name}.c",),
        arguments=tuple(application.sizes[size].split()),
        compiler=CompilerOptions("", ()),
    )
    module = compile_request(request)[1]
    analysis = analyse(module, observe(module, request.arguments, b"", WorkItemObserver))
    return analysis, *assembled(module, analysis, NODES)


def graph_of(application: Application, size: int = 0) -> TaskGraph:
    return analysed(application, size)[1]


def found_kernel(graph: TaskGraph, listed: ListedKernel) -> Kernel:
    (found,) = [k for k in graph.kernels if k.name == listed.function]
    return found


def is_same(found: RangeMapper, text: str) -> bool:
    """A word without arguments stands for any."""
    return text in (str(found), found.kind)


def unlike(listed: ListedKernel, found: Kernel, column: str) -> list[str]:
    """Accesses whose mapper is not that of a column, and accesses that are only on one side."""
    left = list(found.accesses)
    result = []
    for access in listed.accesses:
        text = getattr(access, column)
        same = [
            a for a in left if (a.buffer, a.mode) == (access.buffer, access.mode) and is_same(a.mapper, text)
        ]
        if same:
            left.remove(same[0])
        else:
            result.append(f"{access.mode} {access.buffer}: {text} not found")
    return result + [f"{a.mode} {a.buffer}: {a.mapper} found" for a in left]
