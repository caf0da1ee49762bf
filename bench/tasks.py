"""Range mappers of the 30 kernels beside the published ones: ``python -m bench.tasks [--large]``.

Prints ``workloads/tasks/MAPPERS.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time

from tests.task_kernels import NODES, applications, found_kernel, graph_of, is_same


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
        "    python -m bench.tasks",
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
