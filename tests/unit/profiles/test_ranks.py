"""Profiles of ranks add up to the sequential one; communication is that of the matrix."""

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.matrix import CallCounts, Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import Site
from commanalyzer.profiles import values
from commanalyzer.profiles.document import FIELDS, profile_text
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.ranks import counted_profile, rank_profiles
from commanalyzer.result.results import AnalysisResult, Decomposition
from tests.graphs import build, copied, grid, row
from tests.samples import sample_decomposition, sample_result
from tests.unit.profiles.profiles import some_profile, some_rank

MATRIX = np.array([[0, 8, 0], [16, 0, 24], [0, 32, 0]])


def _divided(nodes: int) -> tuple[AnalysisResult, Decomposition]:
    """A grid of 12 x 12 values with uneven work, in ``nodes`` strips."""
    graph = grid(12)
    work = np.arange(graph.num_vertices, dtype=np.float64)
    store = GraphStore.of(graph).with_work(work)
    part = (np.arange(graph.num_vertices) * nodes // graph.num_vertices).astype(np.int32)
    found = sample_decomposition(nodes)
    division = replace(found, owners=Owners.of(part))
    return replace(sample_result(), store=store, decompositions=(division,)), division


@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_ranks_add_up_to_the_sequential_profile(nodes: int) -> None:
    whole = values.Profile("x", {"n": 12}, (some_rank(),))
    result, division = _divided(nodes)
    ranks = rank_profiles(whole, result, division).ranks
    before = whole.ranks[0]
    assert np.array_equal(sum(r.mix.counts for r in ranks), before.mix.counts)
    assert sum(r.register_reads for r in ranks) == before.register_reads
    assert sum(r.register_writes for r in ranks) == before.register_writes
    assert sum(r.footprint.data_bytes for r in ranks) == before.footprint.data_bytes
    assert sum(r.library_calls["printf"] for r in ranks) == before.library_calls["printf"]
    for which in range(2):
        own = [r.data_reuse[which] for r in ranks]
        assert sum(r.count.sum() for r in own) == before.data_reuse[which].count.sum()
        assert sum(r.accesses for r in own) == before.data_reuse[which].accesses
    code = before.instruction_reuse[0]
    assert np.array_equal(sum(r.instruction_reuse[0].count for r in ranks), code.count)
    assert sum(r.instruction_reuse[0].accesses for r in ranks) == code.accesses
    assert sum(r.branches.executed for r in ranks if r.branches) == 9
    sent = sum(r.exchange.sent_bytes for r in ranks if r.exchange)
    received = sum(r.exchange.received_bytes.sum() for r in ranks if r.exchange)
    assert sent == received == division.communication.comm_bytes.sum()


def test_instructions_follow_the_work() -> None:
    result, division = _divided(2)
    ranks = rank_profiles(values.Profile("x", {}, (some_rank(),)), result, division).ranks
    n = 144
    share = sum(range(n // 2)) / sum(range(n))
    assert ranks[0].mix.instructions == pytest.approx(share * some_rank().mix.instructions, abs=4)


def test_instructions_follow_the_operations_of_their_kind() -> None:
    """Rank 0 owns a value of 40 flops and 60 accesses, rank 1 one of 8 integer operations and 20 accesses."""
    graph = build(4, [row(0, 2, count=10), copied(1, 3, count=10)])
    sites = (
        Site("main", "a.c", 1, "store", 8, flops=40, memory_ops=60),
        Site("main", "a.c", 2, "store", 8, integer_ops=8, memory_ops=20),
    )
    counts = values.no_instructions()
    names = ("load", "fp_arith_add", "address_arith_get_elem_ptr_arith", "int_arith_add", "control_branch")
    counts[[values.INDEX[name] for name in names], 0, 0] = 100, 40, 8, 16, 164
    branches = values.Branches(np.array([0]), np.array([1.0]), np.array([0.5]), 164)
    whole = replace(some_rank(), mix=values.InstructionMix(counts), branches=branches)
    division = replace(sample_decomposition(2), owners=Owners.of(np.array([0, 1, 0, 1], dtype=np.int32)))
    store = GraphStore.of(replace(graph, sites=sites))
    result = replace(sample_result(), store=store, decompositions=(division,))
    ranks = rank_profiles(values.Profile("x", {}, (whole,)), result, division).ranks
    found = [[r.mix.counts[values.INDEX[name]].sum() for r in ranks] for name in ("load", "fp_arith_add")]
    assert found == [[75, 25], [40, 0]]
    assert [r.mix.group("F0addr").sum() for r in ranks] == [6, 2]
    # 8 of 16 integer instructions serve the value of rank 1, the others are indices: 3 in 4 of rank 0.
    assert [r.mix.group("F0int").sum() for r in ranks] == [6, 10]
    assert [r.mix.group("F0control").sum() for r in ranks] == [75 + 40 + 6 + 6, 25 + 2 + 10]
    assert [r.branches.executed for r in ranks if r.branches] == [127, 37]


def test_reuse_distances_stay_within_the_footprint() -> None:
    """288 lines, 18 on each of 16 ranks: none is reused farther than the 17 others, in the entry up to 32."""
    result, division = _divided(16)
    store = GraphStore.of(grid(12)).with_work(np.ones(288))
    count = np.array([1600.0, 0, 0, 0, 0, 1600])
    reuse = values.Reuse(64, np.array([0, 16, 32, 64, 128, 256]), count, 3200 + 288)
    counts = values.no_instructions()
    counts[values.INDEX["load"], 0, 0] = 3488
    whole = replace(
        some_rank(),
        mix=values.InstructionMix(counts),
        data_reuse=(reuse,),
        footprint=values.Footprint(288 * 64, 288),
    )
    ranks = rank_profiles(values.Profile("x", {}, (whole,)), replace(result, store=store), division).ranks
    for rank in ranks:
        (own,) = rank.data_reuse
        assert rank.footprint.lines == 18
        assert (own.distance.tolist(), own.accesses) == ([0, 16, 32], 218)
        assert own.count.tolist() == [100, 0, 100]


def test_the_scale_names_the_ranks() -> None:
    result, division = _divided(3)
    found = rank_profiles(values.Profile("x", {"n": 12}, (some_rank(),)), result, division)
    assert found.scale == {"n": 12, "p": 3}
    assert [r.process_id for r in found.ranks] == [0, 1, 2]
    assert "share of the work" in found.remarks[-1]


def test_several_ranks_are_not_divided() -> None:
    result, division = _divided(2)
    with pytest.raises(ProfileError, match="sequential program"):
        rank_profiles(some_profile(), result, division)


def _counted() -> AnalysisResult:
    communication = Communication(MATRIX, MATRIX // 8, int(MATRIX.sum()), int(MATRIX.sum()))
    division = sample_decomposition(3, model="counted")
    division = replace(division, communication=communication, imbalance=np.nan, intensity=np.nan)
    barrier = CallCounts((), "collectives", "MPI_Barrier", "MPI_COMM_WORLD", -1, 5, 0, 0, 0, 0)
    run = CountedRun("some MPI", 3, (barrier,))
    return replace(sample_result(), decompositions=(division,), counted=run)


def test_counted_runs_have_the_communication_part() -> None:
    found = counted_profile(_counted(), {"n": 8})
    assert found.scale == {"n": 8, "p": 3}
    rank = found.ranks[1]
    assert rank.exchange is not None
    assert rank.exchange.source.tolist() == [0, 2]
    assert rank.exchange.received_bytes.tolist() == [8, 32]
    assert rank.exchange.received_messages.tolist() == [1, 4]
    assert rank.exchange.sent_bytes == 40
    assert rank.mpi_calls == {"MPI_Barrier": 5}
    known = {"mpiInstructionMix", "mpiDataExchanged", "mpiCommunicationVector"}
    assert rank.missing == {*FIELDS, "p2pCommunicationRoutines"} - known
    # Which rank called MPI_Isend how often is not known: nothing is written, not 0.
    assert "MPI_Isend" not in profile_text(found)
    assert "MPIisend" not in metrics_of(rank, 3).scalars


def test_predictions_are_no_counted_runs() -> None:
    with pytest.raises(ProfileError, match="expected a counted MPI run"):
        counted_profile(sample_result(), {})
