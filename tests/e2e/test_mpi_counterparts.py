"""The MPI counterparts print what the sequential programs print, in every shape of the process grid."""

import shutil

import pytest

from tests.e2e.conftest import MpiProgram, Workload
from tests.e2e.mpi_programs import SCRIPTS, run_mpi

# Sums over processes add in another order: the last of eleven printed digits may differ.
ROUNDING = 1e-9
EXACT = frozenset({"matmul"})

CASES: list[tuple[str, int, str, str]] = [
    ("heat2d", 4, "33 7 copy", "2x2"),
    ("heat2d", 4, "32 5 swap", "4x1"),
    ("heat2d", 6, "20 5 copy", "2x3"),
    ("heat2d", 9, "31 4 copy", ""),
    ("stencil3d", 8, "9 3 copy", "2x2x2"),
    ("stencil3d", 4, "10 3 swap", "4x1x1"),
    ("stencil3d", 4, "9 3 copy", "2x2x1"),
    ("matmul", 4, "21", "2x2"),
    ("matmul", 4, "22", "4x1"),
    ("matmul", 6, "25", "3x2"),
    ("matmul", 9, "30", ""),
    ("spmv", 4, "60 banded 7 5", ""),
    ("spmv", 4, "50 dense 1 3", ""),
    ("spmv", 8, "61 random 7 5", ""),
    ("kmeans", 4, "500 3 4 5", ""),
    ("kmeans", 9, "300 8 5 3", ""),
    ("cg", 4, "12 2d natural 8", "2x2"),
    ("cg", 4, "12 2d permuted 8", "4x1"),
    ("cg", 8, "6 3d permuted 6", "2x2x2"),
    ("adi", 4, "33 4", "2x2"),
    ("adi", 4, "20 3", "4x1"),
    ("adi", 9, "29 2", ""),
    ("pic", 4, "16 4 6 4", "2x2"),
    ("pic", 4, "16 3 12 2", "4x1"),
    ("pic", 9, "15 2 6 3", ""),
    ("pic", 4, "16 4 6 4 0.25", "2x2"),
    ("pic", 4, "16 4 6 4 0.25", ""),
    ("pagerank", 4, "100 smallworld 6 5", ""),
    ("pagerank", 8, "256 kronecker 6 5", ""),
]
NAMES = tuple(dict.fromkeys(name for name, *_ in CASES))

pytestmark = pytest.mark.skipif(
    shutil.which("mpicc", path=str(SCRIPTS)) is None, reason="the mpich wheel is not installed"
)


def is_number(word: str) -> bool:
    return word.lstrip("-")[:1].isdigit() and "e" in word


def compare(found: str, expected: str, rounding: float) -> None:
    """Words must be equal, numbers in scientific notation up to rounding."""
    ours, theirs = found.split(), expected.split()
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if is_number(other):
            assert float(one) == pytest.approx(float(other), rel=rounding)
        else:
            assert one == other


@pytest.mark.parametrize(("name", "processes", "arguments", "shape"), CASES)
def test_prints_what_the_sequential_program_prints(
    workload: Workload, mpi_program: MpiProgram, name: str, processes: int, arguments: str, shape: str
) -> None:
    expected = workload(name, *arguments.split())
    assert expected.status == 0
    found = run_mpi(mpi_program(name), processes, *arguments.split(), *([shape] if shape else []))
    assert (found.status, found.stderr) == (0, "")
    if name in EXACT:
        assert found.stdout == expected.stdout
    compare(found.stdout, expected.stdout, ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_one_process_does_the_same_in_the_same_order(
    workload: Workload, mpi_program: MpiProgram, name: str
) -> None:
    arguments = next(case[2] for case in CASES if case[0] == name).split()
    found = run_mpi(mpi_program(name), 1, *arguments)
    assert (found.status, found.stderr) == (0, "")
    assert found.stdout == workload(name, *arguments).stdout
