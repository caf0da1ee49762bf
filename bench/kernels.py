"""What is found for the kernels of ``workloads/kernels``, beside the bytes of their plain divisions.

    python -m bench.kernels [--only gemm_nn,lu] [--sizes 1,2,3] [--nodes 2,4,8,16,27,64] [--timeout 600]
                                  [-o workloads/KERNELS.md]

Each kernel is analysed at each size in a process of its own; one that takes longer than allowed is ended and
reported. The file is written after each.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.cases import ROOT
from bench.sections import Document, Passage, markdown_text
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.files import write_text
from commanalyzer.report.result.text import make_console
from commanalyzer.request import node_counts
from commanalyzer.result.provenance import collect_provenance
from tests.kernels.run import Found, Run, run
from tests.kernels.table import NODES, Kernel, kernels

_TARGET = 1.1  # of the plain division's bytes
_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel at a size.

    Attributes:
        kernel: Kernel.
        size: Number of its arguments in the table.
        run: What was found; ``None`` if there is nothing.
        failure: Why.
    """

    kernel: Kernel
    size: int
    run: Run | None
    failure: str = ""

    @property
    def name(self) -> str:
        """Program and arguments."""
        return " ".join((self.kernel.name, *map(str, self.kernel.sizes[self.size])))


def measured(kernel: Kernel, size: int, nodes: Sequence[int], timeout_s: float) -> Row:
    """Analyse one kernel in a process of its own."""
    words = [sys.executable, "-m", "bench.kernels", "--point", f"{kernel.name}:{size}"]
    words += ["--nodes", ",".join(map(str, nodes))]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return Row(kernel, size, None, f"ended: more than {timeout_s:.0f} s")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return Row(kernel, size, None, f"failed: {lines[-1][:200]}")
    report = json.loads(done.stdout.splitlines()[-1])
    found = tuple(
        Found(**{**entry, "grid": tuple(entry["grid"]), "crossing": tuple(map(tuple, entry["crossing"]))})
        for entry in report.pop("found")
    )
    return Row(kernel, size, Run(found=found, **report))


def _point(name: str, nodes: Sequence[int]) -> int:
    """Analyse one kernel here and print what was found as JSON."""
    wanted, _, size = name.partition(":")
    kernel = next(k for k in kernels() if k.name == wanted)
    try:
        done = run(kernel, int(size), nodes)
    except CommAnalyzerError as error:
        sys.stderr.write(f"{type(error).__name__}: {error.message.splitlines()[0]}\n")
        return 1
    report = {key: value for key, value in asdict(done).items() if key != "objects"}
    sys.stdout.write("\n" + json.dumps(report) + "\n")
    return 0


def document_of(rows: Sequence[Row], nodes: Sequence[int], origin: str) -> Document:
    """Everything that is known so far; ``origin`` is the command and the machine."""
    return Document("Kernels", (_ratios(rows, nodes, origin), _summary(rows, nodes), _misses(rows)))


def _ratios(rows: Sequence[Row], nodes: Sequence[int], origin: str) -> Passage:
    text = (
        "Bytes of the best division that was found over those of the plain division, which the first comment "
        "of each file in `workloads/kernels` derives (in brackets). Where it is not certain how often values "
        "cross, the lower end counts, and `..` gives the ratio of the upper one. Graph and divide: CPU "
        "seconds, for all numbers of nodes together, without helper processes."
    )
    columns = ("kernel", "flows", "graph s", "divide s", *(f"p = {p}" for p in nodes))
    return Passage("Found over plain", (origin, text), columns, tuple(_cells(row, nodes) for row in rows))


def _cells(row: Row, nodes: Sequence[int]) -> tuple[str, ...]:
    if row.run is None:
        return (row.name, *(3 + len(nodes)) * ("-",))
    run_ = row.run
    cost = (f"{run_.flows:,}", f"{run_.graph_s:.1f}", f"{run_.divide_s:.1f}")
    known = {found.nodes: found for found in run_.found}
    return (row.name, *cost, *(_ratio_text(known[p]) if p in known else "-" for p in nodes))


def _ratio_text(found: Found) -> str:
    if not found.plain_bytes:
        return f"{found.found_bytes:,} B (0)"
    upper = found.high_bytes / found.plain_bytes
    doubt = f" .. {upper:.2f}" if upper > found.ratio + 0.005 else ""
    return f"{found.ratio:.2f}{doubt} ({found.plain_bytes:,})"


def _summary(rows: Sequence[Row], nodes: Sequence[int]) -> Passage:
    body = []
    for size in sorted({row.size for row in rows}):
        for p in nodes:
            found = [f for r in rows if r.size == size and r.run for f in r.run.found if f.nodes == p]
            ratios = [f.ratio for f in found if f.plain_bytes or not f.found_bytes]
            if ratios:
                above = sum(ratio > _TARGET for ratio in ratios)
                texts = (f"{statistics.median(ratios):.3f}", f"{max(ratios):.2f}", str(above))
                body.append((str(size + 1), str(p), str(len(ratios)), *texts))
    columns = ("size", "nodes", "kernels", "median ratio", "largest", f"above {_TARGET}")
    return Passage("Summary", (), columns, tuple(body))


def _misses(rows: Sequence[Row]) -> Passage:
    items = [f"{row.name}: {row.failure}" for row in rows if row.failure]
    for row in rows:
        for found in row.run.found if row.run else ():
            if found.ratio > _TARGET:
                crossing = ", ".join(f"{name} {size:,}" for name, size in found.crossing)
                items.append(
                    f"{row.name}, p = {found.nodes}: {found.found_bytes:,} B by {found.method}, plain "
                    f"{found.plain_bytes:,} B on {'x'.join(map(str, found.grid))}; crossing: {crossing}"
                )
    text = f"More than {_TARGET} times the plain bytes, or no result."
    return Passage("Misses", (text,), items=tuple(items), text_columns=0)


def main(argv: Sequence[str] | None = None) -> int:
    """Analyse, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _options(words)
    nodes = node_counts(options.nodes)
    if options.point:
        return _point(options.point, nodes)
    console = make_console(sys.stderr)
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    command = shlex.join(["python", "-m", "bench.kernels", *words])
    origin = f"Made by `{command}` on {made.host_class}, Python {platform.python_version()}."
    only, rows = set(options.only.split(",")) - {""}, list[Row]()
    for size in (int(text) - 1 for text in options.sizes.split(",")):
        for kernel in kernels():
            if only and kernel.name not in only:
                continue
            row = measured(kernel, size, nodes, options.timeout)
            rows.append(row)
            console.print(" | ".join(_cells(row, nodes)) + (f" {row.failure}" if row.failure else ""))
            if options.output is not None:  # after each: none of it must be lost
                text = markdown_text(document_of(rows, nodes, origin))
                write_text(options.output, text, force=True)
    return 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser("python -m bench.kernels", description=summary)
    parser.add_argument("--only", default="", help="comma-separated kernels")
    parser.add_argument("--sizes", default="1,2,3", help="numbers of sizes, 1 is the smallest")
    parser.add_argument("--nodes", default=",".join(map(str, NODES)), help="numbers of nodes")
    parser.add_argument("--timeout", type=float, default=_SECONDS, help="seconds per kernel and size")
    parser.add_argument("--point", default="", help="analyse this one, KERNEL:SIZE, and print JSON")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
