"""adi and pic, whose workspaces every line and every particle uses again, against theory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import commanalyzer as ca
from tests.e2e import irregular_models as models
from tests.e2e import theory_irregular as theory
from tests.e2e.test_analysis_irregular import Ints, bytes_per_object, heap_objects
from tests.native import ROOT

WORD = 8
TOLERANCE = 0.10
MAIN_LOOP = {"adi": "adi_solve", "pic": "pic_run"}
ADI_ARRAYS = ("capacity", "u", "half", "cp", "dp")
PARTICLE_ARRAYS = ("x", "y", "vx", "vy")
GRID_ARRAYS = ("rho", "phi", "work", "ex", "ey")
Analyse = Callable[..., ca.AnalysisResult]


@pytest.fixture(scope="module")
def analysed() -> Analyse:
    """Analyse the main loop of a workload with all conservation laws checked, each once."""
    done: dict[tuple[object, ...], ca.AnalysisResult] = {}

    def analyse(name: str, *arguments: int) -> ca.AnalysisResult:
        key = (name, *arguments)
        if key not in done:
            done[key] = ca.analyze(
                ROOT / "workloads" / name / f"{name}.c",
                arguments,
                nodes=(4,),
                model=("volume",),
                regions=[MAIN_LOOP[name]],
                program_output="discard",
                check=True,
            )
        return done[key]

    return analyse


# --- adi --------------------------------------------------------------------------------------------------


def adi_in_blocks(result: ca.AnalysisResult, n: int) -> int:
    """Bytes in 2 x 2 blocks."""
    number = heap_objects(result, ADI_ARRAYS)
    blocks = np.pad(models.square_blocks(n, 2).reshape(n, n), 1, mode="edge").ravel()
    arrays = {number[name]: blocks for name in ("capacity", "u", "half")}
    return int(bytes_per_object(result, arrays, 4).sum())


@pytest.mark.parametrize("steps", [3, 6])
def test_adi_in_square_blocks_hands_on_three_words_per_line(analysed: Analyse, steps: int) -> None:
    expected = WORD * theory.adi_words(32, steps, 2, 2)
    assert adi_in_blocks(analysed("adi", 32, steps), 32) == pytest.approx(expected, rel=TOLERANCE)


def test_adi_work(analysed: Analyse) -> None:
    assert analysed("adi", 32, 3).work.flops == theory.adi_flops(32, 3)


def test_adi_has_a_value_per_point_direction_and_workspace(analysed: Analyse) -> None:
    result = analysed("adi", 32, 3)
    number = heap_objects(result, ADI_ARRAYS)
    homes = np.bincount(result.graph.home_object, minlength=len(result.graph.objects))
    assert homes[number["cp"]] == homes[number["dp"]] == 2 * 32 * 32


def test_directions_that_share_work_arrays_are_divided_into_blocks() -> None:
    source = ROOT / "bench" / "foreign" / "split_hydro.f90"
    found = ca.analyze(source, (24, 2), nodes=(8,), program_output="discard").decomposition(8)
    # Rows at the walls have more work: no whole rows are within three percent of the mean.
    assert found.grid == (2, 4)
    assert found.comm_bytes == pytest.approx(WORD * 10 * 24 * 2 * (1 + 3), rel=0.02)


# --- pic --------------------------------------------------------------------------------------------------

N, PER_CELL, SWEEPS = 16, 4, 4


def pic_theory(steps: int) -> tuple[Ints, int]:
    """Owners of the particles by their first cells in 2 x 2 blocks, and the bytes."""
    blocks = models.square_blocks(N, 2)
    first = np.repeat(blocks, PER_CELL)
    corners = models.particles_in_cells(N, PER_CELL, steps, SWEEPS).corners
    foreign = sum(models.foreign_points(c, blocks, first) for c in corners)
    words = theory.pic_potential_words(N, 2, SWEEPS, steps) + theory.pic_particle_words(foreign)
    return first, WORD * words


@pytest.mark.parametrize("steps", [3, 6])
def test_pic_in_square_blocks_exchanges_charge_and_field(analysed: Analyse, steps: int) -> None:
    result = analysed("pic", N, PER_CELL, steps, SWEEPS)
    number = heap_objects(result, (*PARTICLE_ARRAYS, *GRID_ARRAYS))
    particles, expected = pic_theory(steps)
    arrays = {number[name]: particles for name in PARTICLE_ARRAYS}
    arrays |= {number[name]: models.square_blocks(N, 2) for name in GRID_ARRAYS}
    assert bytes_per_object(result, arrays, 4).sum() == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("steps", [3, 6])
def test_pic_moves_about_what_square_blocks_move(analysed: Analyse, steps: int) -> None:
    best = analysed("pic", N, PER_CELL, steps, SWEEPS).best(4)
    blocks = pic_theory(steps)[1]
    assert (
        0.8 * blocks < best.comm_bytes <= (1 + TOLERANCE) * blocks
    )  # a particle may stay where it mostly is
    assert best.imbalance <= 1.04


def test_pic_grows_by_the_cells_that_particles_enter_only(analysed: Analyse) -> None:
    few, many = (analysed("pic", N, PER_CELL, steps, SWEEPS).graph for steps in (3, 6))
    cells = [c[:, 0] for c in models.particles_in_cells(N, PER_CELL, 6, SWEEPS).corners]
    particle = np.arange(len(cells[0]))
    pairs = [np.unique(np.concatenate([c * len(particle) + particle for c in cells[:k]])) for k in (3, 6)]
    entered = len(pairs[1]) - len(pairs[0])
    assert 0 < entered < len(cells[0])
    # Per entered cell: four charges, two components of the field and of the push, and the weights.
    assert many.num_rows - few.num_rows <= 16 * entered
