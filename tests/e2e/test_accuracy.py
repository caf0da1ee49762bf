"""``python -m bench.accuracy``: a quick part of the table, and the counts in its data file."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from bench.accuracy import run
from bench.accuracy.__main__ import main
from bench.accuracy.cases import CASES_FILE, CaseProgram, read_cases
from bench.accuracy.run import build_mpi
from commanalyzer.foundation.progress import SilentProgress
from tests.e2e import irregular_models as models
from tests.e2e import theory
from tests.native import ROOT

WORD = theory.WORD_BYTES


def entry(name: str) -> CaseProgram:
    return next(item for item in read_cases(CASES_FILE) if item.name == name)


@pytest.mark.parametrize(
    ("name", "nodes", "expected"),
    [
        ("heat2d", 4, WORD * 5 * theory.heat2d_words_per_step(48, 2, 2)),
        ("spmv", 4, WORD * 10 * theory.spmv_banded_words(512, 4, 4)),
        ("kmeans", 4, theory.kmeans_bytes(4, 5, 5, 4)),
    ],
)
def test_counted_bytes_and_those_predicted_at_the_same_blocks_are_those_of_theory(
    name: str, nodes: int, expected: int
) -> None:
    (row,) = run.validate([entry(name)], run.CaseSelection((name,), (nodes,), quick=True), SilentProgress())
    assert isinstance(row, run.CaseRow)
    assert row.counted_bytes == expected
    assert row.own is not None
    assert row.own.predicted_bytes == expected
    assert row.own_accuracy == 1.0
    assert row.least_bytes <= row.predicted_bytes <= 1.1 * expected
    assert row.predicted_bytes <= row.high_bytes


def test_hydro3d_is_read_as_its_mpi_program_divides_it(tmp_path: Path) -> None:
    """Forces of nodes are set to zero and summed twice, and yet arrays."""
    (workload, _), nodes = [item for item in read_cases(CASES_FILE) if item.name == "hydro3d"], 8
    arguments = workload.sizes[0]
    build_mpi(workload.mpi_sources, tmp_path / "mpi", workload.flags)
    counted = run.counted_run(workload, arguments, nodes, tmp_path / "mpi").decomposition(nodes)
    replay = run.own_replay(workload, run.request_for(workload, arguments, (nodes,)))
    own = run.own_decomposition(workload, arguments, nodes, replay, counted.communication.comm_bytes)
    assert own is not None
    assert own.predicted_bytes - own.excess("predicted") == counted.comm_bytes > 0


def test_the_command_writes_markdown(tmp_path: Path) -> None:
    assert main(["--workloads", "fem2d", "--quick", "-o", str(tmp_path / "ACCURACY.md")]) == 0
    markdown = (tmp_path / "ACCURACY.md").read_text(encoding="utf-8")
    line = next(x for x in markdown.splitlines() if x.startswith("| fem2d | 16 5 permuted | 2x2 | 4 |"))
    # 2 D words per step, D = (N + q)^2 - (N + 1)^2, and what the data file says beside them.
    counted, once = WORD * 5 * 2 * 35, WORD * 2 * 35 + 4 * 3
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[4:6] == [f"{counted:,}"] * 2
    assert (cells[6], cells[8]) == (f"{counted + once:,}", f"{counted:,}")
    assert cells[9:11] == ["0", "100.0 %"]


def test_a_case_that_fails_is_named_and_does_not_end_the_others(tmp_path: Path) -> None:
    text = CASES_FILE.read_text(encoding="utf-8")
    start = text.index('[[workload]]\nname = "spmv"')
    block = text[start : text.index("[[workload]]", start + 1)].replace(
        '"512 banded 9 10", "128 dense 1 5", "512 random 8 10"', '"512 diagonal 9 10", "64 banded 3 2"'
    )
    cases = tmp_path / "cases.toml"
    cases.write_text(block.replace('["spmv/', f'["{ROOT}/workloads/spmv/'), encoding="utf-8")
    assert main(["--nodes", "4", "--cases", str(cases), "-o", str(tmp_path / "out.md")]) == 0
    document = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "## Not compared" in document
    assert "* **spmv** 512 diagonal 9 10: " in document
    assert "| spmv | 64 banded 3 2 | 4 |" in document


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workloads", "heat3d"], "expected workloads of"),
        (["--workloads", "cg, heat3d"], "found heat3d"),
        (["--nodes", "3"], "none that fits"),
        (["--jobs", "0"], "expected --jobs of 1 or more, found 0"),
        (["--cases", "none.toml"], "name the file with --cases"),
        (["-o", "none/ACCURACY.md"], "expected an existing directory"),
    ],
)
def test_wrong_options_end_with_one_message(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 1
    assert message in capsys.readouterr().err


def least_words(owner: np.ndarray, origin: np.ndarray, target: np.ndarray) -> tuple[int, int]:
    """Shares that ranks pull per iteration, and the least words if shares may also be summed up.

    Between two ranks every edge needs its share sent or its target's sum sent: a minimum vertex cover, which
    has the size of a maximum matching (Koenig).
    """
    n, parts = len(owner), int(owner.max()) + 1
    pulled = least = 0
    for a, b in ((a, b) for a in range(parts) for b in range(parts) if a != b):
        mine = (owner[origin] == a) & (owner[target] == b)
        edges = csr_array((np.ones(int(mine.sum())), (origin[mine], target[mine])), shape=(n, n))
        edges.sum_duplicates()
        pulled += len(np.unique(origin[mine]))
        least += int((maximum_bipartite_matching(edges, perm_type="column") >= 0).sum())
    return pulled, least


def test_shares_that_could_be_summed_up_are_counted_right() -> None:
    workload = entry("pagerank")
    for n, graph, degree, iterations in workload.sizes:
        for p in (p for p in workload.grids if p <= 16):
            size = int(n)
            begin = size * np.arange(1, p + 1) // p
            owner = np.searchsorted(begin, np.arange(size), side="right")
            pulled, least = least_words(owner, *models.edges(size, graph, int(degree)))
            found = workload.excess_bytes((n, graph, degree, iterations), p)
            assert list(found.values()) == [WORD * int(iterations) * (pulled - least)]


@pytest.mark.parametrize("q", [2, 4])
def test_particles_that_stay_are_counted_right(q: int) -> None:
    workload = entry("pic")
    n, per_cell, steps, sweeps = map(int, workload.sizes[0])
    corners = models.particles_in_cells(n, per_cell, steps, sweeps).corners
    blocks = models.square_blocks(n, q)
    owner = np.array([blocks[points[:, 0]] for points in corners])
    stay = sum(models.foreign_points(points, blocks, owner[0]) for points in corners)
    change = sum(models.foreign_points(c, blocks, o) for c, o in zip(corners, owner, strict=True))
    moves = int(np.count_nonzero(owner[1:] != owner[:-1]))
    # The program exchanges the whole layer in each step, touched or not.
    assert change <= steps * (2 * n * q + q * q)
    found = {item.name: amount for item, amount in workload.excess_bytes(workload.sizes[0], q * q).items()}
    layer = steps * (2 * n * q + q * q)
    assert found["particles that stay"] == WORD * (3 * stay - 3 * layer - 4 * moves)
