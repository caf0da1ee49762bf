"""Merges the counts of all ranks into a result of the same kind as a prediction's.

Reads what the ranks wrote; layouts are those of ``runtime_shim/mpi/counter.h``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import LAYERS, MODEL, OFF, WHOLE, CallCounts, Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import ConfigError, TraceError
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.recording.runtime.launch import TargetRun
from commanalyzer.result.results import (
    AnalysisResult,
    Decomposition,
    Provenance,
    Recording,
    SingletonCounts,
    WorkCounts,
)

MAGIC = 0x00315450434D4143
FINALIZED, ABORTED, SPAWNED = 1, 2, 4
HEADER = np.dtype(
    [
        *(("magic", "<u8"), ("rank", "<i4"), ("size", "<i4"), ("flags", "<u4"), ("reserved", "<u4")),
        *(("num_transfers", "<u8"), ("num_calls", "<u8"), ("text_bytes", "<u8")),
    ]
)
TRANSFER = np.dtype(
    [
        *(("region", "<u4"), ("layer", "<u4"), ("source", "<i4"), ("target", "<i4")),
        *(("bytes", "<i8"), ("messages", "<i8")),
    ]
)
CALL_KEYS = ("region", "layer", "name", "label", "root")
CALL_SUMS = ("operations", "given_bytes", "charged_bytes", "self_bytes", "unknown_bytes")
CALL = np.dtype([(name, "<u4") for name in CALL_KEYS[:4]] + [(name, "<i8") for name in ("root", *CALL_SUMS)])


@dataclass(frozen=True, slots=True)
class RankCounts:
    """Counts of one process."""

    rank: int  # its world rank
    size: int  # size of its MPI_COMM_WORLD
    flags: int  # ``FINALIZED``, ``ABORTED``, ``SPAWNED``
    transfers: NDArray[np.void]  # ``TRANSFER`` records; region is an index into ``texts``
    calls: NDArray[np.void]  # ``CALL`` records; region, name and label are indices into ``texts``
    texts: tuple[str, ...]


def read_rank_files(folder: Path) -> list[RankCounts]:
    """Counts of every process that reported, by rank; a :class:`TraceError` if a file is damaged."""
    found = [read_rank_file(path) for path in sorted(folder.glob("*.counts"))]
    return sorted((item for item in found if item is not None), key=lambda item: item.rank)


def read_rank_file(path: Path) -> RankCounts | None:
    """Counts of one process, ``None`` if it was ended while it wrote; a :class:`TraceError` if too short."""
    data = path.read_bytes()
    if len(data) < HEADER.itemsize:
        return None
    header = np.frombuffer(data, HEADER, 1)[0]
    if int(header["magic"]) != MAGIC:
        return None
    num_transfers, num_calls = int(header["num_transfers"]), int(header["num_calls"])
    at_calls = HEADER.itemsize + num_transfers * TRANSFER.itemsize
    at_text = at_calls + num_calls * CALL.itemsize
    expected = at_text + int(header["text_bytes"])
    if len(data) != expected:
        raise TraceError(f"expected {expected} bytes of counts, found {len(data)}", where=str(path))
    return RankCounts(
        int(header["rank"]),
        int(header["size"]),
        int(header["flags"]),
        np.frombuffer(data, TRANSFER, num_transfers, HEADER.itemsize),
        np.frombuffer(data, CALL, num_calls, at_calls),
        tuple(data[at_text:].decode("utf-8", "replace").split("\0")[:-1]),
    )


_OFF_MARK = "\2"
_UNSEEN = {
    "MPI_Comm_spawn": "traffic of spawned processes is not counted",
    "MPI_Comm_spawn_multiple": "traffic of spawned processes is not counted",
    "MPI_Win_shared_query": "direct access to shared-memory windows is not counted",
}
_MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class _Merged:
    """Counts of all ranks with common text numbers."""

    size: int  # number of ranks p
    traffic: NDArray[np.int64]  # [paths, layers, 2, p, p], bytes and messages per region path
    paths: tuple[tuple[str, ...], ...]  # region path of each first index
    calls: NDArray[np.void]  # ``CALL`` records, distinct keys; texts are indices into ``texts``
    texts: tuple[str, ...]


def counted_result(
    command: Sequence[str],
    mpi: str,
    region: str,
    run: TargetRun,
    ranks: Sequence[RankCounts],
    provenance: Provenance,
) -> AnalysisResult:
    """Result with one decomposition per region and layer, model ``counted``.

    ``region`` is the mark or function that the best decomposition covers; empty for the whole run. At least
    one process has to be among ``ranks``.

    Raises:
        ConfigError: If ``region`` is no mark, and no function that communicates.
        TraceError: If the ranks disagree about their number.
    """
    own = [item for item in ranks if not item.flags & SPAWNED] or list(ranks)
    merged = _merge(own)
    regions = tuple(sorted({name for path in merged.paths for name in path} - {_OFF_MARK}))
    if region and region not in regions:
        known = ", ".join(regions) or "none"
        raise ConfigError(
            f"expected a mark [{known}] or a function that calls MPI, found {region!r}",
            where="--region",
            hint="a function must not be inlined, nor its name stripped; or mark the region with "
            'COMMANALYZER_BEGIN("name") and COMMANALYZER_END("name") of commanalyzer.h',
        )
    calls = _calls(merged)
    return AnalysisResult(
        program=program_name(command),
        command=tuple(command),
        provenance=provenance,
        work=WorkCounts(0, 0, 0, 0),
        recording=Recording(None, run.cpu_s, run.peak_rss_bytes, run.exit_status),
        store=GraphStore.empty(),
        singletons=SingletonCounts(),
        vcg_words=0,
        machine=MachineParameters(),
        decompositions=_decompositions(merged, regions, region),
        regions=(region,) if region else (),
        warnings=tuple(_warnings(own, len(ranks) - len(own), merged, calls)),
        counted=CountedRun(mpi, merged.size, calls, regions, region),
    )


def program_name(command: Sequence[str]) -> str:
    """First word after the launcher that is an executable file; the launcher when there is none."""
    files = (Path(word).name for word in command[1:] if Path(word).is_file())
    return next(files, Path(command[0]).name)


def _merge(ranks: Sequence[RankCounts]) -> _Merged:
    size = ranks[0].size
    if any(item.size != size for item in ranks) or len({item.rank for item in ranks}) != len(ranks):
        raise TraceError(
            "expected one program with one report per rank, found several", hint="count one mpiexec at a time"
        )
    numbers: dict[str, int] = {}
    calls, transfers = [], []
    for item in ranks:
        common = np.array([numbers.setdefault(t, len(numbers)) for t in item.texts], dtype=np.uint32)
        own_calls, own_transfers = item.calls.copy(), item.transfers.copy()
        for column in ("region", "name", "label"):
            own_calls[column] = common[own_calls[column]]
        own_transfers["region"] = common[own_transfers["region"]]
        calls.append(own_calls)
        transfers.append(own_transfers)
    texts = tuple(numbers)
    moved, rows = np.concatenate(transfers), np.concatenate(calls)
    used, dense = np.unique(np.concatenate([moved["region"], rows["region"]]), return_inverse=True)
    traffic = np.zeros((len(used), len(LAYERS), 2, size, size), dtype=np.int64)
    place = (dense[: len(moved)], moved["layer"], moved["source"], moved["target"])
    np.add.at(traffic[:, :, 0], place, moved["bytes"])
    np.add.at(traffic[:, :, 1], place, moved["messages"])
    return _Merged(size, traffic, tuple(_path(texts[i]) for i in used.tolist()), _summed(rows), texts)


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.split("\1")) if text else ()


def _summed(rows: NDArray[np.void]) -> NDArray[np.void]:
    """One record per distinct key, most charged bytes first."""
    keys = np.stack([rows[name].astype(np.int64) for name in CALL_KEYS], axis=1)
    distinct, group = np.unique(keys, axis=0, return_inverse=True)
    merged = np.zeros(len(distinct), dtype=CALL)
    for index, name in enumerate(CALL_KEYS):
        merged[name] = distinct[:, index]
    for name in CALL_SUMS:
        np.add.at(merged[name], group.ravel(), rows[name])
    return merged[np.argsort(-merged["charged_bytes"], kind="stable")]


def _calls(merged: _Merged) -> tuple[CallCounts, ...]:
    return tuple(
        CallCounts(
            tuple(OFF if name == _OFF_MARK else name for name in _path(merged.texts[region])),
            LAYERS[layer],
            merged.texts[name],
            merged.texts[label],
            *rest,
        )
        for region, layer, name, label, *rest in merged.calls.tolist()
    )


def _decompositions(merged: _Merged, regions: Sequence[str], chosen: str) -> tuple[Decomposition, ...]:
    on = np.array([_OFF_MARK not in path for path in merged.paths], dtype=np.bool_)
    whole = merged.traffic[on].sum(axis=0)
    items = [_decomposition(WHOLE, whole.sum(axis=0), not chosen)]
    layers = [index for index in range(len(LAYERS)) if whole[index].any()]
    if len(layers) > 1:
        items += [_decomposition(f"{WHOLE}, {LAYERS[i]}", whole[i], False) for i in layers]
    for name in regions:
        inside = np.array([name in path for path in merged.paths], dtype=np.bool_)
        total = merged.traffic[inside].sum(axis=(0, 1))
        items.append(_decomposition(f"region {name}", total, name == chosen))
    return tuple(items)


def _decomposition(method: str, traffic: NDArray[np.int64], best: bool) -> Decomposition:
    total = int(traffic[0].sum())
    return Decomposition(
        nodes=traffic.shape[-1],
        model=MODEL,
        method=method,
        best=best,
        communication=Communication(traffic[0].copy(), traffic[1].copy(), total, total),
        owners=Owners.of(np.zeros(0, dtype=np.int32)),
        # A counted run knows nothing about work: neither flops nor their distribution.
        intensity=math.nan,
        imbalance=math.nan,
    )


def _warnings(
    ranks: Sequence[RankCounts], num_spawned: int, merged: _Merged, calls: Sequence[CallCounts]
) -> list[str]:
    """What the counter did not see, or saw and put into no matrix."""
    found = _gaps(ranks, num_spawned, merged.size)
    found += dict.fromkeys(_UNSEEN[call.name] for call in calls if call.name in _UNSEEN)
    own = sum(call.self_bytes for call in calls)
    unknown = sum(call.unknown_bytes for call in calls)
    off = sum(call.charged_bytes for call in calls if OFF in call.region)
    for name, amount in (
        ("sent by ranks to themselves are not communication", own),
        ("to or from another group of processes belong to no pair of ranks", unknown),
        ("sent while MPI_Pcontrol(0) held are left out", off),
    ):
        if amount:
            found.append(f"{format_bytes(amount)} {name}")
    return found


def _gaps(ranks: Sequence[RankCounts], num_spawned: int, size: int) -> list[str]:
    """Processes whose counts are missing or incomplete."""
    missing = sorted(set(range(size)) - {item.rank for item in ranks})
    aborted = [item.rank for item in ranks if item.flags & ABORTED]
    ended = [item.rank for item in ranks if not item.flags & (ABORTED | FINALIZED)]
    found = []
    if missing:
        found.append(f"no counts from {_ranks(missing)}: what they charge is missing")
    if aborted:
        found.append(f"{_ranks(aborted)} called MPI_Abort: counts end there")
    if ended:
        found.append(f"{_ranks(ended)} ended without MPI_Finalize: counts end there")
    if num_spawned:
        found.append(f"{num_spawned} spawned processes are not counted")
    return found


def _ranks(ranks: Sequence[int]) -> str:
    more = f" and {len(ranks) - _MAX_NAMED} more" if len(ranks) > _MAX_NAMED else ""
    word = "rank" if len(ranks) == 1 else "ranks"
    return f"{word} {', '.join(map(str, ranks[:_MAX_NAMED]))}{more}"
