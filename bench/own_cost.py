"""Growth of the tool's own cost: laws of time and memory over problem size n and nodes p.

    python -m bench.own_cost [--only heat2d,spmv] [--nodes 4..32x2] [--output DIR]

Run from the checkout, with nothing else on the machine. Every workload is swept over its size, one point at
a time, and ``commanalyzer fit`` is asked for the laws of the cost columns: recording (``record_s``), building
the graph (``graph_s``, ``graph_bytes``), dividing and counting it (``partition_s``, ``count_s``), and the
memory of the analysis (``tool_rss_bytes``). Points that DIR has already are not analysed again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.cli.main import main as commanalyzer

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("record_s", "graph_s", "graph_bytes", "partition_s", "count_s", "tool_rss_bytes")


@dataclass(frozen=True, slots=True)
class Case:
    """A workload and how its size is varied; sizes are values of n."""

    name: str
    region: str
    sizes: str
    arguments: str


CASES = (
    Case("heat2d", "heat_solve", "24,32,48,64,96,128", "{n} 5"),
    Case("stencil3d", "stencil_run", "8,10,12,16,20,24", "{n} 5"),
    Case("spmv", "spmv_iterate", "256,512,1024,2048,4096", "{n} banded 9 5"),
    Case("matmul", "", "8,12,16,24,32", "{n}"),
)


def sweep_and_fit(case: Case, nodes: str, folder: Path) -> int:
    """Print the laws of one workload; returns the exit code of the first command that failed."""
    output = folder / case.name
    source = ROOT / "workloads" / case.name / f"{case.name}.c"
    words = ["sweep", str(source), "--param", f"n={case.sizes}", "--args", case.arguments]
    words += ["--region", case.region] if case.region else []
    status = commanalyzer([*words, "--nodes", nodes, "--jobs", "1", "-o", str(output), "-q"])
    return status or commanalyzer(["fit", str(output), "--metric", ",".join(METRICS)])


def main(argv: Sequence[str] | None = None) -> int:
    """Sweep and fit all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--nodes", default="4..32x2")
    parser.add_argument("--output", type=Path, help="directory for the sweeps; a temporary one otherwise")
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else {case.name for case in CASES}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = [sweep_and_fit(case, options.nodes, folder) for case in CASES if case.name in wanted]
    return max(found, default=0)


if __name__ == "__main__":
    sys.exit(main())
