"""Range mappers of the 30 kernels beside the published ones: ``python -m tests.bench.tasks [--large]``.

Prints ``workloads/tasks/MAPPERS.md``.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

from commanalyzer.patterns.find import observe
from commanalyzer.record import compile_request
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.tasks.accesses.observer import AccessObserver, Ints
from commanalyzer.tasks.analysis import Analysis, analyse
from commanalyzer.tasks.assembly import assembled
from commanalyzer.tasks.graph import Kernel, TaskGraph
from commanalyzer.tasks.mappers import RangeMapper

FOLDER = Path(__file__).resolve().parents[2] / "workloads" / "tasks"
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
    analysis = analyse(module, observe(module, request.arguments, b"", AccessObserver))
    return analysis, *assembled(module, analysis, NODES)


def graph_of(application: Application, size: int = 0) -> TaskGraph:
    """Task graph of an application."""
    return analysed(application, size)[1]


def found_kernel(graph: TaskGraph, listed: ListedKernel) -> Kernel:
    """The kernel of a function."""
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


def _rows(size: int) -> Iterator[str]:
    seen: set[str] = set()
    for application in applications():
        for listed in application.kernels:
            if listed.function in seen:
                continue
            seen.add(listed.function)
            found = found_kernel(graph_of(application, size), listed)
            for number, access in enumerate(listed.accesses):
                own = [a.mapper for a in found.accesses if (a.buffer, a.mode) == (access.buffer, access.mode)]
                inferred = str(next((m for m in own if is_same(m, access.needed)), own[0]))
                is_equal = inferred == access.published or inferred.split("(")[0] == access.published
                head = f"`{listed.function}`" if not number else ""
                verdict = "equal" if is_equal else listed.because
                middle = f"{access.mode} {access.buffer} | {access.published} | {inferred}"
                yield f"| {head} | {middle} | {verdict} |"


def document(size: int = 0) -> str:
    """Both tables."""
    rows = list(_rows(size))
    equal = sum(row.endswith("| equal |") for row in rows)
    lines = [
        "# Range mappers: inferred and published",
        "",
        "    python -m tests.bench.tasks",
        "",
        "| kernel | access | published | inferred | |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        f"{equal} of {len(rows)} accesses have the published mapper; for others the last column says why.",
        "",
        "## Bytes of whole programs",
        "",
        f"| application | arguments | tasks | {' | '.join(f'p = {p}' for p in NODES)} | by theory |",
        f"| --- | --- | --- |{' --- |' * (len(NODES) + 1)}",
    ]
    for application in applications():
        graph = graph_of(application, size)
        theory = f"`{application.moved}`" if application.moved else "simulated item by item"
        cells = " | ".join(f"{m:,}" for m in graph.moved_bytes())
        head = f"| {application.name} | {application.sizes[size]} | {len(graph.tasks)}"
        lines.append(f"{head} | {cells} | {theory} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Print both tables."""
    begun = process_time()
    sys.stdout.write(document(1 if "--large" in arguments else 0))
    sys.stderr.write(f"CPU time, compiling not included: {process_time() - begun:.1f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
