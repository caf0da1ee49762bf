"""What a coarse graph loses: bytes and CPU time of divisions found on one against those found without.

    python -m bench.coarse [--nodes 4,16,64] [--vertices 16384] [--only heat2d,cg] [--jobs 2] [-o FILE]

Run from the checkout. Every workload is recorded at a middle size and divided twice, on coarse vertices and
on its values; both are counted on the full graph. A ratio above 1 is what the coarse graph loses.
"""

from __future__ import annotations

import argparse
import math
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench.cases import request_of
from commanalyzer.cli.parameters.options import parse_nodes
from commanalyzer.foundation.files import write_text
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.pipeline import analyze, repartition
from commanalyzer.report.document_files import markdown_text
from commanalyzer.report.terminal.document_text import show_document
from commanalyzer.report.terminal.text import make_console
from commanalyzer.request import Coarsen, PartitionRequest
from commanalyzer.result.provenance import collect_provenance
from commanalyzer.result.results import AnalysisResult
from commanalyzer.validation.document import Document, Section

CASES = (
    *("heat2d 300 4", "stencil3d 40 3", "matmul 64", "spmv 8000 random 8 4", "kmeans 10000 8 5 3"),
    *("cg 96 2d natural 50", "cg 96 2d permuted 50", "adi 200 3", "pic 32 8 3 4"),
    *("pagerank 10000 smallworld 8 4", "fem2d 60 3", "hydro3d 8 2"),
)


_LOSS = 1.03  # a ratio above it is listed


@dataclass(frozen=True, slots=True)
class Found:
    """Divisions found one way; lists go along the node counts.

    Attributes:
        comm_bytes: Bytes of the best division.
        methods: Its name.
        seconds: CPU seconds of finding and counting all of them.
    """

    comm_bytes: tuple[int, ...]
    methods: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One workload.

    Attributes:
        case: Name and arguments.
        flows: Distinct flows.
        vertices: Vertices of the coarse graph.
        coarse: Found on the coarse graph.
        fine: Found on the values.
    """

    case: str
    flows: int
    vertices: int
    coarse: Found
    fine: Found

    def ratios(self) -> tuple[float, ...]:
        """Bytes of coarse divisions over those of others; 1 where neither moves any."""
        pairs = zip(self.coarse.comm_bytes, self.fine.comm_bytes, strict=True)
        return tuple(coarse / fine if fine else (math.inf if coarse else 1.0) for coarse, fine in pairs)


def compare(case: str, nodes: tuple[int, ...], vertices: int) -> Compared:
    """Record one workload and divide it both ways."""
    name, *arguments = case.split()
    request = replace(request_of(name, tuple(arguments), (2,)), coarsen=vertices)
    recorded = analyze(request, SilentProgress())
    used, coarse = _divided(recorded, nodes, vertices)
    _, fine = _divided(recorded, nodes, "never")
    return Compared(case, recorded.graph.num_flows, used, coarse, fine)


def _divided(result: AnalysisResult, nodes: tuple[int, ...], coarsen: Coarsen) -> tuple[int, Found]:
    """Vertices of the coarse graph, and what was found."""
    begin = time.process_time()
    divided = repartition(result, PartitionRequest(nodes, coarsen=coarsen), SilentProgress())
    seconds = time.process_time() - begin
    best = [divided.best(p) for p in nodes]
    found = Found(tuple(d.comm_bytes for d in best), tuple(d.method for d in best), seconds)
    return max(d.coarse_vertices for d in divided.decompositions), found


def coarse_document(rows: Sequence[Compared], nodes: Sequence[int], origin: str) -> Document:
    """Tables of all workloads; ``origin`` is the command and machine."""
    text = (
        "Bytes of the best division found on a coarse graph over those of the best found on the values "
        "themselves, both counted on the full graph: a ratio above 1 is what the coarse graph loses. CPU "
        "seconds are those of finding and counting all divisions for all numbers of nodes."
    )
    columns = ("workload", "p", "coarse bytes", "fine bytes", "ratio", "coarse division", "fine division")
    divisions = tuple(cells for row in rows for cells in _divisions(row, nodes))
    costs = ("workload", "flows", "coarse vertices", "coarse s", "fine s")
    return Document(
        "Coarse divisions",
        (
            Section("Volume", (origin, text, _mean(rows)), columns, divisions, items=_losses(rows, nodes)),
            Section("Cost", (), costs, tuple(map(_costs, rows))),
        ),
    )


def _mean(rows: Sequence[Compared]) -> str:
    ratios = [ratio for row in rows for ratio in row.ratios()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return (
        f"Geometric mean of the ratios: {mean:.3f}. "
        f"Ratios above {_LOSS} are listed below: {sum(r > _LOSS for r in ratios)} of {len(ratios)}."
    )


def _losses(rows: Sequence[Compared], nodes: Sequence[int]) -> tuple[str, ...]:
    """Where the coarse graph loses."""
    return tuple(
        f"{row.case}, p = {p}: {ratio:.3f}; the values' {fine} beats {coarse}"
        for row in rows
        for p, ratio, coarse, fine in zip(
            nodes, row.ratios(), row.coarse.methods, row.fine.methods, strict=True
        )
        if ratio > _LOSS
    )


def _divisions(row: Compared, nodes: Sequence[int]) -> list[tuple[str, ...]]:
    columns = (row.coarse.comm_bytes, row.fine.comm_bytes, row.ratios())
    found = zip(nodes, *columns, row.coarse.methods, row.fine.methods, strict=True)
    return [
        (row.case, str(p), f"{coarse:,}", f"{fine:,}", f"{ratio:.3f}", one, other)
        for p, coarse, fine, ratio, one, other in found
    ]


def _costs(row: Compared) -> tuple[str, ...]:
    seconds = (f"{found.seconds:.1f}" for found in (row.coarse, row.fine))
    return (row.case, f"{row.flows:,}", f"{row.vertices:,}", *seconds)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser("python -m bench.coarse")
    parser.add_argument("--nodes", type=parse_nodes, default=(4, 16, 64))
    parser.add_argument("--vertices", type=int, default=16_384, help="coarse vertices to aim at")
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--jobs", type=int, default=1, help="workloads at a time")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    options = parser.parse_args(words)
    wanted = set(options.only.split(",")) if options.only else set()
    progress, rows = make_console(sys.stderr), []
    cases = [case for case in CASES if not wanted or case.split()[0] in wanted]
    task = partial(compare, nodes=options.nodes, vertices=options.vertices)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(task, cases):
            rows.append(row)
            ratios = (f"{ratio:.3f}" for ratio in row.ratios())
            progress.print(" ".join((*_costs(row), "ratios", *ratios)))
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    machine = f"{made.host_class}, Python {platform.python_version()}"
    origin = f"Made by `{shlex.join(['python', '-m', 'bench.coarse', *words])}` on {machine}."
    document = coarse_document(rows, options.nodes, origin)
    show_document(document, make_console(sys.stdout, width=160))
    if options.output is not None:
        write_text(options.output, markdown_text(document), force=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
