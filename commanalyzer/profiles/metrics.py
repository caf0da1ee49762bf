"""The metrics of Table 2, computed from a profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.profiles.document import POINT_TO_POINT
from commanalyzer.profiles.values import GROUPS, LINE_BYTES, Float64, RankProfile, Reuse

MIXES = tuple(GROUPS)
"""Metrics that are vectorized mixes."""
FUNCTIONS = ("D0dreuse", "D0dreuse128", "D0ireuse", "F0bestMispredict")
"""Metrics that are functions of a reuse distance; the last one of the length of the history."""
ILP = ("ILP0", "ILP0mem", "ILP0int", "ILP0control", "ILP0fp")
EXCHANGED = ("MPIsentBytes", "MPIrecvBytes", "MPIsentMessages", "MPIrecvMessages")
CALLS = {
    "MPIisend": "MPI_Isend",
    "MPIirecv": "MPI_Irecv",
    "MPIsend": "MPI_Send",
    "MPIrecv": "MPI_Recv",
    "MPIbcast": "MPI_Bcast",
    "MPIbarrier": "MPI_Barrier",
    "MPIreduce": "MPI_Reduce",
}
SCALARS = (*("LSys", "H0branch", *ILP, "F0regreads", "F0regwrites", "MPIinstructions", *CALLS, *EXCHANGED),)


@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """Metrics of one rank; a metric that is not known is not there."""

    scalars: dict[str, float]  # by name (``SCALARS``)
    # float64[5, 7] by name (``MIXES``): fraction of all instructions per vector and data length
    # (:mod:`commanalyzer.profiles.values`)
    mixes: dict[str, Float64]
    # By name (``FUNCTIONS``), float64[N, 2]: distance (or length of the history) and value
    functions: dict[str, Float64]
    # [N, 3] (``MPIcommVector``): number to be added to the own rank, modulo the number of ranks, to get the
    # source; received bytes; received messages
    communication: Float64


def metrics_of(rank: RankProfile, processes: int) -> Metrics:
    """Metrics of a rank of a run of so many processes.

    Reference: *IBM Exascale Extrapolator manual*, Table 2 and Appendix B.2.
    """
    scalars: dict[str, float] = {}
    mixes: dict[str, Float64] = {}
    functions: dict[str, Float64] = {}
    missing = rank.missing
    total = rank.mix.instructions
    if "instructionMix" not in missing:
        scalars["LSys"] = total
        mixes = {name: rank.mix.group(name) / max(total, 1.0) for name in MIXES}
    if "registerAccesses" not in missing and total:
        scalars["F0regreads"] = rank.register_reads / total
        scalars["F0regwrites"] = rank.register_writes / total
    parallelism = rank.window()
    if parallelism is not None:
        scalars.update(zip(ILP, map(float, parallelism.out_of_order.mean), strict=True))
    for name, line in zip(FUNCTIONS, LINE_BYTES, strict=False):
        if (found := rank.reuse(line)) is not None:
            functions[name] = _cdf(found)
    if rank.instruction_reuse:
        functions["D0ireuse"] = _cdf(rank.instruction_reuse[0])
    if rank.branches is not None:
        scalars["H0branch"] = rank.branches.last_entropy
        history = rank.branches.history.astype(np.float64)
        functions["F0bestMispredict"] = np.column_stack([history, rank.branches.misprediction])
    if rank.mpi_calls:
        scalars["MPIinstructions"] = sum(rank.mpi_calls.values())
        known = {n: c for n, c in CALLS.items() if c in rank.mpi_calls or POINT_TO_POINT not in missing}
        scalars.update({name: rank.mpi_calls.get(call, 0.0) for name, call in known.items()})
    if rank.exchange is not None:
        scalars.update(zip(EXCHANGED, rank.exchange.totals, strict=True))
    return Metrics(scalars, mixes, functions, _vector(rank, processes))


def _cdf(reuse: Reuse) -> Float64:
    return np.column_stack([reuse.distance.astype(np.float64), reuse.cdf])


def _vector(rank: RankProfile, processes: int) -> Float64:
    exchange = rank.exchange
    if exchange is None:
        return np.zeros((0, 3))
    relative = (exchange.source - rank.process_id) % processes
    rows = np.column_stack([relative, exchange.received_bytes, exchange.received_messages])
    return np.asarray(rows[np.argsort(relative, kind="stable")], dtype=np.float64)
