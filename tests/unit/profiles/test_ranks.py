"""Profiles of ranks add up to the sequential one; communication is that of the matrix."""

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.matrix import CallCounts, Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.profiles.document import FIELDS, profile_text
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.ranks import counted_profile, rank_profiles
from commanalyzer.profiles.values import Profile
from commanalyzer.result.results import AnalysisResult, Decomposition
from tests.graphs import grid
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
    whole = Profile("x", {"n": 12}, (some_rank(),))
    result, division = _divided(nodes)
    ranks = rank_profiles(whole, result, division).ranks
    before = whole.ranks[0]
    assert np.array_equal(sum(r.mix.counts for r in ranks), before.mix.counts)
    assert sum(r.register_reads for r in ranks) == before.register_reads
    assert sum(r.register_writes for r in ranks) == before.register_writes
    assert sum(r.footprint.data_bytes for r in ranks) == before.footprint.data_bytes
    assert sum(r.library_calls["printf"] for r in ranks) == before.library_calls["printf"]
    for which in range(2):
        assert np.array_equal(sum(r.data_reuse[which].count for r in ranks), before.data_reuse[which].count)
        assert sum(r.data_reuse[which].accesses for r in ranks) == before.data_reuse[which].accesses
    sent = sum(r.exchange.sent_bytes for r in ranks if r.exchange)
    received = sum(r.exchange.received_bytes.sum() for r in ranks if r.exchange)
    assert sent == received == division.communication.comm_bytes.sum()


def test_instructions_follow_the_work() -> None:
    result, division = _divided(2)
    ranks = rank_profiles(Profile("x", {}, (some_rank(),)), result, division).ranks
    n = 144
    share = sum(range(n // 2)) / sum(range(n))
    assert ranks[0].mix.instructions == pytest.approx(share * some_rank().mix.instructions, abs=4)


def test_the_scale_names_the_ranks() -> None:
    result, division = _divided(3)
    found = rank_profiles(Profile("x", {"n": 12}, (some_rank(),)), result, division)
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
