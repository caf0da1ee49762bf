"""Sparse programs: rows through pointers, columns without order; volumes by theory."""

from pathlib import Path

from commanalyzer import AnalysisResult, analyze, causes_of
from tests.native import ROOT

FOLDER = Path(__file__).parent / "sparse"


def divided(name: str, args: tuple[int, ...], region: str, nodes: int) -> AnalysisResult:
    return analyze(FOLDER / name, args, nodes=nodes, regions=[region], program_output="discard")


def test_rows_through_pointers_are_divided_like_their_points() -> None:
    """27 neighbours on a cube of 12^3 points, 2x2x2 blocks of 6^3.

    In each product (one before the steps, for the residual) a block sends three faces, three edges and a
    corner; the entries of the matrix stay with their rows. A dot product is combined and sent to all, twice
    an iteration, and three more.
    """
    side, steps, nodes = 12, 4, 8
    half = side // 2
    product = nodes * (3 * half**2 + 3 * half + 1)
    dot = 2 * (nodes - 1)
    best = divided("rows_by_pointer.c", (side, steps), "solve", nodes).best(nodes)
    assert best.imbalance <= 1.031
    assert best.comm_bytes <= 1.03 * 8 * ((steps + 1) * product + (2 * steps + 3) * dot)


def test_entries_go_with_the_rows_of_a_matrix_that_is_numbered_at_random() -> None:
    """Conjugate gradients of 16^2 points in two halves: a line of them each way, two sums there and back."""
    n, steps = 16, 8
    program, words = ROOT / "workloads/cg/cg.c", (n, "2d", "permuted", steps)
    found = analyze(program, words, nodes=2, regions=["cg_solve"], program_output="discard")
    assert found.decomposition(2).comm_bytes <= 8 * (steps * (2 * n + 4) + 2)
    assert (found.singletons, found.vcg_words) == (None, 0)  # not asked for: registers pass values on
    last = {item.variable.name: item.last for item in causes_of(found, 2).variables}
    assert 0 < last["p"] < n * n and last["alpha"] == last["beta"] == 0  # which are no arrays


def test_random_columns_are_divided_better_than_in_order() -> None:
    """Of n rows with d entries at random, (p - 1)(1 - (1 - 1/p)^d) others read each value of x."""
    rows, entries, steps, nodes = 3000, 8, 5, 4
    result = divided("random_rows.c", (rows, entries, steps), "kernel", nodes)
    in_order = 8 * steps * rows * (nodes - 1) * (1 - (1 - 1 / nodes) ** entries)
    best = result.best(nodes)
    assert best.imbalance <= 1.031
    assert 0.3 * in_order < best.comm_bytes < in_order
    assert not any("ended" in warning for warning in result.warnings)
