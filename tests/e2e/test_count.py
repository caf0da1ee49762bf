"""Counted bytes of small MPI programs against hand-worked numbers, with every MPI library that is there."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e.command import Done, commanalyzer, leftovers
from tests.e2e.mpi.build import SOURCES, Mpi, open_mpi, wheel

Matrix = NDArray[np.int64]
Made = Callable[[], Matrix]
P = 3
FOUND = [wheel(), open_mpi()]


@pytest.fixture(scope="module", params=FOUND, ids=lambda mpi: mpi.name if mpi else "openmpi")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    found = request.param
    if not isinstance(found, Mpi):
        pytest.skip("no Open MPI here")
    return found


@pytest.fixture(scope="module")
def programs(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(mpi.name)
    for name in ("families", "regions", "functions"):
        mpi.compile(SOURCES / f"{name}.c", folder / name)
    return folder


def count(folder: Path, mpi: Mpi, ranks: int, *words: object, options: tuple[str, ...] = ()) -> Done:
    command = (mpi.launcher, "-n", str(ranks), *words)
    return commanalyzer(folder, "count", *options, "--", *command, extra=mpi.environment)


def document(done: Done) -> dict[str, Any]:
    assert done.status == 0, done.err
    loaded: dict[str, Any] = json.loads(done.out)
    return loaded


def counted_family(mpi: Mpi, programs: Path, family: str) -> dict[str, Any]:
    return document(count(programs, mpi, P, programs / "families", family, options=("--json", "-")))


def matrix_of(found: dict[str, Any], method: str = "whole run") -> Matrix:
    (item,) = [i for i in found["decompositions"] if i["method"] == method]
    return np.array(item["comm_matrix"], dtype=np.int64)


def calls_of(found: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Name of each call -> calls, charged bytes, bytes to itself."""
    numbers = ("operations", "charged_bytes", "self_bytes")
    return {call["name"]: tuple(call[n] for n in numbers) for call in found["counted"]["calls"]}


def empty() -> Matrix:
    return np.zeros((P, P), dtype=np.int64)


def ring(amount: int) -> Matrix:
    """Every rank sends ``amount`` to the next."""
    found = empty()
    found[np.arange(P), (np.arange(P) + 1) % P] = amount
    return found


def everywhere(amounts: object) -> Matrix:
    """Every rank sends ``amounts`` (one, per row, or per column) to every other."""
    found = empty() + np.asarray(amounts, dtype=np.int64)
    np.fill_diagonal(found, 0)
    return found


def star(root: int, up: int, down: int) -> Matrix:
    found = empty()
    found[:, root] += up
    found[root, :] += down
    found[root, root] = 0
    return found


def chain(amount: int) -> Matrix:
    found = empty()
    found[np.arange(P - 1), np.arange(1, P)] = amount
    return found


SIZES = np.arange(1, P + 1)  # of the blocks in calls with varying counts


def _rooted() -> Matrix:
    found = star(1, up=24, down=24) + star(0, up=8, down=8)
    found[:2, 2] += SIZES[:2]  # MPI_Gatherv to rank 2
    found[2, :2] += SIZES[:2]  # MPI_Scatterv from rank 2
    return found


def _unrooted() -> Matrix:
    moved = everywhere(8) + everywhere(SIZES[:, None]) + everywhere(8)  # allgather, allgatherv, alltoall
    reduced = everywhere(16) + everywhere(8 * SIZES[None, :])  # reduce_scatter_block, reduce_scatter
    found: Matrix = star(0, 24, 24) + moved + reduced + chain(48) + star(0, 8, 8)
    return found


def _communicators() -> Matrix:
    found = empty()
    found[2, 1] = 24  # rank 0 -> 1 of the reversed communicator
    found[2, :2] += 8  # its rank 0 broadcasts
    return found


EXPECTED: dict[str, Made] = {
    "sends": lambda: ring(8 * 24),
    "persistent": lambda: ring(6 * 12),
    "exchange": lambda: chain(32) + ring(8),
    "communicators": _communicators,
    # put 8 + 16, accumulate 32, get_accumulate 8, compare_and_swap 16; back: get 24, fetches 8 + 8 + 8
    "one_sided": lambda: ring(80) + ring(48).T,
    "rooted": _rooted,
    "unrooted": _unrooted,
    "irregular": lambda: 2 * np.triu(everywhere(SIZES[:, None])),
    "neighbours": lambda: chain(24) + chain(24).T + ring(8),
}


