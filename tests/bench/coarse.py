"""What a coarse graph loses: bytes and CPU time of divisions found on one against those found without.

    python -m tests.bench.coarse [--nodes 4,16,64] [--vertices 16384] [--only heat2d,cg] [-o FILE]

Run from the checkout. Every workload is recorded at a middle size and divided twice, on coarse vertices and
on its values; both are counted on the full graph. A ratio above 1 is what the coarse graph loses.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.cli.options import parse_nodes
from commanalyzer.files import write_text
from commanalyzer.pipeline import analyze, repartition
from commanalyzer.progress import SilentProgress
from commanalyzer.provenance import collect_provenance
from commanalyzer.report.document_files import markdown_text
from commanalyzer.report.document_text import show_document
from commanalyzer.report.text import make_console
from commanalyzer.request import Coarsen, PartitionRequest
from commanalyzer.results import AnalysisResult
from commanalyzer.validation.document import Document, Section
from tests.bench.cases import request_of

CASES = (
    *("heat2d 300 4", "stencil3d 40 3", "matmul 64", "spmv 8000 random 8 4", "kmeans 10000 8 5 3"),
    *("cg 96 2d natural 50", "cg 96 2d permuted 50", "adi 200 3", "pic 32 8 3 4"),
    *("pagerank 10000 smallworld 8 4", "fem2d 60 3", "hydro3d 8 2"),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One workload; lists go along the node counts.

    Attributes:
        case: Name and arguments.
        flows: Distinct flows.
        vertices: Vertices of the coarse graph.
        coarse_bytes: Bytes of the best coarse division.
        fine_bytes: Bytes of the best division found on the values.
        coarse_s: CPU seconds of all coarse divisions.
        fine_s: CPU seconds of all others.
    """

    case: str
    flows: int
    vertices: int
    coarse_bytes: tuple[int, ...]
    fine_bytes: tuple[int, ...]
    coarse_s: float
    fine_s: float


def compare(case: str, nodes: tuple[int, ...], vertices: int) -> Compared:
    """Record one workload and divide it both ways."""
    name, *arguments = case.split()
    request = replace(request_of(name, tuple(arguments), (2,)), coarsen=vertices)
    recorded = analyze(request, SilentProgress())
    coarse_s, coarse = _divided(recorded, nodes, vertices)
    fine_s, fine = _divided(recorded, nodes, "never")
    return Compared(
        case,
        recorded.graph.num_flows,
        max(d.coarse_vertices for d in coarse.decompositions),
        tuple(coarse.best(p).comm_bytes for p in nodes),
        tuple(fine.best(p).comm_bytes for p in nodes),
        coarse_s,
        fine_s,
    )


def _divided(
    result: AnalysisResult, nodes: tuple[int, ...], coarsen: Coarsen
) -> tuple[float, AnalysisResult]:
    begin = time.process_time()
    found = repartition(result, PartitionRequest(nodes, coarsen=coarsen), SilentProgress())
    return time.process_time() - begin, found


def coarse_document(rows: Sequence[Compared], nodes: Sequence[int], origin: str) -> Document:
    """Table of all workloads; ``origin`` is the command and machine."""
    text = (
        "Bytes of the best division found on a coarse graph over those of the best found on the values "
        "themselves, per number of nodes; both counted on the full graph. CPU seconds of finding and "
        "counting all of them."
    )
    columns = ("workload", "flows", "coarse vertices", *(f"p = {p}" for p in nodes), "coarse s", "without s")
    cells = tuple(_cells(row) for row in rows)
    return Document("Coarse divisions", (Section("Quality", (origin, text), columns, cells),))


def _cells(row: Compared) -> tuple[str, ...]:
    pairs = zip(row.coarse_bytes, row.fine_bytes, strict=True)
    ratios = [f"{coarse / fine:.3f}" if fine else "-" for coarse, fine in pairs]
    return (
        row.case,
        f"{row.flows:,}",
        f"{row.vertices:,}",
        *ratios,
        f"{row.coarse_s:.1f}",
        f"{row.fine_s:.1f}",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, write."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser("python -m tests.bench.coarse")
    parser.add_argument("--nodes", type=parse_nodes, default=(4, 16, 64))
    parser.add_argument("--vertices", type=int, default=16_384, help="coarse vertices to aim at")
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file")
    options = parser.parse_args(words)
    wanted = set(options.only.split(",")) if options.only else set()
    progress, rows = make_console(sys.stderr), []
    for case in CASES:
        if not wanted or case.split()[0] in wanted:
            rows.append(compare(case, options.nodes, options.vertices))
            progress.print(" ".join((case, *_cells(rows[-1])[1:])))
    made = collect_provenance(compiler="", flags=(), input_hashes=(), seed=0)
    machine = f"{made.host_class}, Python {platform.python_version()}"
    origin = f"Made by `{shlex.join(['python', '-m', 'tests.bench.coarse', *words])}` on {machine}."
    document = coarse_document(rows, options.nodes, origin)
    show_document(document, make_console(sys.stdout, width=160))
    if options.output is not None:
        write_text(options.output, markdown_text(document), force=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
