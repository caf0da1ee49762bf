"""hydro3d: the program against numpy, its MPI counterpart against the program and against counted words."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import commanalyzer as ca
from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.program.frontend.compile import compile_sources
from tests.e2e.command import succeed
from tests.e2e.mpi_programs import run_mpi
from tests.native import ROOT, numbers, run

Doubles = NDArray[np.float64]
SOURCES = sorted((ROOT / "workloads" / "hydro3d").glob("*.cpp"))
LABELS = ("time", "dt", "internal", "kinetic", "radius", "origin")
ENERGY, BACKGROUND, COURANT, GROWTH = 0.25, 1e-3, 0.5, 1.1
WORD = 8


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the program and its MPI counterpart, built by its Makefile with trapping checks."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    folder = tmp_path_factory.mktemp("hydro3d") / "build"
    shutil.copytree(ROOT / "workloads" / "hydro3d", folder)
    compiler = f"{sys.executable} -m ziglang c++"
    checks = "-O2 -Wall -Wextra -Werror -fsanitize=undefined -fsanitize-trap=undefined"
    wrapper = Path(sys.executable).parent / "mpicxx"
    words = ["-s", "-j2", "hydro3d", "mpi", f"CXX={compiler}", f"CXXFLAGS={checks}", f"MPICXX={wrapper}"]
    done = run(make, *words, cwd=folder, env={**os.environ, "MPICH_CXX": compiler}, timeout_s=600)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sources in one module: each of them takes a second to compile."""
    path = tmp_path_factory.mktemp("hydro3d") / "hydro3d.ll"
    path.write_text(compile_sources(SOURCES, flags=["-std=c++17"], regions=["hydro_run"]).ir_text)
    return path


# --- the program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 4, 12])
def test_the_initial_state_is_a_unit_cube_of_gas_with_one_hot_element(built: Path, n: int) -> None:
    h = 1.0 / n
    time, dt, internal, kinetic, radius, origin = numbers(run(built / "hydro3d", str(n), "0"), LABELS)
    assert (time, kinetic) == (0.0, 0.0)
    assert dt == pytest.approx(0.1 * COURANT * h / np.sqrt(ENERGY / h**3), rel=1e-12)
    assert internal == pytest.approx(ENERGY + BACKGROUND * (1.0 - h**3), rel=1e-12)
    assert radius == pytest.approx(1.5, rel=1e-12)  # three times the centre of mass of a unit cube
    assert origin == pytest.approx(ENERGY / h**3, rel=1e-12)


def pressure(n: int) -> Doubles:
    """Initial pressure of the elements, [z, y, x]: a ball of gamma = 1.4 in a gas of 5/3."""
    centre = (np.indices((n, n, n)) + 0.5) / n
    gamma = np.where((centre**2).sum(axis=0) > 0.25, 5.0 / 3.0, 1.4)
    energy = np.full((n, n, n), BACKGROUND)
    energy[0, 0, 0] = ENERGY * n**3
    return np.asarray((gamma - 1.0) * energy)


def first_velocities(n: int, dt: float) -> tuple[Doubles, Doubles]:
    """Velocities [axis, z, y, x] after the first step (from rest, without viscosity), and nodal masses.

    An element pushes each of its corners outwards with its pressure times a quarter of each adjacent face.
    """
    h = 1.0 / n
    p = pressure(n)
    force = np.zeros((3, n + 1, n + 1, n + 1))
    mass = np.zeros((n + 1, n + 1, n + 1))
    for corner in np.ndindex(2, 2, 2):
        at = tuple(slice(c, c + n) for c in corner)
        mass[at] += h**3 / 8.0
        for axis in range(3):
            force[axis][at] += (2 * corner[axis] - 1) * p * h * h / 4.0
    for axis in range(3):
        np.moveaxis(force[axis], axis, 0)[0] = 0.0  # the symmetry plane
    return force / mass * dt, mass


@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_first_step_obeys_newtons_law(built: Path, n: int) -> None:
    first_dt = numbers(run(built / "hydro3d", str(n), "0"), LABELS)[1]
    velocity, mass = first_velocities(n, first_dt)
    time, dt, _, kinetic, radius, _ = numbers(run(built / "hydro3d", str(n), "1"), LABELS)
    assert time == pytest.approx(first_dt, rel=1e-12)
    assert dt == pytest.approx(GROWTH * first_dt, rel=1e-12)
    assert kinetic == pytest.approx((0.5 * mass * (velocity**2).sum(axis=0)).sum(), rel=1e-11)
    moved = (mass * velocity.sum(axis=0)).sum() * first_dt
    assert radius == pytest.approx(1.5 + moved, rel=1e-12)


