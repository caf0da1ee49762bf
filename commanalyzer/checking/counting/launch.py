"""Starts an MPI program with the byte counter in its ranks.

Builds the byte counter as a shared library, once per MPI library.

Merges the counts of all ranks into a result of the same kind as a prediction's.

Reads what the ranks wrote; layouts are those of ``runtime_shim/mpi/counter.h``.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.matrix import LAYERS, MODEL, OFF, WHOLE, CallCounts, Communication, CountedRun
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import ConfigError, RuntimeBuildError, TargetRunError, TraceError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.program.frontend.link import cached_file, content_key
from commanalyzer.program.frontend.toolchain import bundled_toolchain, run_tool, shim_directory
from commanalyzer.recording.runtime import RunLimits, TargetRun, run_target
from commanalyzer.result.provenance import collect_provenance
from commanalyzer.result.results import (
    AnalysisResult,
    Decomposition,
    Provenance,
    Recording,
    SingletonCounts,
    WorkCounts,
)

_DRIVER_TIMEOUT_S = 60.0
_LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun")
# Text of `launcher --version` -> how the launcher passes variables on to the ranks.
_FLAVOURS = (
    ("open mpi", "openmpi"),
    ("openrte", "openmpi"),
    ("prrte", "openmpi"),
    ("hydra", "hydra"),
    ("intel(r) mpi", "hydra"),
)


@dataclass(frozen=True, slots=True)
class MpiLibrary:
    """An installed MPI."""

    flavour: str  # ``hydra`` (MPICH and its relatives), ``openmpi`` or ``other``
    version: str  # first line of the launcher's or compiler wrapper's version
    include_flags: tuple[str, ...]  # ``-I`` flags that find ``mpi.h``
    link_flags: tuple[str, ...]  # flags that link its C library


def find_mpi(program: Path, mpicc: str = "") -> MpiLibrary:
    """MPI library of the launcher ``program``, or of the compiler wrapper ``mpicc``.

    When ``mpicc`` is empty, it is the one beside the launcher or else on the path. A :class:`ConfigError` if
    there is none, or it does not say what it would do.
    """
    flavour, version = _flavour(program) if is_launcher(program) else ("other", "")
    wrapper = _wrapper(program, mpicc)
    shown = _output([str(wrapper), "-show"])
    words = shlex.split(shown.strip().splitlines()[0]) if shown.strip() else []
    include = [w for w in words if w.startswith("-I")]
    folders = [w for w in words if w.startswith("-L")]
    libraries = [w for w in words if w.startswith("-l") and "mpi" in w and not w.endswith(("cxx", "fort"))]
    if not libraries:
        raise ConfigError(
            f"expected {wrapper.name} -show to name the MPI library, found {shown.strip()!r}",
            where=str(wrapper),
            hint="name the compiler wrapper of the program's MPI with --mpicc",
        )
    paths = [f"-Wl,-rpath,{folder[2:]}" for folder in folders if folder[2:]]
    return MpiLibrary(flavour, version, tuple(include), (*folders, *paths, *libraries))


def is_launcher(program: Path) -> bool:
    """``program`` is an mpiexec of some MPI."""
    return program.name.startswith(_LAUNCHERS)


def _flavour(program: Path) -> tuple[str, str]:
    text = _output([str(program), "--version"])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark, flavour in _FLAVOURS:
        if mark in text.lower():
            number = next((line.split()[-1] for line in lines if line.lower().startswith("version:")), "")
            name = f"MPICH (Hydra {number})" if mark == "hydra" else lines[0]
            return flavour, name
    return "other", lines[0] if lines else ""


def _wrapper(program: Path, mpicc: str) -> Path:
    if mpicc:
        named = shutil.which(mpicc)
        if named is None:
            raise ConfigError(f"expected a compiler wrapper, found no program {mpicc!r}", where="--mpicc")
        return Path(named)
    for candidate in _candidates(program):
        if candidate.is_file():
            return candidate
    raise ConfigError(
        "expected mpicc beside the launcher or on the path, found none",
        where=str(program),
        hint="the counter needs mpi.h: install the MPI's development files, or name its mpicc with --mpicc",
    )


def _candidates(program: Path) -> Iterable[Path]:
    """``mpiexec.openmpi`` -> ``mpicc.openmpi``, before plain ``mpicc`` beside it or on the path."""
    if is_launcher(program):
        for path in (program, program.resolve()):
            suffix = path.name.partition(".")[2] if not path.name.endswith(".hydra") else ""
            if suffix:
                yield path.with_name(f"mpicc.{suffix}")
        yield program.with_name("mpicc")
    found = shutil.which("mpicc")
    if found is not None:
        yield Path(found)


def _output(command: list[str]) -> str:
    try:
        done = run_tool(command, timeout_s=_DRIVER_TIMEOUT_S)
    except OSError as error:
        raise ConfigError(f"{command[0]} cannot be started: {error}") from error
    return done.stdout or done.stderr


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


_FLAGS = ("-std=gnu11", "-O2", "-g0", "-fPIC", "-shared", "-fno-sanitize=all", "-Wall", "-Wextra")
_TIMEOUT_S = 300.0


def build_interposer(mpi: MpiLibrary) -> Path:
    """Shared library that counts the calls of programs of ``mpi``; compiled at first use, then cached.

    Raises:
        RuntimeBuildError: If it does not compile against this MPI.
        ConfigError: If the cache is not usable.
    """
    toolchain = bundled_toolchain()
    folder = shim_directory() / "mpi"
    sources = sorted(folder.glob("*.c"))
    texts = [path.read_bytes() for path in sorted(folder.glob("*.[chi]*"))]
    compiler = [*toolchain.cc, *toolchain.target_flags, *_FLAGS]
    command = [*compiler, *mpi.include_flags, *map(str, sources), *mpi.link_flags]
    key = content_key(["mpi counter", toolchain.version, *command, *texts, *_headers(mpi)])

    def produce(draft: Path) -> None:
        output = run_tool([*command, "-o", str(draft)], timeout_s=_TIMEOUT_S)
        if not output.ok:
            raise RuntimeBuildError(
                f"the byte counter does not compile against this MPI:\n{output.last_lines()}",
                where=" ".join(mpi.include_flags),
                hint="MPI 3 or newer with its development files is needed",
            )

    return cached_file(key, ".so", produce)


def _headers(mpi: MpiLibrary) -> list[bytes]:
    """Content of ``mpi.h``: another version in the same place is another binary interface."""
    paths = [Path(flag[2:]) / "mpi.h" for flag in mpi.include_flags]
    return [path.read_bytes() for path in paths if path.is_file()]


@dataclass(frozen=True, slots=True)
class CountRequest:
    """What to count."""

    command: tuple[str, ...]  # launcher, its options, program and arguments
    region: str = ""  # mark or function that the result's leading matrix covers; empty for the whole run
    mpicc: str = ""  # compiler wrapper of the program's MPI; found beside the launcher when empty
    timeout_s: float | None = None  # limit of the run, seconds
    output_to_stderr: bool = False  # the program's standard output goes to standard error
    discard_output: bool = False  # the program's standard output goes nowhere


def count(request: CountRequest) -> AnalysisResult:
    """Counted bytes of one run of an MPI program.

    Raises:
        ConfigError: If the launcher or its MPI is not found, or the region is unknown.
        RuntimeBuildError: If the counter cannot be built for this MPI.
        TargetRunError: If the program cannot be started, is ended by a signal, or no rank reports.
    """
    if not request.command:
        raise ConfigError("expected a command after --, such as: mpiexec -n 4 ./program", where="count")
    found = shutil.which(request.command[0])
    if found is None:
        raise ConfigError(f"expected a launcher, found no program {request.command[0]!r}", where="count")
    program = Path(found).absolute()  # a path drops the ./ without which it would be looked for elsewhere
    mpi = find_mpi(program, request.mpicc)
    library = build_interposer(mpi)
    with scratch_directory() as folder:
        run = _run(request, program, mpi, library, Path(folder))
        ranks = read_rank_files(Path(folder))
    if not ranks:
        raise TargetRunError(
            f"expected counts from every rank, found none (exit status {run.exit_status})",
            where=" ".join(request.command),
            hint="the program must call MPI_Init and be linked dynamically with the launcher's MPI (or name "
            "it with --mpicc); with ranks on other hosts, set TMPDIR to a directory that all of them see",
        )
    provenance = collect_provenance(compiler=mpi.version, flags=(), input_hashes=(), seed=0)
    return counted_result(request.command, mpi.version, request.region, run, ranks, provenance)


def _run(request: CountRequest, program: Path, mpi: MpiLibrary, library: Path, folder: Path) -> TargetRun:
    preload = os.environ.get("LD_PRELOAD", "")
    variables = {
        "LD_PRELOAD": f"{library}:{preload}" if preload else str(library),
        "COMMANALYZER_COUNTS": str(folder),
        **({"COMMANALYZER_REGION": request.region} if request.region else {}),
    }
    options = launcher_options(mpi.flavour, variables)
    stdout = sys.stderr.fileno() if request.output_to_stderr else None
    return run_target(
        program,
        with_options(mpi.flavour, options, request.command[1:]),
        stdout=subprocess.DEVNULL if request.discard_output else stdout,
        environment={} if options else variables,
        limits=RunLimits(timeout_s=request.timeout_s),
        label=" ".join(request.command),
    )


def launcher_options(flavour: str, variables: dict[str, str]) -> list[str]:
    """Options that give ``variables`` to the ranks only; none if it passes its own on."""
    if flavour == "hydra":
        return [word for name, value in variables.items() for word in ("-genv", name, value)]
    if flavour == "openmpi":
        return [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    return []


def with_options(flavour: str, options: Sequence[str], words: Sequence[str]) -> list[str]:
    """Arguments of the launcher with ``options``; Open MPI wants them for each of several programs."""
    if flavour != "openmpi":
        return [*options, *words]
    return [*options, *(part for word in words for part in ((word, *options) if word == ":" else (word,)))]
