"""Cost of the stages behind the recording, per workload: CPU seconds and memory per flow.

    python -m bench.stages [--parts 16] [--only heat2d,spmv] [--json FILE]

Run from the checkout. Every stage is expected to be linear in the distinct flows, so what is printed are CPU
seconds per ten million flows and the largest temporary memory of any stage per flow. Compiled code is loaded
by a small graph first. *paper* is the singletons by the paper's rules and the size without them, *work* what
counting needs once per graph, *count* all that counting one decomposition takes.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from bench.cases import request_of
from commanalyzer.communication.balance import term_work, work_by_value
from commanalyzer.communication.collectives import with_collectives
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.coarsening.coarse import build_by_value
from commanalyzer.division.libraries.metis import partition
from commanalyzer.division.views import paper_view
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.contraction.simplify import simplified
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.recording.record import record

CASES = (
    "heat2d 500 10",
    "stencil3d 48 5",
    "matmul 96",
    "spmv 50000 random 8 5",
    "kmeans 20000 8 5 5",
    "hydro3d 10 5",
)
SMALL = "kmeans 300 4 3 3"
STAGES = ("simplify", "hubs", "paper", "links and nets", "work", "count")
T = TypeVar("T")


@dataclass(slots=True)
class Measurement:
    """One workload: CPU seconds and temporary bytes of each stage."""

    case: str
    flows: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    temporary_bytes: dict[str, int] = field(default_factory=dict)

    def time(self, stage: str, action: Callable[[], T]) -> T:
        """Return the result of ``action`` and keep what it costs."""
        gc.collect()
        before = _forget_peak()
        start = time.process_time()
        result = action()
        self.seconds[stage] = time.process_time() - start
        self.temporary_bytes[stage] = max(_memory("VmHWM") - before, 0)
        return result


def _forget_peak() -> int:
    """Let the kernel measure the peak memory anew; return the present memory, bytes."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def measure(case: str, parts: int) -> Measurement:
    """Record one workload and measure what follows."""
    name, *arguments = case.split()
    graph = record(request_of(name, tuple(arguments)), SilentProgress()).store.graph()
    result = Measurement(case, graph.num_flows)
    flat = result.time("simplify", lambda: simplified(graph))
    hubs = result.time("hubs", lambda: find_hubs(flat))
    result.time("paper", lambda: paper_view(graph, HIGH, is_asked=False))
    view = result.time("links and nets", lambda: build_by_value(flat, hubs))
    owners = view.owners(partition(view.adjacency, parts), parts)
    totals, work = result.time("work", lambda: (totals_of(flat), term_work(flat)))

    def count() -> None:
        charges = charge_volume(flat, owners, parts, hubs, totals)
        exchanges = charges.exchanges(flat, owners, totals, hubs)
        with_collectives(exchanges.communication(), charges, exchanges, flat, hubs)
        folded, readers = (charges.fold.value, charges.fold.sender), totals.readers
        known = (flat, work, hubs, owners, parts, folded)
        work_by_value(*known, readers if charges.splits_terms else None)

    result.time("count", count)
    return result


def _table(measurements: Sequence[Measurement], parts: int) -> Table:
    table = Table(title=f"CPU seconds per 10 million flows, {parts} parts; temporary bytes per flow")
    for title in ("workload", "flows", *STAGES, "bytes"):
        table.add_column(title, justify="left" if title == "workload" else "right")
    for m in measurements:
        seconds = (f"{m.seconds[stage] * 1e7 / m.flows:.2f}" for stage in STAGES)
        most = max(m.temporary_bytes.values()) / m.flows
        table.add_row(m.case, f"{m.flows:,}", *seconds, f"{most:.0f}")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and optionally write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else None
    cases = [case for case in CASES if wanted is None or case.split()[0] in wanted]
    measure(SMALL, options.parts)
    measurements = [measure(case, options.parts) for case in cases]
    Console(width=120).print(_table(measurements, options.parts))
    if options.json:
        keys = ("case", "flows", "seconds", "temporary_bytes")
        rows = [{key: getattr(m, key) for key in keys} for m in measurements]
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
