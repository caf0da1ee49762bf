"""A small counted MPI run with known numbers, for tests of merging, comparison, reports and files."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.checking.counting.launch import CALL, FINALIZED, TRANSFER, RankCounts, counted_result
from commanalyzer.communication.matrix import CallCounts, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.recording.runtime import TargetRun
from commanalyzer.result.results import AnalysisResult, Decomposition
from tests.samples import sample_communication, sample_result

RUN = TargetRun(exit_status=0, cpu_s=1.0, peak_rss_bytes=1000)


def rank_counts(
    rank: int,
    size: int,
    transfers: list[tuple[int, int, int, int, int, int]],
    calls: list[tuple[int, ...]],
    texts: tuple[str, ...],
    flags: int = FINALIZED,
) -> RankCounts:
    """What one rank reports; tuples are records in the order of the file's fields."""
    return RankCounts(
        rank, size, flags, np.array(transfers, dtype=TRANSFER), np.array(calls, dtype=CALL), texts
    )


def merged(*ranks: RankCounts, region: str = "") -> AnalysisResult:
    provenance = sample_result().provenance
    return counted_result(("mpiexec", "-n", "2", "./app"), "MPI 4", region, RUN, ranks, provenance)


def counted_from(matrix: NDArray[np.int64], messages: NDArray[np.int64] | None = None) -> AnalysisResult:
    sent = replace(sample_communication(matrix, messages), collectives=None)
    total = sent.total_bytes
    item = Decomposition(
        nodes=len(matrix),
        model="counted",
        method="whole run",
        best=True,
        communication=sent,
        owners=Owners.of(np.zeros(0, dtype=np.int32)),
        intensity=math.nan,
        imbalance=math.nan,
    )
    call = CallCounts((), "point-to-point", "MPI_Send", "MPI_COMM_WORLD", -1, 3, total, total, 0, 0)
    base = merged(rank_counts(0, len(matrix), [], [], ()))
    return replace(
        base,
        program="app",
        regions=(),
        warnings=(),
        decompositions=(item,),
        counted=CountedRun("MPI 4", len(matrix), (call,)),
    )
