"""What does not depend on the number of time steps or on how unknowns are numbered.

``python -m bench.growth`` prints values, flows and bytes per element and step of all workloads.
"""

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.recording.record import record
from commanalyzer.request import AnalysisRequest
from tests.e2e.conftest import MAIN_LOOP
from tests.native import ROOT

WORKLOADS = ROOT / "workloads"
NOISE = 0.05  # of the partitioners: two numberings of one graph, or two seeds, differ by up to this


@cache
def recorded(name: str, *arguments: str) -> ValueGraph:
    """Graph of a workload's main loop."""
    sources = sorted((WORKLOADS / name).glob("*.c*"))
    request = AnalysisRequest(
        tuple(sources), arguments, regions=(MAIN_LOOP[name][0],), program_output="discard", timeout_s=120.0
    )
    return record(request, SilentProgress()).store.graph()


def flows_per_step(graph: ValueGraph, steps: int) -> float:
    """Flows that happened."""
    per_row = np.diff(graph.rows.row_ptr)
    return float((graph.rows.row_count * per_row).sum() / steps)


# --- time steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "workload",
    [
        "heat2d 12 {} copy",
        "stencil3d 6 {} copy",
        "spmv 64 banded 5 {}",
        "cg 8 2d permuted {}",
        "adi 8 {}",
        "fem2d 8 {}",
    ],
)
def test_every_step_makes_the_chains_of_the_one_before(workload: str) -> None:
    one, few, many = (recorded(*workload.format(steps).split()) for steps in (3, 6, 9))
    for graph in (few, many):
        assert (one.num_vertices, one.num_rows) == (graph.num_vertices, graph.num_rows)
        assert np.array_equal(one.rows.row_sink, graph.rows.row_sink)
        assert np.array_equal(one.rows.source, graph.rows.source)
    assert np.array_equal(few.rows.row_count - one.rows.row_count, many.rows.row_count - few.rows.row_count)


def test_kmeans_makes_new_chains_only_where_an_object_changes_its_cluster() -> None:
    few, many = (recorded("kmeans", "60", "2", "3", str(steps)) for steps in (3, 12))
    assert few.num_vertices == many.num_vertices
    accumulating = [int(graph.rows.row_accumulates.sum()) for graph in (few, many)]
    assert many.num_rows - few.num_rows == accumulating[1] - accumulating[0] > 0
    assert flows_per_step(many, 12) == pytest.approx(flows_per_step(few, 3), rel=0.02)


# Lines of hydro3d that choose between values by a comparison: the branch of the sound speed and the smallest
# time step (timestep), the limiter's q of expansion (viscosity), velocities below a cut (motion), the
# equation of state's cases and volumes near 1 (eos). A new outcome for an element is a new chain.
CHOOSING = {"timestep.cpp", "viscosity.cpp", "motion.cpp", "eos.cpp"}


def rows_per_file(graph: ValueGraph) -> Counter[str]:
    return Counter(Path(graph.sites[i].file).name for i in graph.rows.row_site.tolist())


def homes(graph: ValueGraph) -> Counter[tuple[str, str, int]]:
    """Vertices of every object, without the values of ``smallest_time_step``."""
    site = {s for s, place in enumerate(graph.sites) if Path(place.file).name == "timestep.cpp"}
    named = graph.is_register & np.isin(graph.producer_site, list(site))
    numbers = graph.home_object[~named].tolist()
    return Counter((graph.objects[i].name, graph.objects[i].function, graph.objects[i].line) for i in numbers)


@pytest.mark.slow
def test_hydro3d_grows_by_new_outcomes_of_its_comparisons_only() -> None:
    few, many = (recorded("hydro3d", "4", str(steps)) for steps in (6, 24))
    assert homes(few) == homes(many)
    # A value of the minimum per element and outcome, and the minimum of each combination: fewer than steps.
    assert 0 <= many.num_vertices - few.num_vertices < 4**3 + 24
    more = rows_per_file(many) - rows_per_file(few)
    assert set(more) <= CHOOSING
    assert not rows_per_file(few) - rows_per_file(many)
    assert sum(more.values()) < 0.02 * few.num_rows
    assert flows_per_step(many, 24) == pytest.approx(flows_per_step(few, 6), rel=0.01)


# --- numbering --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"), [("cg", ("16", "2d", "{}", "5")), ("fem2d", ("12", "5", "{}"))]
)
def test_numbering_at_random_costs_nothing(name: str, arguments: tuple[str, ...]) -> None:
    orders = {"cg": ("natural", "permuted"), "fem2d": ("ordered", "permuted")}[name]
    source, region = WORKLOADS / name / f"{name}.c", MAIN_LOOP[name][0]
    lines = [[item.format(order) for item in arguments] for order in orders]
    results = [ca.analyze(source, a, nodes=4, regions=[region], program_output="discard") for a in lines]
    graphs = [result.graph for result in results]
    for size in ("num_vertices", "num_rows", "num_flows"):
        assert getattr(graphs[0], size) == getattr(graphs[1], size)
    best = [result.best(4) for result in results]
    assert best[1].comm_bytes == pytest.approx(best[0].comm_bytes, rel=NOISE)
    assert max(item.imbalance for item in best) <= 1.04
