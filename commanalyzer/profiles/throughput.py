"""Throughput R of a node from a profile and a description of its processor and caches.

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from commanalyzer.foundation.documents import Positive, parse_toml, reading, typed
from commanalyzer.foundation.errors import MachineModelError, ProfileError
from commanalyzer.machine.parameters import Curve, Parameter
from commanalyzer.profiles.document import read_profile
from commanalyzer.profiles.ranks import rank_profiles
from commanalyzer.profiles.values import LINE_BYTES, RankProfile
from commanalyzer.result.results import AnalysisResult

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
