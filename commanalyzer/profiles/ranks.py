"""Profiles of the ranks of a division and of a counted MPI run, and what a processor makes of them.

Input: the sequential profile and a division of the program's values. Output: one rank per node. What was
counted is divided so that the ranks' numbers are whole and add up to the sequential ones.

Throughput R of a node from a profile and a description of its processor and caches.

A processor file is TOML::

    kind = "commanalyzer.processor"
    frequency_hz = 2.5e9
    issue = 4                        # instructions per cycle, at most

    [[cache]]                        # smallest first
    bytes = 32768
    latency_cycles = 4

    [[cache]]
    bytes = 1048576
    latency_cycles = 14

    [memory]
    latency_cycles = 200
    bandwidth_bytes_per_s = 10e9     # that one rank can have

A rank needs LSys / min(ILP, issue) cycles, and waits for accesses that miss the first cache; as many of
them overlap as its memory instructions are parallel (ILP0mem). Its lines from memory take their time at the
bandwidth at least. Caches are fully associative with LRU replacement: the reuse distances tell the hits.

Reference: R. Jongerius et al., *Analytic multi-core processor model for fast design-space exploration*, IEEE
Trans. Computers 67(6), 2018 (ExaBounds); this model is simpler: no branches, no sharing of caches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from commanalyzer.communication.balance import term_work
from commanalyzer.communication.matrix import LAYERS, Communication
from commanalyzer.communication.totals import sums_of_constants
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.documents import Positive, parse_toml, reading, typed
from commanalyzer.foundation.errors import MachineModelError, ProfileError
from commanalyzer.foundation.work import Operations, WorkWeights
from commanalyzer.graph.build import vertex_work
from commanalyzer.graph.contraction.dissolve import dissolve_registers
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.machine.parameters import Curve, Parameter
from commanalyzer.profiles.document import FIELDS, POINT_TO_POINT, read_profile
from commanalyzer.profiles.values import (
    GROUPS,
    INDEX,
    LINE_BYTES,
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


def work_of_ranks(store: GraphStore, division: Decomposition) -> Callable[[Float64], Float64]:
    """Function from the work of all values, float64[V], to that of each rank, float64[p].

    Owners compute their values; terms of a sum, the ranks that combine them, unless the paper's model counts;
    of terms that are made of constants, each its share.
    """
    part, nodes = division.part, division.nodes
    if division.model != "volume":
        return lambda work: np.bincount(part, work, nodes).astype(np.float64)
    graph, hubs = volume_view(store.graph(), HIGH)
    terms, even = term_work(graph), sums_of_constants(graph)
    charges = charge_volume(graph, part, nodes, hubs)
    sums, combiners = charges.fold.value, charges.fold.sender
    shares = np.zeros(len(sums))
    if terms.has_work:
        shares = charges.fold_terms / np.maximum(terms.terms[sums], 1.0)

    def combined(work: Float64) -> Float64:
        moved = shares * work[sums]
        found = np.bincount(part, work, nodes) - np.bincount(part[sums], moved, nodes)
        found += work[even].sum() / nodes - np.bincount(part[even], work[even], nodes)
        return np.asarray(np.maximum(found + np.bincount(combiners, moved, nodes), 0.0))

    return combined


def _mixes(mix: InstructionMix, store: GraphStore, division: Decomposition) -> Float64:
    """float64[p, types, ...], whole numbers whose sum over ranks is the mix.

    Floating-point instructions follow the flops of what a rank computes, accesses and addresses its
    accesses, integer ones its integer operations, and accesses where they serve no value (indices). What
    else is executed (control) follows these together.
    """
    done = sum((site.operations for site in store.sites), Operations())
    work, of_ranks = store.graph().work_flops, work_of_ranks(store, division)

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


_LINE = LINE_BYTES[0]


@dataclass(frozen=True, slots=True)
class Processor:
    """A core and its caches."""

    frequency_hz: float  # cycles per second
    issue: float  # instructions per cycle, at most
    caches: tuple[tuple[float, float], ...]  # bytes and latency in cycles of each, the smallest first
    memory_cycles: float  # latency of memory
    bandwidth: float  # bytes per second from memory


class _Cache(msgspec.Struct):
    bytes: Positive
    latency_cycles: Positive


class _Memory(msgspec.Struct):
    latency_cycles: Positive
    bandwidth_bytes_per_s: Positive


class _ProcessorFile(msgspec.Struct):
    """Keys of a processor file; see the module."""

    frequency_hz: Positive
    issue: Positive
    cache: Annotated[tuple[_Cache, ...], msgspec.Meta(min_length=1)]
    memory: _Memory
    kind: Literal["commanalyzer.processor"] = "commanalyzer.processor"


def load_processor(path: Path) -> Processor:
    """Processor of a file.

    Raises ``MachineModelError`` if it cannot be read, or something is missing or not positive.
    """
    with reading(path, "a processor", error=MachineModelError):
        file = typed(parse_toml(path.read_text(encoding="utf-8")), _ProcessorFile)
        caches = tuple((cache.bytes, cache.latency_cycles) for cache in file.cache)
        if list(caches) != sorted(caches):
            raise ValueError("caches that are not in the order of their sizes")
    memory = file.memory
    return Processor(
        file.frequency_hz, file.issue, caches, memory.latency_cycles, memory.bandwidth_bytes_per_s
    )


def rank_seconds(rank: RankProfile, processor: Processor) -> float:
    """Time without communication; ``ProfileError`` without instructions, parallelism or reuse of data."""
    parallelism, reuse = rank.window(), rank.reuse(_LINE)
    if parallelism is None or reuse is None or not rank.mix.instructions:
        raise ProfileError(
            f"expected instructions, ilp and dataReuseDistribution of {_LINE}-byte lines, found not all",
            where=f"process {rank.process_id}",
        )
    parallel, memory_parallel = (max(float(parallelism.out_of_order.mean[i]), 1.0) for i in (0, 1))
    accesses = float(rank.mix.group("F0mem").sum())
    first = processor.caches[0][1]
    levels = [*processor.caches[1:], (math.inf, processor.memory_cycles)]
    stalls, held = 0.0, reuse.at_most(processor.caches[0][0] / _LINE)
    for size, cycles in levels:
        now = 1.0 if math.isinf(size) else reuse.at_most(size / _LINE)
        stalls += max(now - held, 0.0) * accesses * max(cycles - first, 0.0)
        held = max(now, held)
    missed = accesses * (1.0 - reuse.at_most(processor.caches[-1][0] / _LINE))
    cycles = rank.mix.instructions / min(parallel, processor.issue) + stalls / memory_parallel
    return max(cycles / processor.frequency_hz, missed * _LINE / processor.bandwidth)


def throughput_of(path: Path, processor: Processor, result: AnalysisResult | None = None) -> Parameter:
    """R of a profile's ranks: their operations per second while the slowest one computes.

    The profile of a sequential program is divided among the ranks of each node count of ``result``, whose
    shares fit caches that all of it does not: R is then a curve over node counts. Raises ``ProfileError`` if
    the profile cannot be read, or has no floating-point instructions.
    """
    profile = read_profile(path)
    counts = _threads(path, len(profile.ranks))
    value = _rate(profile.ranks, counts, processor, path)
    curve = None
    if result is not None and len(profile.ranks) == 1 and result.counted is None:
        nodes = [p for p in result.nodes if p > 1]
        shares = [rank_profiles(profile, result, result.best(p)).ranks for p in nodes]
        rates = [_rate(ranks, [1.0] * len(ranks), processor, path) for ranks in shares]
        curve = Curve((1.0, *map(float, nodes)), (), (value, *rates)) if nodes else None
    note = f"predicted from {path.name} on the described processor"
    return Parameter(value, "Flop/s", "given", note=note, curve=curve)


def _rate(ranks: Sequence[RankProfile], counts: Sequence[float], processor: Processor, path: Path) -> float:
    """Flop/s of a rank in the mean, each of which is so many."""
    flops = sum(c * float(r.mix.group("F0fp").sum()) for c, r in zip(counts, ranks, strict=True))
    if not flops:
        raise ProfileError("expected floating-point instructions, found none", where=str(path))
    return flops / sum(counts) / max(rank_seconds(r, processor) for r in ranks if r.mix.instructions)


def _threads(path: Path, ranks: int) -> Sequence[float]:
    """Threads that each rank of a file stands for: extrapolated ones stand for their classes."""
    threads = json.loads(path.read_text(encoding="utf-8"))["threads"]
    found = [float(t.get("extrapolated", {}).get("NThreads", 1.0)) for t in threads]
    return found if len(found) == ranks else [1.0] * ranks
