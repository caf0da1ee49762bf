"""The MPI counterparts send what theory says, to the byte."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from tests.e2e import irregular_models as models
from tests.e2e import theory
from tests.e2e import theory_irregular as irregular
from tests.e2e.command import succeed
from tests.e2e.conftest import MpiProgram
from tests.e2e.mpi_programs import mpi_command

WORD = theory.WORD_BYTES
Count = Callable[[str, int, str], int]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, mpi_program: MpiProgram) -> Count:
    """Bytes that the main loop of an MPI counterpart sends."""
    folder = tmp_path_factory.mktemp("mpi")

    def count(name: str, processes: int, arguments: str) -> int:
        command = mpi_command(mpi_program(name), processes, *arguments.split())
        document = folder / "counted.json"
        succeed(folder, "count", "--json", document, "--force", "--quiet", "--", *command)
        decompositions = json.loads(document.read_text(encoding="utf-8"))["decompositions"]
        (whole,) = [item for item in decompositions if item["best"]]
        return int(whole["comm_bytes"])

    return count


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 1), (1, 4), (3, 3)])
def test_heat2d(counted: Count, rows: int, columns: int) -> None:
    expected = WORD * 5 * theory.heat2d_words_per_step(31, rows, columns)
    assert counted("heat2d", rows * columns, f"31 5 copy {rows}x{columns}") == expected


@pytest.mark.parametrize("parts", [(2, 2, 2), (2, 2, 1), (4, 1, 1)])
def test_stencil3d(counted: Count, parts: tuple[int, int, int]) -> None:
    expected = WORD * 3 * theory.stencil3d_words_per_step(9, *parts)
    shape = "x".join(map(str, parts))
    assert counted("stencil3d", int(np.prod(parts)), f"9 3 copy {shape}") == expected


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 1), (3, 2)])
def test_matmul(counted: Count, rows: int, columns: int) -> None:
    expected = WORD * theory.matmul_words(25, rows, columns)
    assert counted("matmul", rows * columns, f"25 {rows}x{columns}") == expected


def test_spmv(counted: Count) -> None:
    # row blocks: all of x to the other three
    assert counted("spmv", 4, "64 dense 1 3") == WORD * 3 * 64 * 3
    assert counted("spmv", 4, "64 banded 9 3") == WORD * 3 * theory.spmv_banded_words(64, 4, 4)


def test_kmeans(counted: Count) -> None:
    assert counted("kmeans", 4, "500 3 4 5") == theory.kmeans_bytes(3, 4, 5, 4)


@pytest.mark.parametrize(("arguments", "n", "parts"), [("12 2d", 12, (2, 2)), ("6 3d", 6, (2, 2, 2))])
@pytest.mark.parametrize("order", ["natural", "permuted"])
def test_cg(counted: Count, arguments: str, n: int, parts: tuple[int, ...], order: str) -> None:
    p = int(np.prod(parts))
    expected = irregular.cg_words(irregular.cg_halo(n, parts), 6, p)
    assert counted("cg", p, f"{arguments} {order} 6 {'x'.join(map(str, parts))}") == WORD * expected


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 1), (3, 3)])
def test_adi(counted: Count, rows: int, columns: int) -> None:
    expected = WORD * irregular.adi_words(21, 3, rows, columns)
    assert counted("adi", rows * columns, f"21 3 {rows}x{columns}") == expected


@pytest.mark.parametrize("q", [2, 3])
def test_pic(counted: Count, q: int) -> None:
    n, per_cell, steps, sweeps = 12, 3, 6, 2
    blocks = models.square_blocks(n, q)
    corners = models.particles_in_cells(n, per_cell, steps, sweeps).corners
    owners = np.array([blocks[c[:, 0]] for c in corners])
    foreign = sum(models.foreign_points(c, blocks, o) for c, o in zip(corners, owners, strict=True))
    moves = int(np.count_nonzero(owners[1:] != owners[:-1]))
    words = irregular.pic_potential_words(n, q, sweeps, steps) + irregular.pic_migrating_words(foreign, moves)
    # Grid points of the layer are exchanged whether a particle is there or not.
    idle = 3 * (steps * (2 * n * q + q * q) - foreign)
    assert counted("pic", q * q, f"{n} {per_cell} {steps} {sweeps} {q}x{q}") == WORD * (words + idle)


@pytest.mark.parametrize("graph", ["smallworld", "kronecker"])
def test_pagerank(counted: Count, graph: str) -> None:
    blocks = np.arange(256) * 4 // 256
    remote = models.remote_readers(blocks, *models.edges(256, graph, 6))
    assert counted("pagerank", 4, f"256 {graph} 6 5") == WORD * irregular.pagerank_words(remote, 5, 4)
