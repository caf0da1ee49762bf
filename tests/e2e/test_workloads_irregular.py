"""The models of pic and pagerank, by which other tests count, compute what the programs do."""

import numpy as np
import pytest

from tests.e2e import irregular_models as models
from tests.e2e.conftest import Workload
from tests.native import numbers


@pytest.mark.parametrize(
    ("n", "per_cell", "steps", "sweeps", "charge"),
    [(4, 1, 1, 1, 1.0), (8, 3, 20, 4, 1.0), (8, 3, 20, 4, 0.25), (6, 2, 30, 2, 3.0)],
)
def test_pic_agrees_with_a_model_over_all_particles(
    workload: Workload, n: int, per_cell: int, steps: int, sweeps: int, charge: float
) -> None:
    model = models.particles_in_cells(n, per_cell, steps, sweeps, charge)
    found = workload("pic", n, per_cell, steps, sweeps, charge)
    kinetic = 0.5 * (model.vx**2 + model.vy**2).sum()
    expected = [(model.potential**2).sum(), kinetic, (model.x + 2 * model.y).sum()]
    assert numbers(found, ("potential", "kinetic", "positions")) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("n", "graph", "degree"), [(50, "smallworld", 6), (64, "kronecker", 5)])
def test_pagerank_agrees_with_power_iteration(workload: Workload, n: int, graph: str, degree: int) -> None:
    rank = models.power_iteration(n, graph, degree, 7)
    found = workload("pagerank", n, graph, degree, 7)
    assert numbers(found, ("edges",)) == [n * degree]
    expected = [1.0, float(np.sqrt((rank**2).sum())), rank[0], rank[-1]]
    assert numbers(found, ("sum", "norm", "first", "last")) == pytest.approx(expected, rel=1e-9)
