"""Text of workloads/ALLOCATIONS.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.allocations_paper import DAINT, VILJE, points_per_second
from bench.allocations_paper import rows as paper_rows
from commanalyzer.scaling.allocations.decisions import pareto_front
from tests.simgrid.phases import comparison

if TYPE_CHECKING:
    from bench.allocations import Row

_NEAR = 1.01


def document(rows: Sequence[Row], formulas: Mapping[str, str]) -> str:
    """The page."""
    parts = [_HEAD, _accuracy(rows), _MIDDLE, _decisions(rows), _FORMULAS]
    parts += [f"* {name}: `{text}`" for name, text in formulas.items()]
    parts += [_TRUTH, comparison(), _paper()]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


_HEAD = """# Allocations: predicted against simulated time

Made by `python -m bench.allocations`. Models of a communication phase are fitted to a campaign (8,
32 and 128 nodes, 1 to 8 processes per node, 1 and 4 messages per process, 64 B to 4 MiB, neighbours on
the next nodes or anywhere, two allocations) on networks of 1,024 nodes with links of 1 GB/s, 2 us and 0.3
us per send and receive. They are tested on halos (by formula) of stencil3d, hydro3d (26 neighbours, a sum
per step) and cg (two sums per iteration), three sizes each
(two with --quick), on 16 to 1,024 nodes x 1 to 8 processes, on
consecutive nodes, and one size also on other random fragments than those of the campaign. **Truth
is the flow model of the benchmarks** (`bench/flow_model.py`), not SimGrid itself, which replays each
rank as a thread: 256 nodes x 4 processes took it 29 s per phase. How the two agree is shown below.

## Communication time within 25 % and 50 %

All numbers of nodes, and those beyond the campaign alone (more than 128 nodes). *Areas with routes* know
the busiest link (LT) and the longest way (D) from the network's routes; *metrics of the paper* do not."""

_MIDDLE = """The paper reports 41.3 % and 68.2 % (Vilje), 68.8 % and 92.6 % (Piz Daint) on real machines,
with noise and other jobs.

## Decisions

Computation (the same in both): 4 GFlop/s per process, 80 GB/s of memory per node. *Fastest right*: the
configuration of least predicted time is the one of least true time; *within 1 %*: its true time is at
most 1 % longer. *Front matched*: points of the true Pareto front (cores against time) that are on the
predicted one, of all its points."""

_FORMULAS = """## Fitted formulas (areas with routes), seconds"""

_TRUTH = """## The flow model against SimGrid

Time of one halo or random exchange, ratio of the flow model to SimGrid's replay (SMPI) on the same
platform."""


def _share(rows: Sequence[Row], model: str, bound: float, least_nodes: int) -> float:
    errors = []
    for row in rows:
        far = row.truth.nodes > least_nodes
        errors.append((row.predicted[model].comm_s / row.truth.comm_s - 1.0)[far])
    return float((np.abs(np.concatenate(errors)) <= bound).mean())


def _accuracy(rows: Sequence[Row]) -> str:
    lines = [
        "| network | model | predictions | within 25 % | within 50 % | 25 %, > 128 nodes | 50 % |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for network in dict.fromkeys(row.network for row in rows):
        mine = [row for row in rows if row.network == network]
        lines += [_accuracy_line(network, mine, model) for model in mine[0].predicted]
    lines += [_accuracy_line("all", rows, model) for model in rows[0].predicted]
    return "\n".join(lines)


def _accuracy_line(network: str, rows: Sequence[Row], model: str) -> str:
    cells = (f"{_share(rows, model, bound, nodes):.1%}" for nodes in (0, 128) for bound in (0.25, 0.5))
    count = sum(len(row.truth.nodes) for row in rows)
    return f"| {network} | {model} | {count} | {' | '.join(cells)} |"


def _decisions(rows: Sequence[Row]) -> str:
    lines = [
        "| network | model | fastest right | within 1 % | worst loss | core-hours right | front matched |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for network in (*dict.fromkeys(row.network for row in rows), "all"):
        mine = [row for row in rows if network in ("all", row.network)]
        lines += [_decision_line(network, mine, model) for model in mine[0].predicted]
    return "\n".join(lines)


def _decision_line(network: str, rows: Sequence[Row], model: str) -> str:
    right, near, worst, cheap, shared, points = 0, 0, 1.0, 0, 0, 0
    for row in rows:
        truth, found = row.truth, row.predicted[model]
        chosen = int(np.argmin(found.time_s))
        loss = float(truth.time_s[chosen] / truth.time_s.min())
        right += chosen == int(np.argmin(truth.time_s))
        near += loss <= _NEAR
        worst = max(worst, loss)
        cheap += int(np.argmin(found.core_hours())) == int(np.argmin(truth.core_hours()))
        true_front, front = (set(pareto_front(c.cores, c.time_s)) for c in (truth, found))
        shared += len(true_front & front)
        points += len(true_front)
    n = len(rows)
    return (
        f"| {network} | {model} | {right} of {n} | {near} of {n} | {worst - 1:.1%} | {cheap} of {n} "
        f"| {shared} of {points} ({shared / points:.0%}) |"
    )


def _paper() -> str:
    parts = [
        "## Tables 6 to 9 of the paper",
        "Missing in print: measured computation times (the paper takes them as given), process grid, "
        "mapping of processes to nodes, shape of the allocations. Taken here: one rate per machine from the "
        "core-hours of the cheapest configuration of 2048^3, a most cubic grid without periodic borders, "
        "ranks in blocks, consecutive nodes. *Cut off*: configurations whose printed formula is below zero "
        "and is taken as 0.",
    ]
    for printed in (VILJE, DAINT):
        lines = [
            f"{printed.machine}: {points_per_second(printed):.4g} points per second and process.",
            "",
            "| size | fastest, measured | found | fewest core-hours, measured | found | core-hours, measured "
            "| at that configuration, found | cut off |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [f"| {' | '.join(row)} |" for row in paper_rows(printed)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