@pytest.mark.parametrize("family", EXPECTED)
def test_every_family_of_calls_is_counted_exactly(mpi: Mpi, programs: Path, family: str) -> None:
    done = count(programs, mpi, P, programs / "families", family, options=("--json", "-"))
    found = document(done)
    assert matrix_of(found).tolist() == EXPECTED[family]().tolist()
    assert f"{family} done on {P} ranks" in done.err  # the program's own output
    assert found["counted"]["ranks"] == P


def test_calls_of_mpi_4_are_counted_exactly(mpi: Mpi, programs: Path) -> None:
    if mpi.name != "mpich":
        pytest.skip("this Open MPI implements MPI 3.1")
    found = counted_family(mpi, programs, "modern")
    # exchanges of 24 and 8 bytes, 4 partitions of 16 bytes in one message; three allreduces of 16 bytes
    expected = ring(24 + 8 + 64) + everywhere(SIZES[:, None]) + star(0, 48, 48)
    assert matrix_of(found).tolist() == expected.tolist()
    assert calls_of(found)["MPI_Allreduce_init"] == (3, 3 * 64, 0)
    assert calls_of(found)["MPI_Psend_init"] == (3, 3 * 64, 0)


def test_calls_between_groups_are_counted_or_reported(mpi: Mpi, programs: Path) -> None:
    found = counted_family(mpi, programs, "groups")
    assert matrix_of(found).tolist() == [[0, 0, 24], [0, 0, 0], [0, 0, 0]]
    assert found["warnings"] == ["24 B to or from another group of processes belong to no pair of ranks"]


def test_calls_are_listed_with_their_self_sends(mpi: Mpi, programs: Path) -> None:
    found = counted_family(mpi, programs, "exchange")
    assert calls_of(found) == {"MPI_Sendrecv": (6, 64, 120), "MPI_Sendrecv_replace": (3, 24, 0)}
    assert found["warnings"] == ["120 B sent by ranks to themselves are not communication"]


def test_collectives_are_listed_once_with_root_and_communicator(mpi: Mpi, programs: Path) -> None:
    found = counted_family(mpi, programs, "communicators")
    (broadcast,) = [call for call in found["counted"]["calls"] if call["name"] == "MPI_Bcast"]
    assert (broadcast["operations"], broadcast["root"], broadcast["communicator"]) == (1, 2, "3 ranks 2,1,0")
    assert (broadcast["given_bytes"], broadcast["charged_bytes"]) == (24, 16)


def test_messages_are_counted_per_pair(mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    saved = tmp_path / "sends.cmz"
    assert count(programs, mpi, P, programs / "families", "sends", options=("-o", str(saved))).status == 0
    shown = commanalyzer(tmp_path, "matrix", saved, "--format", "csv", "--messages")
    assert shown.out.split() == ["0,8,0", "0,0,8", "8,0,0"]


def test_marked_regions_have_matrices_of_their_own(mpi: Mpi, programs: Path) -> None:
    options = ("--json", "-", "--region", "loop")
    found = document(count(programs, mpi, P, programs / "regions", options=options))
    assert matrix_of(found, "region norm").tolist() == star(0, 80, 80).tolist()
    assert matrix_of(found, "region loop").tolist() == star(0, 160 + 80, 80).tolist()
    assert matrix_of(found, "whole run").tolist() == star(0, 160 + 80, 800 + 80).tolist()
    assert [item["method"] for item in found["decompositions"] if item["best"]] == ["region loop"]
    # MPI_Bcast of 7 doubles to 2 ranks while profiling is off
    assert found["warnings"] == ["112 B sent while MPI_Pcontrol(0) held are left out"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("exchange", lambda: ring(3 * 8 * 5 + 8 * 7)),  # called three times, and by rounds
        ("rounds", lambda: ring(8 * 7)),
        ("norm", lambda: star(0, 8, 8)),  # norm_ of Fortran
    ],
)
def test_functions_are_regions(mpi: Mpi, programs: Path, function: str, expected: Made) -> None:
    options = ("--json", "-", "--region", function)
    found = document(count(programs, mpi, P, programs / "functions", options=options))
    assert matrix_of(found, f"region {function}").tolist() == expected().tolist()
    assert matrix_of(found).tolist() == (ring(3 * 8 * 5 + 8 * 7 + 8) + star(0, 8, 8)).tolist()


