"""The profile run: build, run under limits, and put the profile together.

Input: what to run. Output: :class:`Profiled`. What the program prints is shown by the plain run, as when it
is recorded.

The file that a profile run writes, as values.

Layout as in ``runtime_shim/profile``: counts of segments, outcomes of branches, reuse of data and
of code for lines of 64 and 128 bytes, parallelism.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ProfileError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress
from commanalyzer.profiles.run.plan import INSTRUCTION_BYTES, RunPlan, plan_run
from commanalyzer.profiles.values import (
    DEFAULT_WINDOW,
    SHAPE,
    Branches,
    Exchange,
    Float64,
    Footprint,
    InstructionMix,
    Int64,
    Parallelism,
    Profile,
    RankProfile,
    Reuse,
    Spans,
)
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.record import compile_program
from commanalyzer.recording.runtime import ProgramRuns, build_native, build_profiled, require_success
from commanalyzer.request import AnalysisRequest

BINS, GROUPS, HISTORY, LIST = 44, 8, 16, 16
_CLASSES = 5
_LINE_SIZES = 2
_FEWEST = 4
"""Sampled lines in between that say that a distance is long: neighbours in the sample may be neighbours in
the run. With half as many, short distances are taken for longer ones; with twice as many, distances below
twice the bound are not told apart."""
DISTANCES = np.concatenate([[0], 1 << np.arange(BINS - 1, dtype=np.int64)])
"""int64[BINS]: 0, 1, 2, 4, ..."""


@dataclass(frozen=True, slots=True, eq=False)
class LineReuse:
    """Reuse of lines of one size: how often by distance; lines and bytes that were touched."""

    reuse: Reuse
    footprint: Footprint


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a profile run measured."""

    executed: Int64  # [S], executions of each segment
    branches: Branches
    data: tuple[LineReuse, ...]  # reuse of data by line size
    code: tuple[LineReuse, ...]  # reuse of instructions by line size
    parallelism: tuple[Parallelism, ...]  # by window; empty if it was not measured
    is_whole: bool  # parallelism covers the whole run


class _ProfileReader:
    """Takes arrays from the file in its order."""

    def __init__(self, path: Path) -> None:
        self._path, self._content = path, BytesIO(path.read_bytes())

    def take(self, kind: str, *shape: int) -> NDArray[np.generic]:
        """Next array; ``ProfileError`` if the file ends before."""
        size = math.prod(shape) * np.dtype(kind).itemsize
        if len(found := self._content.read(size)) < size:
            raise ProfileError(
                "expected a whole profile run, found one that ended early", where=str(self._path)
            )
        return np.frombuffer(found, kind).reshape(shape)

    def integers(self, *shape: int) -> Int64:
        """Next array of whole numbers."""
        return self.take("<u8", *shape).astype(np.int64)


def read_results(path: Path, plan: RunPlan, windows: Sequence[int]) -> RunResult:
    """Results of a run.

    ``windows`` of the parallelism are empty if it was not measured. Raises ``ProfileError`` if the run left
    no file, or not all of it.
    """
    if not path.exists():
        raise ProfileError(
            "expected the program to end by itself, found no results of its profile run",
            hint="programs that end by _exit or by replacing themselves (exec) cannot be profiled",
        )
    reader = _ProfileReader(path)
    executed = reader.integers(len(plan.segments))
    branches = _branches(reader)
    data = tuple(_reuse(reader, 0) for _ in range(_LINE_SIZES))
    code = tuple(_reuse(reader, INSTRUCTION_BYTES) for _ in range(_LINE_SIZES))
    parallelism, is_whole = _parallelism(reader, windows)
    return RunResult(executed, branches, data, code, parallelism, is_whole)


def _branches(reader: _ProfileReader) -> Branches:
    executed = int(reader.integers(2)[0])
    first = reader.take("u1", HISTORY).astype(np.int64)[: min(executed, HISTORY)]
    return branches_of(executed, first, reader.integers(1 << (HISTORY + 1)))


