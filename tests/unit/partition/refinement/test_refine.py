"""Refinement, placement and balance on hypergraphs whose best division is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commanalyzer.errors import PartitionError
from commanalyzer.partition.libraries.hypergraph import Hypergraph
from commanalyzer.partition.refinement.refine import connectivity, incidence, most_work, refine
from commanalyzer.vcg.graph import Int32
from commanalyzer.vcg.structure.segments import pointer_from_counts
from tests.reference import moves


def hypergraph(nets: list[list[int]], weights: list[int], work: list[float]) -> Hypergraph:
    lengths = np.array([len(n) for n in nets], dtype=np.int64)
    pins = np.array([v for n in nets for v in n], dtype=np.int64)
    return Hypergraph(pointer_from_counts(lengths), pins, np.array(weights), np.array(work))


def path(n: int) -> Hypergraph:
    """Vertices in a row, each net joins two neighbours and weighs 8."""
    return hypergraph([[i, i + 1] for i in range(n - 1)], [8] * (n - 1), [1.0] * n)


def test_connectivity_counts_the_parts_of_each_net() -> None:
    h = hypergraph([[0, 1, 2], [2, 3]], [5, 7], [1.0] * 4)
    assert connectivity(h, np.array([0, 1, 2, 2], dtype=np.int32), 3) == 2 * 5
    assert connectivity(h, np.array([0, 0, 0, 1], dtype=np.int32), 2) == 7


def test_an_interleaved_path_is_cut_once() -> None:
    h = path(8)
    start = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=np.int32)
    part = refine(h, incidence(h), start, 2, imbalance=0.3)
    assert connectivity(h, part, 2) == 8
    assert np.bincount(part).max() <= 5


def test_no_pass_is_made_where_the_aim_is_out_of_reach() -> None:
    # 24 bytes: an aim of 6 is within four times, one of 5 is not.
    h = path(8)
    start = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=np.int32)
    given = h, incidence(h), start, 2
    assert connectivity(h, refine(*given, imbalance=0.3, hopeless_bytes=6), 2) == 8
    assert refine(*given, imbalance=0.3, hopeless_bytes=5).tolist() == start.tolist()


def test_free_vertices_follow_the_fixed_ones_with_most_bytes() -> None:
    # 2 is bound to 0 by 8 bytes, to 1 by 24; 3 only to 2.
    h = hypergraph([[0, 2], [1, 2], [2, 3]], [8, 24, 8], [1.0, 1.0, 0.0, 0.0])
    start = np.array([0, 1, -1, -1], dtype=np.int32)
    part = refine(h, incidence(h), start, 2, imbalance=0.03, fixed=start >= 0)
    assert part.tolist() == [0, 1, 1, 1]


def test_fixed_vertices_stay_even_where_moving_them_would_save_bytes() -> None:
    h = path(6)
    start = np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    part = refine(h, incidence(h), start, 2, imbalance=0.5, fixed=np.ones(6, dtype=np.bool_))
    assert part.tolist() == start.tolist()


def test_an_overloaded_part_gives_work_away() -> None:
    h = path(8)
    part = refine(h, incidence(h), np.zeros(8, dtype=np.int32), 2, imbalance=0.03)
    assert np.bincount(part).tolist() == [4, 4]


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_refinement_never_costs_bytes_within_balance(seed: int, parts: int) -> None:
    generator = np.random.default_rng(seed)
    nets = [sorted(generator.choice(30, size=3, replace=False).tolist()) for _ in range(40)]
    h = hypergraph(nets, generator.integers(1, 9, 40).tolist(), [1.0] * 30)
    start = generator.permutation(np.arange(30) % parts).astype(np.int32)
    part = refine(h, incidence(h), start, parts, imbalance=0.1)
    assert connectivity(h, part, parts) <= connectivity(h, start, parts)
    assert np.bincount(part, minlength=parts).max() <= most_work(h.work_flops, parts, 0.1)


def _moved_with_dense_tables(h: Hypergraph, start: Int32, parts: int, most: float, passes: int) -> Int32:
    """The same steps as in ``refine`` by the reference in plain Python."""
    nets, part = incidence(h), start.copy()
    count = np.zeros((h.num_nets, parts), np.int32)
    moves.count_pins(h.net_pointer, h.pin, part, count)
    choice = np.empty_like(part)
    for confidence in (0.5, 0.2, 0.05, 0.0):
        args = nets.pointer, nets.net, h.net_bytes, part, count
        while (part < 0).any() and moves.place(*args, count.sum(axis=1), confidence, choice):
            part[choice >= 0] = choice[choice >= 0]
            moves.count_pins(h.net_pointer, h.pin, part, count)
    part[part < 0] = np.arange(int((part < 0).sum())) % parts
    moves.count_pins(h.net_pointer, h.pin, part, count)
    load = np.bincount(part, h.work_flops, parts)
    table = (part, np.ones(len(part), np.bool_), h.work_flops, load, most, count)
    moves.relieve(nets.pointer, nets.net, h.net_bytes, *table)
    for _ in range(passes):
        free = np.ones(len(part), np.bool_)
        pins = h.net_pointer, h.pin, h.net_bytes, nets.pointer, nets.net
        if moves.improve(*pins, part, free, h.work_flops, load, most, count, 200) <= 0:
            break
    return part


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(0, 3))
@settings(deadline=None)
def test_compact_tables_lead_to_the_moves_of_dense_ones(seed: int, parts: int, passes: int) -> None:
    generator = np.random.default_rng(seed)
    nets = [sorted(generator.choice(40, size=k, replace=False)) for k in generator.integers(2, 7, 60)]
    h = hypergraph(nets, generator.integers(1, 5, 60).tolist(), generator.integers(0, 4, 40).tolist())
    h = replace(h, work_flops=h.work_flops + (np.arange(40) == 0))
    start = generator.integers(-1 if seed % 2 else 0, parts, 40).astype(np.int32)
    most = most_work(h.work_flops, parts, 0.1)
    expected = _moved_with_dense_tables(h, start, parts, most, passes)
    found = refine(h, incidence(h), start, parts, imbalance=0.1, passes=passes)
    assert found.tolist() == expected.tolist()


def test_grains_decide_how_well_work_can_be_balanced() -> None:
    assert most_work(np.ones(10), 4, 0.03) == pytest.approx(3.0)
    assert most_work(np.ones(1000), 4, 0.03) == pytest.approx(257.5)


def test_a_partition_of_another_graph_is_refused() -> None:
    h = path(4)
    with pytest.raises(PartitionError, match="expected a part for each of 4 vertices, found 3"):
        refine(h, incidence(h), np.zeros(3, dtype=np.int32), 2, imbalance=0.03)