def test_the_explosion_keeps_its_energy(built: Path) -> None:
    internal, kinetic = numbers(run(built / "hydro3d", "12", "100"), ("internal", "kinetic"))
    assert kinetic > 0.2 * ENERGY
    assert internal + kinetic == pytest.approx(ENERGY + BACKGROUND, rel=0.05)


# --- the MPI counterpart ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """Words of the main loop per step, and of the set-up (README of the workload)."""

    copies: int
    pairs: int
    faces: int
    ranks: int

    @staticmethod
    def of(n: int, q: int) -> "Words":
        """Geometry of n^3 elements in q^3 cubes: sharers of nodes and faces between elements of two ranks."""
        side = n // q + 1
        return Words(
            copies=(q * side) ** 3 - (n + 1) ** 3,
            pairs=(q * side + 2 * (q - 1)) ** 3 - (q * side) ** 3,
            faces=3 * (q - 1) * n * n,
            ranks=q**3,
        )

    def per_step(self, scheme: str) -> int:
        """Words that the ranks send in a time step."""
        nodes = {"owner": 9 * self.copies, "replicate": 6 * self.copies, "symmetric": 3 * self.pairs}
        return nodes[scheme] + 2 * self.faces + 2 * (self.ranks - 1)

    def setup(self, scheme: str) -> int:
        """Words for the initial state and the nodal masses."""
        mass = {"owner": self.copies, "replicate": 2 * self.copies, "symmetric": self.pairs}
        return 6 * self.copies + mass[scheme]


def test_words_of_two_parts_per_edge_counted_by_hand() -> None:
    # Of three planes of 13^2 nodes, 432 nodes are in two, 36 in four parts and one in eight.
    words = Words.of(12, 2)
    assert words.copies == 432 * 1 + 36 * 3 + 1 * 7
    assert words.pairs == 432 * 2 + 36 * 12 + 1 * 56
    assert words.faces == 3 * 144


@pytest.mark.parametrize("scheme", ["owner", "replicate", "symmetric"])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_the_mpi_counterpart_agrees_with_the_program_and_sends_the_words_of_theory(
    built: Path, q: int, scheme: str
) -> None:
    n, steps = 6, 4 if q == 3 else 12  # 27 ranks wait for each other by turns of the processor
    alone = run(built / "hydro3d", str(n), str(steps))
    together = run_mpi(built / "mpi" / "hydro3d_mpi", q**3, n, steps, scheme)
    assert numbers(together, LABELS) == pytest.approx(numbers(alone, LABELS), rel=1e-12)
    words = Words.of(n, q)
    setup, loop = numbers(together, ("setup_bytes", "loop_bytes"))
    assert setup == WORD * words.setup(scheme)
    assert loop == WORD * steps * words.per_step(scheme)


# --- the analysis -----------------------------------------------------------------------------------------


def test_the_analysis_leaves_the_output_alone(built: Path, tmp_path: Path) -> None:
    options = ["--cflags", "-std=c++17", "--nodes", "8", "-q"]
    done = succeed(tmp_path, "analyze", *SOURCES, *options, "--", "4", "2")
    assert done.out.startswith(run(built / "hydro3d", "4", "2").stdout)


def test_every_field_has_one_home_per_node_or_element(module: Path) -> None:
    n = 3
    result = ca.analyze(module, [str(n), "2"], nodes=[2], program_output="discard", check=True)
    graph = result.graph
    homes = np.bincount(graph.home_object, minlength=len(graph.objects))
    blocks = [
        (o.size_bytes, int(homes[i]))
        for i, o in enumerate(graph.objects)
        if o.kind is HomeKind.HEAP and o.name.startswith("d.")  # members of main's Domain
    ]
    nodes, elements = (n + 1) ** 3, n**3
    assert blocks.count((8 * nodes, nodes)) == 13
    assert blocks.count((8 * elements, elements)) == 12


@pytest.mark.parametrize("q", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_best_decomposition_moves_what_the_mpi_counterpart_moves(module: Path, q: int) -> None:
    n, steps = 6, 12
    counted = WORD * steps * Words.of(n, q).per_step("owner")  # of the main loop; the prediction has a start
    result = ca.analyze(module, [n, steps], nodes=q**3, regions=["hydro_run"], program_output="discard")
    assert result.best(q**3).communication.total_bytes == pytest.approx(counted, rel=0.10)
