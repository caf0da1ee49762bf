"""Divisions of two revisions side by side: bytes, and CPU seconds of finding and counting them.

    python -m bench.division CHECKOUT [--nodes 4,16] [--only heat2d,lu] [-o FILE]

Every kernel and workload is recorded once and divided by the code of another checkout and by this one, each
in a process of its own: what is shown first, which can be programmed, and the least that was found. A ratio
is bytes of this one over bytes of the other: above 1, this one finds worse. Bytes are the likeliest ones;
where two brackets are wide, a ratio may say little.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CASES = (
    *("heat2d 300 4", "stencil3d 40 3", "matmul 64", "spmv 8000 random 8 4", "kmeans 10000 8 5 3"),
    *("cg 96 2d natural 50", "cg 96 2d permuted 50", "adi 200 3", "pic 32 8 3 4"),
    *("pagerank 10000 smallworld 8 4", "fem2d 60 3", "hydro3d 8 2"),
)
_WORSE = 1.03  # a ratio above it is listed
_DIVIDE = "--divide"  # one recording, by whichever code is on the path


@dataclass(frozen=True, slots=True)
class Found:
    """The divisions for one number of nodes.

    Attributes:
        nodes: Number of nodes p.
        method: The one that is shown first.
        comm_bytes: Its bytes, most likely.
        low_bytes: At least so many.
        high_bytes: At most so many.
        least_bytes: The bytes of the least that was found, most likely.
        seconds: CPU seconds for this number of nodes, a mean over all numbers.
    """

    nodes: int
    method: str
    comm_bytes: int
    low_bytes: int
    high_bytes: int
    least_bytes: int
    seconds: float


def divide(recording: Path, nodes: Sequence[int]) -> list[Found]:
    """Divide a saved recording; called with the code of either revision."""
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.pipeline import repartition
    from commanalyzer.request import PartitionRequest
    from commanalyzer.result.artifacts import load

    result, begin = load(recording), time.process_time()
    divided = repartition(result, PartitionRequest(tuple(nodes)), SilentProgress())
    seconds = (time.process_time() - begin) / len(nodes)
    return [
        Found(
            p, d.method, d.comm_bytes, d.communication.low_bytes, d.communication.high_bytes, least, seconds
        )
        for p in nodes
        for d, least in ((divided.decomposition(p), divided.best(p).comm_bytes),)
    ]


def recorded(wanted: set[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Record kernels and workloads that are wanted, all if none are named; yield names and files."""
    import commanalyzer as ca
    from bench.cases import request_of
    from commanalyzer.foundation.progress import SilentProgress
    from commanalyzer.pipeline import analyze
    from tests.kernels.table import kernels

    for kernel in kernels():
        if not wanted or kernel.name in wanted:
            file = folder / f"{kernel.name}.cag"
            found = ca.analyze(
                kernel.source,
                kernel.sizes[0],
                nodes=(2,),
                regions=["kernel"],
                program_output="discard",
                exact=False,
            )
            ca.save(found, file, force=True)
            yield " ".join((kernel.name, *map(str, kernel.sizes[0]))), file
    for case in CASES:
        name, *arguments = case.split()
        if not wanted or name in wanted:
            file = folder / f"{case.replace(' ', '-')}.cag"
            ca.save(analyze(request_of(name, tuple(arguments), (2,)), SilentProgress()), file, force=True)
            yield case, file


def _divided_by(checkout: Path, recording: Path, nodes: Sequence[int]) -> list[Found]:
    words = [sys.executable, __file__, _DIVIDE, str(recording), ",".join(map(str, nodes))]
    cache = recording.parent / checkout.resolve().name  # of compiled loops, one for each revision
    given = {**os.environ, "PYTHONPATH": str(checkout), "COMMANALYZER_CACHE": str(cache)}
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=True, env=given)
    return [Found(**entry) for entry in json.loads(done.stdout.splitlines()[-1])]


def _over(now_bytes: int, before_bytes: int) -> float:
    if before_bytes:
        return now_bytes / before_bytes
    return math.inf if now_bytes else 1.0


def _ratio(now: Found, before: Found) -> float:
    return _over(now.comm_bytes, before.comm_bytes)


def _cells(name: str, before: Found, now: Found) -> tuple[str, ...]:
    volumes = (f"{d.comm_bytes:,} ({d.low_bytes:,} .. {d.high_bytes:,})" for d in (before, now))
    least = (f"{d.least_bytes:,}" for d in (before, now))
    ratio, of_least = _ratio(now, before), _over(now.least_bytes, before.least_bytes)
    seconds = (f"{d.seconds:.1f}" for d in (before, now))
    methods = before.method, now.method
    return (name, str(now.nodes), *volumes, f"{ratio:.3f}", *least, f"{of_least:.3f}", *seconds, *methods)


def _summary(what: str, ratios: Sequence[float]) -> str:
    mean = statistics.geometric_mean([r for r in ratios if 0 < r < math.inf])
    above = sum(r > _WORSE for r in ratios)
    return (
        f"{what}: geometric mean {mean:.3f}, median {statistics.median(ratios):.3f}, {above} above {_WORSE}."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Record, divide twice, compare, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == [_DIVIDE]:
        found = divide(Path(words[1]), [int(p) for p in words[2].split(",")])
        sys.stdout.write(json.dumps([{k: getattr(d, k) for k in Found.__slots__} for d in found]) + "\n")
        return 0
    from bench.cases import ROOT
    from bench.document import show_and_write
    from bench.sections import Document, Passage
    from commanalyzer.report.result.text import make_console
    from commanalyzer.request import node_counts

    parser = argparse.ArgumentParser("python -m bench.division")
    parser.add_argument("checkout", type=Path, help="of the other revision")
    parser.add_argument("--nodes", type=node_counts, default=(4, 16))
    parser.add_argument("--only", default="", help="comma-separated kernels and workloads")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    options = parser.parse_args(words)
    wanted = set(options.only.split(",")) if options.only else set()
    progress, pairs = make_console(sys.stderr), []
    with tempfile.TemporaryDirectory() as folder:
        for name, file in recorded(wanted, Path(folder)):
            sides = [_divided_by(tree, file, options.nodes) for tree in (options.checkout, ROOT)]
            pairs += [(name, before, now) for before, now in zip(*sides, strict=True)]
            progress.print(name, *(f"{_ratio(now, before):.3f}" for before, now in zip(*sides, strict=True)))
    text = (
        f"Made by `{shlex.join(['python', '-m', 'bench.division', *words])}`; {len(pairs)} divisions.",
        _summary("Shown first, now over before", [_ratio(now, before) for _, before, now in pairs]),
        _summary("Least found, now over before", [_over(n.least_bytes, b.least_bytes) for _, b, n in pairs]),
        _summary(
            "Shown first over least found, now", [_over(n.comm_bytes, n.least_bytes) for *_, n in pairs]
        ),
        f"CPU seconds for each number of nodes: {sum(d.seconds for _, d, _ in pairs):.0f} before, "
        f"{sum(d.seconds for *_, d in pairs):.0f} now.",
    )
    columns = (
        *("case", "p", "bytes before", "bytes now", "ratio", "least before", "least now", "ratio"),
        *("s", "s now", "before", "now"),
    )
    rows = tuple(_cells(*pair) for pair in pairs)
    document = Document("Divisions of two revisions", (Passage("All", text, columns, rows),))
    show_and_write(document, options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