def branches_of(executed: int, first: Int64, outcomes: Int64) -> Branches:
    """Predictability by length of the history.

    ``first``: int64, the first ``HISTORY`` outcomes, or all if there are fewer; ``outcomes``:
    int64[2^(HISTORY + 1)], how often each pattern of outcomes occurred, the oldest one first.

    A history of length h is what the h outcomes before were; branches with fewer before them are left out.
    Entropy is that of an outcome whose history is known (bits), H(h + 1) - H(h) of blocks of outcomes.
    """
    lengths = np.arange(min(HISTORY, max(executed - 1, 0)) + 1, dtype=np.int64)
    entropy, misprediction = np.zeros(len(lengths)), np.zeros(len(lengths))
    for h in lengths.tolist():
        width = h + 1
        counts = outcomes.reshape(-1, 1 << width).sum(axis=0)
        for end in range(width, len(first) + 1):  # what ends before the first whole history
            pattern = int("".join(map(str, first[end - width : end].tolist())), 2)
            counts[pattern] += 1
        pairs = counts.reshape(-1, 2).astype(np.float64)
        total = pairs.sum()
        if not total:
            continue
        shares = pairs[pairs.sum(axis=1) > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = -np.where(shares > 0, shares * np.log2(shares / shares.sum(axis=1, keepdims=True)), 0.0)
        entropy[h] = bits.sum() / total
        misprediction[h] = shares.min(axis=1).sum() / total
    return Branches(lengths, entropy, misprediction, executed)


def _reuse(reader: _ProfileReader, instruction_bytes: int) -> LineReuse:
    facts = tuple(reader.integers(5).tolist())
    near = reader.integers(BINS)
    groups = np.asarray(reader.take("<f8", GROUPS, BINS), dtype=np.float64)
    places, shares = reader.integers(LIST + 1), np.asarray(reader.take("<f8", 4), dtype=np.float64)
    return line_reuse(facts, near, groups, Bursts(places, shares), instruction_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Bursts:
    """Short distances in bursts, in which all accesses were looked at."""

    # [LIST + 1], accesses with each distance below ``LIST``, then others, each times the weight of its burst
    places: Int64
    # Sums over bursts: of weights, of these times the share of short distances, and times its square; of
    # squared weights
    shares: Float64

    @property
    def error(self) -> float:
        """Standard error of the share of short distances: none where all of the run was in bursts."""
        weight, total, squares, weights_squared = self.shares.tolist()
        if weight and weight == weights_squared:
            return 0.0
        count = weight**2 / max(weights_squared, 1.0)  # of equal bursts that tell as much
        if count < 2:
            return 1.0
        return float(np.sqrt(max(squares / weight - (total / weight) ** 2, 0.0) / (count - 1)))


def line_reuse(
    facts: tuple[int, ...], near: Int64, groups: Float64, bursts: Bursts, instruction_bytes: int = 0
) -> LineReuse:
    """Distribution of what a run counted.

    ``facts``: bytes of a line, accesses, distinct lines, distinct bytes, and the negated logarithm of the
    last rate; 0 is exact. ``near``: int64[BINS], accesses with distances below ``LIST`` of an exact run.
    ``groups``: float64[GROUPS, BINS], weights of other accesses, of a sample by a hash of their line.
    ``bursts``: short distances of a sampled run. ``instruction_bytes``: bytes of an instruction, of code.

    Where lines are sampled, short distances have their share of the bursts, longer ones the rest (first
    accesses are known exactly), as sampled; what the sample cannot tell from short ones is put just above
    ``LIST``. The standard error is that of the mean of the groups' distributions, each of them an independent
    sample, and that of the share of the bursts.
    """
    line_bytes, accesses, lines, data_bytes, shift = facts
    counts, error = near + groups.sum(axis=0), 0.0
    if shift:
        share = bursts.places[:LIST] / max(bursts.places.sum(), 1)
        short = np.bincount(np.searchsorted(DISTANCES, np.arange(LIST)), share * accesses, BINS)
        far = max(accesses - lines - short.sum(), 0.0)
        short *= (accesses - lines - far) / max(short.sum(), 1.0)
        long = groups * (max(LIST, _FEWEST << shift) < DISTANCES)
        weights = long.sum(axis=0)
        between = max(far - weights.sum(), 0.0)  # longer than the list, and shorter than a sample can tell
        weights *= (far - between) / max(weights.sum(), 1.0)
        weights[int(np.searchsorted(DISTANCES, LIST)) + 1] += between
        counts = short + weights
        sizes = long.sum(axis=1)
        used = long[sizes > 0] / sizes[sizes > 0, None]
        spread = np.cumsum(used, axis=1).std(axis=0, ddof=1) if len(used) > 1 else np.full(BINS, far > 0)
        spatial = float(spread.max() / np.sqrt(max(len(used), 1)) * far / max(accesses, 1))
        error = float(np.hypot(spatial, bursts.error))
    filled = np.flatnonzero(counts)
    end = int(filled[-1]) + 1 if len(filled) else 1
    reuse = Reuse(line_bytes, DISTANCES[:end].copy(), counts[:end], accesses, error, instruction_bytes)
    return LineReuse(reuse, Footprint(data_bytes, lines, line_bytes, data_bytes, lines))


def _parallelism(reader: _ProfileReader, windows: Sequence[int]) -> tuple[tuple[Parallelism, ...], bool]:
    if not windows:
        return (), True
    started, is_short = reader.integers(2).tolist()
    counted = reader.integers(_CLASSES)[: _CLASSES - 1]
    instructions = np.concatenate([[started], counted]).astype(np.float64)
    result = []
    for window in windows:
        spans = [reader.integers(_CLASSES).astype(np.float64) for _ in range(2)]
        orders = [Spans(s, np.divide(instructions, s, out=np.zeros(_CLASSES), where=s > 0)) for s in spans]
        result.append(Parallelism(window, *orders))
    return tuple(result), not is_short


DEFAULT_WINDOWS = (DEFAULT_WINDOW, 0)
MOST_WINDOWS = 4
LARGEST_WINDOW = 1 << 20
_HEADER = 12


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What a profile run measures; ``ProfileError`` if a window is out of range."""

    program: AnalysisRequest  # the program, its arguments, input, limits and compiler
    application: str = ""  # name in the profile; the first source's without it
    scale: Mapping[str, float] | None = None  # scaling parameters and their values
    is_exact: bool = False  # reuse distances are exact; else those of more than 8192 lines are sampled
    # Windows of the parallelism of instructions, 0 for no limit; empty: it is not measured
    windows: tuple[int, ...] = DEFAULT_WINDOWS

    def __post_init__(self) -> None:
        wrong = [w for w in self.windows if not 0 <= w <= LARGEST_WINDOW]
        if wrong or len(self.windows) > MOST_WINDOWS or len(set(self.windows)) < len(self.windows):
            raise ProfileError(
                f"expected up to {MOST_WINDOWS} different windows from 0 to {LARGEST_WINDOW}, "
                f"found {', '.join(map(str, self.windows))}",
                where="--window",
            )


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile, and what measuring it cost."""

    profile: Profile
    native_s: float  # CPU time of the plain program, seconds
    profile_s: float  # CPU time of the profile run, seconds
    exit_status: int  # of the program


def profile_program(request: ProfileRequest, progress: Progress) -> Profiled:
    """Profile of a sequential program; ``CommAnalyzerError`` if it does not compile, run or end by itself."""
    program = request.program
    progress.stage("compile", 1)
    frontend = compile_program(program)
    progress.stage("instrument", 1)
    plan = plan_run(parse_module(frontend.ir_text))
    native = build_native(frontend, program.compiler.link_flags)
    instrumented = build_profiled(plan.text(), frontend, program.compiler.link_flags)
    with scratch_directory() as scratch:
        runs = ProgramRuns.of(program, Path(scratch))
        progress.stage("run the program", 1)
        plain = runs.plain(native)
        require_success(plain, program.sources[0].name, allow_failure=program.allow_failure)
        progress.stage("profile the program", 1)
        path, out = Path(scratch) / "plan", Path(scratch) / "profile"
        path.write_bytes(plan_bytes(plan, request))
        run = runs.profiled(instrumented, {"PROFILE_PLAN": str(path), "PROFILE": str(out)})
        result = read_results(out, plan, request.windows)
    _require_one_thread(program, plan, result)
    if run.exit_status != plain.exit_status:
        raise TargetRunError(
            f"expected the exit status of the plain run ({plain.exit_status}), found {run.exit_status}",
            where=program.sources[0].name,
            hint="a program that measures time or memory may differ from run to run",
        )
    profile = Profile(
        request.application or program.sources[0].stem,
        dict(request.scale or {}),
        (sequential(plan, result),),
        _remarks(result),
    )
    return Profiled(profile, plain.cpu_s, run.cpu_s, plain.exit_status)


def plan_bytes(plan: RunPlan, request: ProfileRequest) -> bytes:
    """The plan file."""
    tables = plan.tables
    windows = np.array(request.windows, dtype=np.int32)
    counts = [len(tables[name]) for name in ("segments", "instructions", "operands", "functions")]
    header = [
        *counts, plan.num_registers, len(windows),
        int(request.is_exact), int(bool(request.windows)), INSTRUCTION_BYTES, 0, 0, 0,
    ]  # fmt: skip
    assert len(header) == _HEADER
    sections: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = [
        np.array(header, dtype=np.int32), *tables.values(), windows,
    ]  # fmt: skip
    parts = [np.ascontiguousarray(s).tobytes() for s in sections]
    return b"".join(part + bytes(-len(part) % 8) for part in parts)


def sequential(plan: RunPlan, result: RunResult) -> RankProfile:
    """Profile of the whole program as one rank."""
    facts, executed = plan.facts, result.executed
    counts = np.zeros(int(np.prod(SHAPE)))
    np.add.at(counts, facts.mix_type, executed[facts.mix_segment].astype(np.float64))
    calls: dict[str, float] = {}
    for segment, name in facts.calls:
        if executed[segment]:
            calls[name] = calls.get(name, 0.0) + float(executed[segment])
    none = np.zeros(0)
    return RankProfile(
        mix=InstructionMix(counts.reshape(SHAPE)),
        register_reads=float(facts.reads @ executed),
        register_writes=float(facts.writes @ executed),
        parallelism=result.parallelism,
        data_reuse=tuple(d.reuse for d in result.data),
        instruction_reuse=tuple(c.reuse for c in result.code),
        footprint=result.data[0].footprint,
        branches=result.branches,
        exchange=Exchange(0, 0, none.astype(np.int64), none, none),
        library_calls=calls,
        missing=frozenset() if result.parallelism else frozenset(("ilp",)),
    )


def _remarks(result: RunResult) -> tuple[str, ...]:
    found = []
    errors = [d.reuse.error for d in result.data]
    if any(errors):
        found.append(
            f"data reuse distances of 16 lines and more are sampled, standard error {max(errors):.2g}"
        )
    if not result.is_whole:
        found.append("parallelism of instructions was measured up to 2^32 cycles")
    return tuple(found)


def _require_one_thread(request: AnalysisRequest, plan: RunPlan, result: RunResult) -> None:
    """``TargetRunError`` if the program started threads: they would write into each other's buffer."""
    starters = library_with(*request.library_models).thread_starters
    started = sorted(
        {name for segment, name in plan.facts.calls if name in starters and result.executed[segment]}
    )
    if started:
        raise TargetRunError(
            f"expected a sequential program, found one that started threads: {', '.join(started)}",
            hint="profile the sequential version (one thread, without -fopenmp)",
        )
