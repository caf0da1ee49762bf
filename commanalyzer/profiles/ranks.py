"""Profiles of the ranks of a division, and of a counted MPI run.

Input: the sequential profile and a division of the program's values. Output: one rank per node. What was
counted is divided so that the ranks' numbers are whole and add up to the sequential ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from commanalyzer.communication.balance import term_work
from commanalyzer.communication.matrix import LAYERS, Communication
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.foundation.work import Operations, WorkWeights
from commanalyzer.graph.build import vertex_work
from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.profiles.document import FIELDS
from commanalyzer.profiles.fields import POINT_TO_POINT
from commanalyzer.profiles.values import (
    GROUPS,
    INDEX,
    SHAPE,
    TYPES,
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
    "instructions of a rank are its share of the work of their kind, its footprint is its share of the values"
    " in memory; parallelism, outcomes of branches, and reuse distances within the footprint are those of the"
    " sequential program"
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
    whole, nodes, part, store = profile.ranks[0], division.nodes, division.part, result.store
    if len(part) != store.num_vertices:  # the paper's model counts without register values
        store = GraphStore.of(dissolve_registers(result.graph))
    graph = store.graph()
    held = np.where(graph.is_register, 0.0, graph.width_bytes)
    by_bytes = _bounds(np.bincount(part, held, nodes).astype(np.float64))
    mixes = _mixes(whole.mix, store, division)
    accesses, by_mix = mixes[:, _rows("F0mem")].sum(axis=(1, 2, 3)), _bounds(mixes.sum(axis=(1, 2, 3)))
    data = [_data_reuse(reuse, accesses, by_bytes) for reuse in whole.data_reuse]
    code = [_divided(np.append(reuse.count, reuse.accesses), by_mix) for reuse in whole.instruction_reuse]
    touched = _divided(np.array([whole.footprint.data_bytes, whole.footprint.lines]), by_bytes)
    executed = 0.0 if whole.branches is None else whole.branches.executed
    counts = np.array([whole.register_reads, whole.register_writes, executed])
    reads, writes, branches = _divided(counts, by_mix).T.tolist()
    calls = {name: _divided(np.array(count), by_mix) for name, count in whole.library_calls.items()}
    ranks = tuple(
        replace(
            whole,
            process_id=rank,
            mix=InstructionMix(mixes[rank]),
            footprint=Footprint(b, n, whole.footprint.line_bytes, b, n),
            exchange=_exchange(division.communication, rank),
            library_calls={name: float(found[rank]) for name, found in calls.items()},
            register_reads=reads[rank],
            register_writes=writes[rank],
            data_reuse=tuple(found[rank] for found in data),
            instruction_reuse=tuple(
                replace(reuse, count=found[rank, :-1], accesses=float(found[rank, -1]))
                for reuse, found in zip(whole.instruction_reuse, code, strict=True)
            ),
            branches=whole.branches and replace(whole.branches, executed=branches[rank]),
        )
        for rank, (b, n) in enumerate(touched.tolist())
    )
    scale = {**profile.scale, "p": float(nodes)}
    return Profile(profile.application, scale, ranks, (*profile.remarks, REMARK))


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


def _rows(group: str) -> list[int]:
    return [INDEX[name] for name in GROUPS[group]]


def _work_of_ranks(store: GraphStore, division: Decomposition) -> Callable[[Float64], Float64]:
    """Function from the work of all values, float64[V], to that of each rank, float64[p].

    Owners compute their values; terms of a sum, the ranks that combine them, unless the paper's model counts.
    """
    part, nodes = division.part, division.nodes
    graph, hubs = volume_view(store.graph(), HIGH)
    terms = term_work(graph)
    if division.model != "volume" or not terms.num_terms:
        return lambda work: np.bincount(part, work, nodes).astype(np.float64)
    charges = charge_volume(graph, part, nodes, hubs)
    sums, combiners = charges.fold.value, charges.fold.sender
    shares = charges.fold_terms / np.maximum(terms.terms[sums], 1.0)

    def combined(work: Float64) -> Float64:
        moved = shares * work[sums]
        found = np.bincount(part, work, nodes) - np.bincount(part[sums], moved, nodes)
        return np.asarray(np.maximum(found + np.bincount(combiners, moved, nodes), 0.0))

    return combined


def _mixes(mix: InstructionMix, store: GraphStore, division: Decomposition) -> Float64:
    """float64[p, types, ...], whole numbers whose sum over ranks is the mix.

    Floating-point instructions follow the flops of what a rank computes, accesses and addresses its
    accesses, integer ones its integer operations, and accesses where they serve no value (indices). What
    else is executed (control) follows these together.
    """
    done = sum((site.operations for site in store.sites), Operations())
    work, of_ranks = store.graph().work_flops, _work_of_ranks(store, division)

    def shares(amount: int, weights: WorkWeights) -> Float64:
        own = vertex_work(store.row_columns, store.sites, len(work), weights) if amount else work
        return np.diff(_bounds(of_ranks(own)))

    accesses = shares(done.memory, WorkWeights(0.0, 0.0, 1.0))
    serving = min(done.integer / max(mix.counts[_rows("F0int")].sum(), 1.0), 1.0)
    integer = serving * shares(done.integer, WorkWeights(0.0, 1.0, 0.0)) + (1.0 - serving) * accesses
    groups = {
        "F0mem": accesses,
        "F0addr": accesses,
        "F0int": integer,
        "F0fp": shares(done.flops, WorkWeights(1.0, 0.0, 0.0)),
    }
    result, rest = np.zeros((division.nodes, *SHAPE)), np.ones(len(TYPES), dtype=np.bool_)
    for group, amounts in groups.items():
        result[:, _rows(group)] = _divided(mix.counts[_rows(group)], _bounds(amounts))
        rest[_rows(group)] = False
    result[:, rest] = _divided(mix.counts[rest], _bounds(result.sum(axis=(1, 2, 3))))
    return result


def _data_reuse(reuse: Reuse, accesses: Float64, by_bytes: Float64) -> list[Reuse]:
    """Reuse of each rank: its first accesses are the lines that it touches, no distance exceeds the others.

    Between two accesses of a rank to a line are no more of its own lines than of all in the sequential
    program, unless another rank accessed the line between them.
    """
    lines = _divided(np.array(reuse.accesses - reuse.count.sum()), by_bytes)
    again = np.maximum(np.diff(_bounds(accesses)) * reuse.accesses - lines, 0.0)
    result = []
    for touched, count in zip(lines.tolist(), _divided(reuse.count, _bounds(again)), strict=True):
        end = 1 + int(np.searchsorted(reuse.distance, touched - 1.0))
        accessed = float(count.sum() + touched)
        count[end - 1 : end] += count[end:].sum()
        result.append(replace(reuse, distance=reuse.distance[:end], count=count[:end], accesses=accessed))
    return result


def _exchange(communication: Communication, rank: int) -> Exchange:
    sent, messages = communication.comm_bytes, communication.messages
    peers = communication.peer_bytes if communication.peer_bytes is not None else sent
    peer_messages = communication.peer_messages if communication.peer_messages is not None else messages
    source = np.flatnonzero(peers[:, rank] + peer_messages[:, rank])
    rest = sent - peers
    collective = {"sent": float(rest[rank].sum()), "received": float(rest[:, rank].sum())}
    return Exchange(
        float(peers[rank].sum()),
        float(peer_messages[rank].sum()),
        source.astype(np.int64),
        peers[source, rank].astype(np.float64),
        peer_messages[source, rank].astype(np.float64),
        {f"collective_{way}_bytes": value for way, value in collective.items() if value},
    )
