"""The profile run: build, run under limits, and put the profile together.

Input: what to run. Output: :class:`Profiled`. What the program prints is shown by the plain run, as when it
is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ProfileError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress
from commanalyzer.profiles.mix import SHAPE, InstructionMix
from commanalyzer.profiles.run.plan import INSTRUCTION_BYTES, RunPlan, plan_run
from commanalyzer.profiles.run.results import RunResult, read_results
from commanalyzer.profiles.values import DEFAULT_WINDOW, Exchange, Profile, RankProfile
from commanalyzer.program.ir.library_files import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.record import compile_program
from commanalyzer.recording.runtime.build import build_native, build_profiled
from commanalyzer.recording.runtime.launch import require_success
from commanalyzer.recording.runtime.recorder import ProgramRuns
from commanalyzer.request import AnalysisRequest

DEFAULT_WINDOWS = (DEFAULT_WINDOW, 0)
MOST_WINDOWS = 4
LARGEST_WINDOW = 1 << 20
_HEADER = 12


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What a profile run measures.

    Attributes:
        program: The program, its arguments, input, limits and compiler.
        application: Name in the profile; the first source's without it.
        scale: Scaling parameters and their values.
        is_exact: Reuse distances are exact; else those of more than 8192 lines are sampled.
        windows: Windows of the parallelism of instructions, 0 for no limit; empty: it is not measured.

    Raises:
        ProfileError: If a window is out of range.
    """

    program: AnalysisRequest
    application: str = ""
    scale: Mapping[str, float] | None = None
    is_exact: bool = False
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
    """A profile, and what measuring it cost.

    Attributes:
        profile: The profile.
        native_s: CPU time of the plain program, seconds.
        profile_s: CPU time of the profile run, seconds.
        exit_status: Of the program.
    """

    profile: Profile
    native_s: float
    profile_s: float
    exit_status: int


def profile_program(request: ProfileRequest, progress: Progress) -> Profiled:
    """Profile of a sequential program.

    Raises:
        CommAnalyzerError: If the program does not compile, run or end by itself.
    """
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
    counts = [len(tables[name]) for name in ("segments", "accesses", "instructions", "operands", "functions")]
    header = [
        *counts, plan.num_registers, len(windows),
        int(request.is_exact), int(bool(request.windows)), INSTRUCTION_BYTES, 0, 0,
    ]  # fmt: skip
    assert len(header) == _HEADER
    sections: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = [
        np.array(header, dtype=np.int32), *tables.values(), windows,
    ]  # fmt: skip
    return b"".join(_padded(np.ascontiguousarray(s).tobytes()) for s in sections)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 8)


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
    """Raise if the program started threads: they would write into each other's buffer.

    Raises:
        TargetRunError: As said.
    """
    starters = library_with(*request.library_models).thread_starters
    started = sorted(
        {name for segment, name in plan.facts.calls if name in starters and result.executed[segment]}
    )
    if started:
        raise TargetRunError(
            f"expected a sequential program, found one that started threads: {', '.join(started)}",
            hint="profile the sequential version (one thread, without -fopenmp)",
        )
