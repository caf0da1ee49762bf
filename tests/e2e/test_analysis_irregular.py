"""Communication, work and growth of the irregular workloads against theory.

Two questions are kept apart: whether a given decomposition is counted right (exact, at the blocks that the
theory is about), and whether the found one is as good as those blocks (within 10 %).
"""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import commanalyzer as ca
from commanalyzer.communication.volume import charge_volume
from commanalyzer.graph.contraction.simplify import simplified
from commanalyzer.graph.structure.hubs import find_hubs
from commanalyzer.graph.value_graph import HomeKind
from tests.e2e import irregular_models as models
from tests.e2e import theory_irregular as theory
from tests.e2e.conftest import Analyse
from tests.e2e.owner_maps import owners_of_values

Ints = NDArray[np.int64]
Workload = tuple[str | int, ...]
WORD = 8
TOLERANCE = 0.10
HIGH = 0.9

CG_ARRAYS = ("row_start", "column", "value", "unknown_of", "point_of", "x", "r", "p", "q")
PAGERANK_ARRAYS = ("source", "row_start", "out_degree", "next", "rank", "share")


def heap_objects(result: ca.AnalysisResult, names: Sequence[str]) -> dict[str, int]:
    """Numbers of the heap objects, named in the order in which they are allocated."""
    numbers = [i for i, o in enumerate(result.graph.objects) if o.kind == HomeKind.HEAP]
    assert len(numbers) == len(names)
    return dict(zip(names, numbers, strict=False))


def bytes_per_object(result: ca.AnalysisResult, arrays: dict[int, Ints], parts: int) -> Ints:
    """Bytes int64[objects] that are communicated where the elements of some arrays have given owners."""
    graph = result.graph
    owner = owners_of_values(graph, arrays, parts)
    graph = simplified(graph)
    charges = charge_volume(graph, owner, parts, find_hubs(graph, HIGH))
    found = charges.exchanges(graph, owner).bytes_per_object()
    assert found.sum() == charges.communication(graph, owner).total_bytes
    return found


# --- cg ---------------------------------------------------------------------------------------------------

CG = (32, "2d", "natural")


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("rounds", [5, 10])
def test_cg_in_square_blocks_moves_the_halo_and_four_scalars(main_loop: Analyse, q: int, rounds: int) -> None:
    result = main_loop("cg", *CG, rounds)
    number = heap_objects(result, CG_ARRAYS)
    blocks = models.square_blocks(CG[0], q)
    found = bytes_per_object(result, {number[name]: blocks for name in "xrpq"}, q * q)
    expected = WORD * theory.cg_words(theory.cg_halo(CG[0], (q, q)), rounds, q * q)
    assert found.sum() == expected


@pytest.mark.parametrize("q", [2, 4])
def test_cg_moves_what_square_blocks_move(main_loop: Analyse, q: int) -> None:
    best = main_loop("cg", *CG, 10).best(q * q)
    expected = WORD * theory.cg_words(theory.cg_halo(CG[0], (q, q)), 10, q * q)
    assert best.comm_bytes == pytest.approx(expected, rel=TOLERANCE)
    assert best.imbalance <= 1.04


def test_cg_work(main_loop: Analyse) -> None:
    entries = theory.cg_entries(32, 2)
    assert main_loop("cg", *CG, 10).work.flops == theory.cg_flops(1024, entries, 10)


# --- pagerank ---------------------------------------------------------------------------------------------

N, DEGREE = 1024, 8


def pagerank_blocks(graph: str, parts: int, iterations: int) -> int:
    """Bytes of blocks of consecutive vertices, every share sent where it is read."""
    owner = np.arange(N) * parts // N
    remote = models.remote_readers(owner, *models.edges(N, graph, DEGREE))
    return WORD * theory.pagerank_words(remote, iterations, parts)


def test_small_world_pagerank_moves_what_ring_blocks_move(main_loop: Analyse) -> None:
    result = main_loop("pagerank", N, "smallworld", DEGREE, 10)
    # An edge is one flow; a vertex has a few more (its rank, its share, its sum, the row's ends).
    assert DEGREE * N < result.graph.num_flows <= DEGREE * N + 8 * N
    best = result.best(4)
    blocks = pagerank_blocks("smallworld", 4, 10)
    assert 0.8 * blocks < best.comm_bytes <= (1 + TOLERANCE) * blocks
    assert best.imbalance <= 1.04


@pytest.mark.parametrize("graph", ["smallworld", "kronecker"])
def test_pagerank_in_blocks_sends_no_more_than_every_share_once(main_loop: Analyse, graph: str) -> None:
    result = main_loop("pagerank", N, graph, DEGREE, 10)
    number = heap_objects(result, PAGERANK_ARRAYS)
    blocks = np.arange(N) * 4 // N
    found = bytes_per_object(result, {number["rank"]: blocks, number["share"]: blocks}, 4)
    expected = pagerank_blocks(graph, 4, 10)
    assert 0.7 * expected < found.sum() - found[number["row_start"]] <= expected


def test_kronecker_pagerank_is_divided_better_than_in_blocks(main_loop: Analyse) -> None:
    best = main_loop("pagerank", N, "kronecker", DEGREE, 10).best(4)
    assert best.comm_bytes < 0.8 * pagerank_blocks("kronecker", 4, 10)


# --- growth -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", [("cg", *CG), ("pagerank", N, "smallworld", DEGREE)])
def test_twice_the_iterations_make_the_same_graph(main_loop: Analyse, workload: Workload) -> None:
    # Arguments as long as each other: the words of memory that their texts take are inputs, too.
    few, many = (main_loop(*workload, count).graph for count in ("05", "10"))
    assert (few.num_vertices, few.num_rows) == (many.num_vertices, many.num_rows)
    assert np.array_equal(few.rows.source, many.rows.source)
    computed = few.rows.row_count.sum()
    # What happens once (before the loop and in its first iteration) is less than an iteration.
    assert 0 <= 2 * computed - many.rows.row_count.sum() < computed / 5
