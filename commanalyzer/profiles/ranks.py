"""Profiles of the ranks of a division, and of a counted MPI run.

Input: the sequential profile and a division of the program's values. Output: one rank per node. What was
counted is divided so that the ranks' numbers are whole and add up to the sequential ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from commanalyzer.communication.matrix import LAYERS, Communication
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.document import FIELDS
from commanalyzer.profiles.fields import POINT_TO_POINT
from commanalyzer.profiles.values import (
    Exchange,
    Float64,
    Footprint,
    InstructionMix,
    Profile,
    RankProfile,
    Reuse,
)
from commanalyzer.result.results import AnalysisResult, Decomposition

REMARK = (
    "instructions and accesses of a rank are its share of the work, its footprint is its share of the values;"
    " parallelism, branches and reuse distances are those of the sequential program"
)
_COLLECTIVES = LAYERS[2]
_COMMUNICATION = frozenset(("mpiInstructionMix", "mpiDataExchanged", "mpiCommunicationVector"))


def rank_profiles(profile: Profile, result: AnalysisResult, division: Decomposition) -> Profile:
    """The sequential profile divided among the owners of a division.

    ``profile`` is of one rank, ``result`` an analysis of the same run, ``division`` one of its
    decompositions. Raises ``ProfileError`` if the profile has several ranks, or the result has no value
    graph.
    """
    if len(profile.ranks) != 1 or result.counted is not None:
        raise ProfileError(
            "expected the profile of a sequential program and a prediction for it, found those of an MPI run",
            where=profile.application,
        )
    whole, nodes = profile.ranks[0], division.nodes
    graph, part = result.graph, division.part
    work = np.bincount(part, weights=graph.work_flops, minlength=nodes)
    held = np.bincount(part, weights=graph.width_bytes.astype(np.float64), minlength=nodes)
    by_work, by_bytes = _bounds(work.astype(np.float64)), _bounds(held.astype(np.float64))
    mixes = _divided(whole.mix.counts, by_work)
    numbers = {name: _divided(np.array(getattr(whole, name)), by_work) for name in _COUNTS}
    reuse = {name: [_reuse(r, by_work) for r in getattr(whole, name)] for name in _REUSES}
    touched = _divided(np.array([whole.footprint.data_bytes, whole.footprint.lines]), by_bytes)
    footprints = [Footprint(b, n, whole.footprint.line_bytes, b, n) for b, n in touched.tolist()]
    calls = {name: _divided(np.array(count), by_work) for name, count in whole.library_calls.items()}
    ranks = tuple(
        replace(
            whole,
            process_id=rank,
            mix=InstructionMix(mixes[rank]),
            footprint=footprints[rank],
            exchange=_exchange(division.communication, rank),
            library_calls={name: float(found[rank]) for name, found in calls.items()},
            register_reads=float(numbers["register_reads"][rank]),
            register_writes=float(numbers["register_writes"][rank]),
            data_reuse=tuple(found[rank] for found in reuse["data_reuse"]),
            instruction_reuse=tuple(found[rank] for found in reuse["instruction_reuse"]),
        )
        for rank in range(nodes)
    )
    scale = {**profile.scale, "p": float(nodes)}
    return Profile(profile.application, scale, ranks, (*profile.remarks, REMARK))


_COUNTS = ("register_reads", "register_writes")
_REUSES = ("data_reuse", "instruction_reuse")


def counted_profile(result: AnalysisResult, scale: Mapping[str, float]) -> Profile:
    """Communication part of the profile of an MPI program that was counted.

    Calls of collectives over all processes are those of each rank; other calls are only known for all ranks
    together and are left out. Raises ``ProfileError`` if the result is a prediction.
    """
    if result.counted is None:
        raise ProfileError(
            "expected a counted MPI run, found a prediction",
            where=result.program,
            hint="write profiles of predictions with: commanalyzer profile SOURCES --division RESULT",
        )
    division = result.best(result.nodes[0])
    calls: dict[str, float] = {}
    for call in result.counted.calls:
        if call.layer == _COLLECTIVES and call.communicator == "MPI_COMM_WORLD":
            calls[call.name] = calls.get(call.name, 0.0) + call.operations
    ranks = tuple(
        RankProfile(
            process_id=rank,
            exchange=_exchange(division.communication, rank),
            mpi_calls=calls,
            missing=frozenset((*FIELDS, POINT_TO_POINT)) - _COMMUNICATION,
        )
        for rank in range(division.nodes)
    )
    remark = "the communication part of a profile; calls by rank are those of collectives over all processes"
    return Profile(result.program, {**scale, "p": float(division.nodes)}, ranks, (remark,))


def _bounds(amounts: Float64) -> Float64:
    """float64[p + 1], from 0 to 1, between which the share of each rank lies; equal shares without any."""
    total = amounts.sum()
    shares = amounts / total if total > 0 else np.full(len(amounts), 1.0 / len(amounts))
    bounds = np.concatenate([[0.0], np.cumsum(shares)])
    bounds[-1] = 1.0
    return bounds


def _divided(counts: Float64, bounds: Float64) -> Float64:
    """float64[p, ...], whole numbers whose sum over ranks is ``counts``."""
    ends = np.round(np.multiply.outer(bounds, counts))
    return np.asarray(np.diff(ends, axis=0))


def _reuse(reuse: Reuse, bounds: Float64) -> list[Reuse]:
    counts, accesses = _divided(reuse.count, bounds), _divided(np.array(reuse.accesses), bounds)
    return [replace(reuse, count=c, accesses=float(a)) for c, a in zip(counts, accesses, strict=True)]


def _exchange(communication: Communication, rank: int) -> Exchange:
    sent, messages = communication.comm_bytes, communication.messages
    peers = communication.peer_bytes if communication.peer_bytes is not None else sent
    peer_messages = communication.peer_messages if communication.peer_messages is not None else messages
    source = np.flatnonzero(peers[:, rank] + peer_messages[:, rank])
    rest = sent - peers
    collective = {
        "collective_sent_bytes": float(rest[rank].sum()),
        "collective_received_bytes": float(rest[:, rank].sum()),
    }
    return Exchange(
        float(peers[rank].sum()),
        float(peer_messages[rank].sum()),
        source.astype(np.int64),
        peers[source, rank].astype(np.float64),
        peer_messages[source, rank].astype(np.float64),
        {name: value for name, value in collective.items() if value},
    )
