"""Growth of the workloads' graphs: values, flows and bytes per element at two numbers of time steps.

    python -m bench.growth [--parts 4] [--only heat2d,hydro3d] [--json FILE]

Run from the checkout. *Values* (homes) and *distinct flows* per element should not depend on the number of
steps: a time step makes the chains of the one before it. *Flows* and *bytes* are per element and step; what
happens once (initial values, the first step) makes them fall a little where there are more steps. Bytes are
those of the best decomposition found, main loop only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import commanalyzer as ca
from commanalyzer.graph.value_graph import count_of_source

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Case:
    """A workload whose arguments depend on the number of steps.

    Attributes:
        region: Function of the main loop.
        arguments: With ``{}`` for the number of steps.
        elements: Points, unknowns, particles, vertices or elements.
        steps: The two numbers of steps.
        sources: Pattern of its files; empty for ``NAME.c``.
    """

    region: str
    arguments: str
    elements: int
    steps: tuple[int, int] = (5, 10)
    sources: str = ""

    @property
    def name(self) -> str:
        """Folder of the workload."""
        return self.arguments.split()[0]

    def command(self, steps: int) -> list[str]:
        """Arguments of the program."""
        return self.arguments.format(steps).split()[1:]


CASES = (
    Case("heat_solve", "heat2d 48 {}", 48**2),
    Case("stencil_run", "stencil3d 12 {}", 12**3),
    Case("spmv_iterate", "spmv 512 banded 9 {}", 512),
    Case("kmeans", "kmeans 500 4 4 {}", 500),
    Case("cg_solve", "cg 24 2d natural {}", 24**2, (10, 20)),
    Case("adi_solve", "adi 24 {}", 24**2),
    Case("pic_run", "pic 12 4 {} 4", 4 * 12**2),
    Case("pagerank", "pagerank 512 smallworld 8 {}", 512, sources="*.cpp"),
    Case("hydro_run", "hydro3d 6 {}", 6**3, (6, 12), sources="*.cpp"),
    Case("fem_run", "fem2d 16 {}", 2 * 16**2),
)


@dataclass(frozen=True, slots=True)
class Growth:
    """One workload at one number of steps.

    Attributes:
        values: Homes per element.
        distinct_flows: Distinct flows per element.
        flows: Flows that happened, per element and step.
        comm_bytes: Bytes of the best decomposition, per element and step.
    """

    workload: str
    steps: int
    values: float
    distinct_flows: float
    flows: float
    comm_bytes: float


def measure(case: Case, steps: int, parts: int) -> Growth:
    """Analyse a workload at one number of steps."""
    pattern = case.sources or f"{case.name}.c"
    result = ca.analyze(
        sorted((ROOT / "workloads" / case.name).glob(pattern)),
        case.command(steps),
        nodes=parts,
        regions=[case.region],
        cflags=["-std=c++17"] if case.sources else [],
        program_output="discard",
    )
    graph = result.graph
    happened = int(count_of_source(graph.rows).sum())
    best = result.best(parts).communication.total_bytes
    each, every = case.elements, case.elements * steps
    return Growth(
        case.arguments.format("STEPS"),
        steps,
        graph.num_vertices / each,
        graph.num_flows / each,
        happened / every,
        best / every,
    )


def _table(rows: Sequence[Growth], parts: int) -> Table:
    table = Table(title=f"per element, {parts} nodes")
    table.add_column("workload")
    titles = ("steps", "values", "distinct flows", "flows per step", "bytes per step")
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        numbers = (row.values, row.distinct_flows, row.flows, row.comm_bytes)
        table.add_row(row.workload, str(row.steps), *(f"{number:.3f}" for number in numbers))
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Analyse, print, and optionally write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--only", default="", help="comma-separated workloads")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else None
    cases = [case for case in CASES if wanted is None or case.name in wanted]
    rows = [measure(case, steps, options.parts) for case in cases for steps in case.steps]
    Console(width=110).print(_table(rows, options.parts))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
