"""Arrays are told apart by the calls that allocate them, and bear the names that the source gives them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.vcg.graph import HomeKind, ValueGraph
from tests.property.test_flows import check
from tests.recorded import record_file

PROGRAMS = Path(__file__).parent / "objects"
FLANGS = ("flang-new-19", "flang-19", "flang")
N = 20
VECTOR = 8 * N


def declared(name: str, text: str) -> int:
    """Line of a program on which ``text`` stands first."""
    lines = (PROGRAMS / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def arrays(graph: ValueGraph) -> dict[str, tuple[str, int, int]]:
    """Function, line and bytes of the heap objects with at least ten values, by their names."""
    values = np.bincount(graph.home_object, minlength=len(graph.objects))
    found = [
        item
        for item, count in zip(graph.objects, values.tolist(), strict=True)
        if item.kind is HomeKind.HEAP and count >= 10
    ]
    assert len({item.name for item in found}) == len(found), "names tell arrays apart"
    return {item.name: (item.function, item.line, item.size_bytes) for item in found}


def test_arrays_from_allocators_of_a_c_program() -> None:
    """Wrappers of wrappers, out-parameters, structures, recursion, a function pointer, loops, time steps."""
    recorded = record_file(PROGRAMS / "wrappers.c")
    check("wrappers.c", recorded)
    plain, lined, taken, retried, struct, states = (
        declared("wrappers.c", text)
        for text in ("*plain", "*lined", "double *taken", "*retried", "struct mesh local", "*first = new")
    )
    scratch = declared("wrappers.c", "double *scratch")
    shared, mesh = declared("wrappers.c", "double *shared"), declared("wrappers.c", "struct mesh global_mesh")
    assert arrays(recorded.graph) == {
        "plain": ("main", plain, VECTOR),
        "other": ("main", plain, 2 * VECTOR),
        "lined": ("main", lined, VECTOR),
        "taken": ("main", taken, VECTOR),
        "retried": ("main", retried, VECTOR),
        "local.x": ("main", struct, VECTOR),
        "local.y": ("main", struct, VECTOR),
        "returned.x": ("main", struct, VECTOR),
        "returned.y": ("main", struct, VECTOR),
        "first.mesh.x": ("main", states, VECTOR),
        "first.mesh.y": ("main", states, VECTOR),
        "first.energy": ("main", states, 2 * VECTOR),
        "second.mesh.x": ("main", states, VECTOR),
        "second.mesh.y": ("main", states, VECTOR),
        "second.energy": ("main", states, 2 * VECTOR),
        "shared": ("setup", shared, VECTOR),
        "global_mesh.x": ("setup", mesh, VECTOR),
        "global_mesh.y": ("setup", mesh, VECTOR),
        "indirect": ("main", declared("wrappers.c", "double *indirect"), VECTOR),
        "rows": ("main", declared("wrappers.c", "double **rows"), N * (VECTOR + 16) - 16),
        **{f"field[{k}]": ("main", declared("wrappers.c", "*field[3]"), VECTOR) for k in range(3)},
        # allocated again in every time step, to the same places
        "scratch": ("main", scratch, VECTOR),
        "next": ("main", scratch, VECTOR),
        **{f"stage[{k}]": ("main", declared("wrappers.c", "*stage[2]"), VECTOR) for k in range(2)},
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "domain.cpp",
            {
                "domain.m_x": ("Domain *domain", VECTOR + 8),
                "domain.m_force": ("Domain *domain", VECTOR + 8),
                "domain.m_gradient": ("Domain *domain", VECTOR),
                "stress": ("double *stress", VECTOR),
            },
        ),
        (
            "containers.cpp",
            {
                "solver.mesh.x": ("Solver solver", 2 * VECTOR),
                "solver.mesh.y": ("Solver solver", 2 * VECTOR),
                "solver.pressure": ("Solver solver", VECTOR),
                "solver.raw": ("Solver solver", VECTOR),
                "solver.owned": ("Solver solver", VECTOR),
                "other.mesh.x": ("auto *other", VECTOR),
                "other.mesh.y": ("auto *other", VECTOR),
                "other.pressure": ("auto *other", VECTOR),
                "other.raw": ("auto *other", VECTOR),
                "other.owned": ("auto *other", VECTOR),
                "local": ("> local(n)", VECTOR),
                "smart": ("auto smart", VECTOR),
                "rows": ("> rows(n", N * (VECTOR + 16) - 16),
            },
        ),
        (
            "fields.cpp",
            {
                "made.temperature.m_data": ("auto made", N * VECTOR),
                "made.density": ("auto made", VECTOR),
                "made.velocity[0]": ("auto made", VECTOR),
                "made.velocity[1]": ("auto made", VECTOR),
                "weights": ("> weights", VECTOR),
                "table": ("> weights", 2 * VECTOR),
                "particles": ("> particles", 2 * VECTOR),
            },
        ),
    ],
)
def test_members_and_containers_of_cplusplus_programs(
    name: str, expected: dict[str, tuple[str, int]]
) -> None:
    result = ca.analyze(PROGRAMS / name, args=[str(N)], nodes=[2], program_output="discard")
    found = {key: (line, size) for key, (_, line, size) in arrays(result.graph).items()}
    pushed = found.pop("pushed", None)
    if name == "containers.cpp":  # its elements live where they were pushed: blocks of 1, 2, 4, ... elements
        assert pushed is not None and pushed[0] == declared(name, "> pushed")
    assert found == {key: (declared(name, text), size) for key, (text, size) in expected.items()}


def test_allocatables_of_a_fortran_program() -> None:
    flang = next((name for name in FLANGS if shutil.which(name)), None)
    if flang is None:
        pytest.skip("no flang")
    name = "allocatables.f90"
    result = ca.analyze(PROGRAMS / name, args=[str(N)], nodes=[2], fc=flang, program_output="discard")
    found = {key: (line, size) for key, (_, line, size) in arrays(result.graph).items()}
    assert found == {
        "fields::u": (declared(name, "u(:,:)"), N * VECTOR),
        "fields::v": (declared(name, "v(:,:)"), (N + 1) * VECTOR),
        "fields::edge": (declared(name, ":: edge"), VECTOR + 8),  # its size stands behind a pointer's array
        "fields::coarse%p": (declared(name, ":: coarse"), VECTOR),
        "fields::coarse%q": (declared(name, ":: coarse"), 2 * VECTOR),
        "fine%p": (declared(name, ":: fine"), VECTOR),
        "fine%q": (declared(name, ":: fine"), 2 * VECTOR),
        "w": (declared(name, ":: w(:)"), VECTOR),
        "z": (declared(name, ":: w(:)"), 2 * VECTOR),
        "scratch": (declared(name, "allocate(scratch"), VECTOR),  # flang 19 loses its declaration
    }


def test_a_division_names_an_array_by_its_member(tmp_path: Path) -> None:
    """``m_x`` is enough where only one object has such a member; a full name goes before that."""
    result = ca.analyze(
        PROGRAMS / "domain.cpp",
        args=[str(N)],
        nodes=[2],
        decompose=["m_x=block:2", "domain.m_force=block:2"],
        program_output="discard",
    )
    assert any("m_x=block:2" in d.method for d in result.decompositions)