def test_the_exit_status_is_reported(mpi: Mpi, programs: Path) -> None:
    found = document(count(programs, mpi, 2, programs / "regions", "7", options=("--json", "-")))
    assert found["recording"]["exit_status"] == 7


def test_what_an_abort_hides_is_reported(mpi: Mpi, programs: Path) -> None:
    found = document(count(programs, mpi, 2, programs / "regions", "abort", options=("--json", "-")))
    assert "rank 0 called MPI_Abort: counts end there" in found["warnings"]
    assert "no counts from rank 1: what they charge is missing" in found["warnings"]


def test_fortran_entry_points_are_counted(mpi: Mpi, tmp_path: Path) -> None:
    if mpi.name != "openmpi":
        pytest.skip("the MPICH wheel has no Fortran library")
    program = mpi.compile(SOURCES / "fortran_symbols.c", tmp_path / "fortran", "-lmpi_mpifh")
    found = document(count(tmp_path, mpi, 2, program, options=("--json", "-")))
    assert matrix_of(found).tolist() == [[0, 88], [0, 0]]
    assert calls_of(found) == {"MPI_Send": (1, 80, 0), "MPI_Bcast": (1, 8, 0)}


def test_mpi4py_programs_are_counted(mpi: Mpi, tmp_path: Path) -> None:
    script = SOURCES / "buffers.py"
    found = document(count(tmp_path, mpi, P, sys.executable, script, options=("--json", "-")))
    assert matrix_of(found).tolist() == (ring(80) + star(0, 80, 80)).tolist()
    assert found["program"] == Path(sys.executable).name


def test_a_counted_result_is_shown_and_exported(mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    saved = tmp_path / "unrooted.cmz"
    assert count(programs, mpi, P, programs / "families", "unrooted", options=("-o", str(saved))).status == 0
    shown = commanalyzer(tmp_path, "show", saved)
    assert "MPI_Allreduce" in shown.out and "524" in shown.out
    exported = commanalyzer(tmp_path, "export", saved, "--format", "csv", "-o", "matrix.csv")
    assert exported.status == 0
    exported_rows = np.loadtxt(tmp_path / "matrix.csv", delimiter=",", skiprows=1, dtype=np.int64)
    rebuilt = empty()
    rebuilt[exported_rows[:, 0], exported_rows[:, 1]] = exported_rows[:, 2]
    assert rebuilt.tolist() == EXPECTED["unrooted"]().tolist()
    for form in ("matrixmarket", "graphml", "extrap", "json"):
        assert commanalyzer(tmp_path, "export", saved, "--format", form, "-o", f"out.{form}").status == 0
    refused = commanalyzer(tmp_path, "export", saved, "--format", "metis", "-o", "out.graph")
    assert refused.status == 1 and "it has no value graph" in refused.err
    assert commanalyzer(tmp_path, "partition", saved, "--nodes", "2").status == 1


def test_every_part_of_a_command_with_several_programs_is_counted(mpi: Mpi, programs: Path) -> None:
    other = ("-n", "2", programs / "families", "persistent")
    done = count(programs, mpi, 1, programs / "families", "persistent", ":", *other, options=("--json", "-"))
    assert matrix_of(document(done)).tolist() == ring(6 * 12).tolist()


def test_children_of_a_rank_report_nothing(mpi: Mpi, programs: Path) -> None:
    found = document(count(programs, mpi, 2, programs / "regions", "fork", options=("--json", "-")))
    assert matrix_of(found, "region norm").tolist() == [[0, 80], [80, 0]]


def test_a_program_without_mpi_is_told_so(mpi: Mpi, tmp_path: Path) -> None:
    done = count(tmp_path, mpi, 2, "true")
    assert done.status == 3
    assert "expected counts from every rank, found none (exit status 0)" in done.err
    assert leftovers(tmp_path) == []


def test_a_missing_launcher_is_told_so(tmp_path: Path) -> None:
    done = commanalyzer(tmp_path, "count", "--", "no-such-mpiexec", "-n", "2", "true")
    assert done.status == 1
    assert "expected a launcher, found no program 'no-such-mpiexec'" in done.err
