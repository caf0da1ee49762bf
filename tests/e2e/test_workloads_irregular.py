"""cg, adi, pic and pagerank compute what their READMEs say, and recording them changes nothing."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.runtime.build import build_instrumented, build_native
from tests import native
from tests.e2e import irregular_models as models
from tests.e2e import theory_irregular as theory

SOURCES = {"cg": "cg.c", "adi": "adi.c", "pic": "pic.c", "pagerank": "pagerank.cpp"}
RUNS: dict[str, list[list[str]]] = {
    "cg": [["9", "2d", "natural", "4"], ["8", "2d", "permuted", "5"], ["4", "3d", "permuted", "3"], ["1"]],
    "adi": [["7", "2"], ["12", "3"], ["1", "2"], ["5", "0"]],
    "pic": [["6", "3", "4", "2"], ["2", "1", "3", "1"], ["8", "2", "0"], ["6", "3", "4", "2", "0.25"]],
    "pagerank": [["60", "smallworld", "6", "4"], ["64", "kronecker", "4", "3"], ["2", "kronecker", "1", "0"]],
}
WRONG: dict[str, list[list[str]]] = {
    "cg": [["0"], ["8", "4d"], ["8", "2d", "sorted"], ["8", "2d", "natural", "-1"], ["1"] * 5],
    "adi": [["0"], ["8", "1x"], ["8", "1", "1"]],
    "pic": [["1"], ["8", "0"], ["8", "1", "1", "0"], [*"8888", "0"], [*"8888", "1x"], ["8"] * 6],
    "pagerank": [["1"], ["8", "ring"], ["10", "kronecker"], ["8", "smallworld", "0"]],
}


class Programs(dict[str, tuple[Path, Path, Path]]):
    """Plain and recorded program of each workload, and where it may record; built when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, name: str) -> tuple[Path, Path, Path]:
        frontend = compile_sources([native.ROOT / "workloads" / name / SOURCES[name]])
        module = parse_module(frontend.ir_text)
        recorded = build_instrumented(rewrite(module, plan_module(module, PlanOptions())), frontend)
        self[name] = (build_native(frontend), recorded, self._folder / f"{name}.trace")
        return self[name]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("irregular"))


def run(program: Path, arguments: list[str], trace: Path | None = None) -> tuple[int, str, str]:
    done = native.run(program, *arguments, env={} if trace is None else {"COMMANALYZER_TRACE": str(trace)})
    return done.status, done.stdout, done.stderr


def printed(programs: Programs, name: str, *arguments: object) -> dict[str, float]:
    """Numbers of the output by the words before them."""
    status, out, err = run(programs[name][0], list(map(str, arguments)))
    assert status == 0, err
    words = out.split()
    numbers: dict[str, float] = {}
    for label, value in itertools.pairwise(words):
        if label.isalpha() and not value.isalpha() and value[:1] in "-0123456789":
            numbers.setdefault(label, float(value.rstrip("d")))
    return numbers


@pytest.mark.parametrize("name", SOURCES)
def test_output_and_status_are_those_of_the_plain_program(programs: Programs, name: str) -> None:
    plain, recorded, trace = programs[name]
    for arguments in RUNS[name]:
        status, out, err = run(plain, arguments)
        assert (status, err) == (0, "")
        assert out.startswith(f"{name} n {arguments[0]} ")
        assert run(recorded, arguments, trace) == (status, out, err)
    for arguments in WRONG[name]:
        status, out, err = run(plain, arguments)
        assert (status, out) == (2, "")
        assert name in err
        assert run(recorded, arguments, trace) == (status, out, err)


@pytest.mark.parametrize("order", ["natural", "permuted"])
@pytest.mark.parametrize(("n", "dims", "steps"), [(9, 2, 6), (5, 3, 4)])
def test_cg_agrees_with_dense_algebra(programs: Programs, n: int, dims: int, steps: int, order: str) -> None:
    x, residual = models.conjugate_gradients(n, dims, steps)
    found = printed(programs, "cg", n, f"{dims}d", order, steps)
    assert found["entries"] == np.count_nonzero(models.poisson(n, dims))
    assert found["entries"] == theory.cg_entries(n, dims)
    assert found["residual"] == pytest.approx(residual, rel=1e-8)
    assert found["sum"] == pytest.approx(x.sum(), rel=1e-8)
    assert found["first"] == pytest.approx(x[0], rel=1e-8)


@pytest.mark.parametrize(("n", "steps"), [(1, 3), (8, 1), (15, 4)])
def test_adi_agrees_with_dense_solutions_of_its_lines(programs: Programs, n: int, steps: int) -> None:
    field = models.peaceman_rachford(n, steps)
    found = printed(programs, "adi", n, steps)
    assert found["sum"] == pytest.approx(field.sum(), rel=1e-9)
    assert found["centre"] == pytest.approx(field[(n + 1) // 2 - 1, (n + 1) // 2 - 1], rel=1e-9)


@pytest.mark.parametrize(
    ("n", "per_cell", "steps", "sweeps", "charge"),
    [(4, 1, 1, 1, 1.0), (8, 3, 20, 4, 1.0), (8, 3, 20, 4, 0.25), (6, 2, 30, 2, 3.0)],
)
def test_pic_agrees_with_a_model_over_all_particles(
    programs: Programs, n: int, per_cell: int, steps: int, sweeps: int, charge: float
) -> None:
    model = models.particles_in_cells(n, per_cell, steps, sweeps, charge)
    found = printed(programs, "pic", n, per_cell, steps, sweeps, charge)
    assert found["potential"] == pytest.approx((model.potential**2).sum(), rel=1e-8)
    assert found["kinetic"] == pytest.approx(0.5 * (model.vx**2 + model.vy**2).sum(), rel=1e-8)
    assert found["positions"] == pytest.approx((model.x + 2 * model.y).sum(), rel=1e-8)


def test_pic_has_unit_charges_unless_told(programs: Programs) -> None:
    assert printed(programs, "pic", 8, 3, 20, 4) == printed(programs, "pic", 8, 3, 20, 4, 1)


@pytest.mark.parametrize(("charge", "is_hot"), [(1.0, True), (0.03, False)])
def test_pic_heats_plasma_of_a_short_debye_length(programs: Programs, charge: float, is_hot: bool) -> None:
    """Kinetic energy per particle: 1/12 at first, from velocities that are uniform in [-0.5, 0.5]."""
    kinetic = printed(programs, "pic", 32, 8, 200, 4, charge)["kinetic"] / (32 * 32 * 8)
    assert kinetic > 10.0 if is_hot else kinetic == pytest.approx(1 / 12, rel=0.02)


def test_pic_particles_change_cells() -> None:
    corners = models.particles_in_cells(16, 4, 5, 4).corners
    moved = np.count_nonzero(corners[0][:, 0] != corners[-1][:, 0])
    assert moved > 0.1 * len(corners[0])


@pytest.mark.parametrize(("n", "graph", "degree"), [(50, "smallworld", 6), (64, "kronecker", 5)])
def test_pagerank_agrees_with_power_iteration(programs: Programs, n: int, graph: str, degree: int) -> None:
    rank = models.power_iteration(n, graph, degree, 7)
    found = printed(programs, "pagerank", n, graph, degree, 7)
    assert found["edges"] == n * degree
    assert found["sum"] == pytest.approx(1.0, rel=1e-9)
    assert found["norm"] == pytest.approx(float(np.sqrt((rank**2).sum())), rel=1e-9)
    assert found["first"] == pytest.approx(rank[0], rel=1e-9)
    assert found["last"] == pytest.approx(rank[-1], rel=1e-9)
