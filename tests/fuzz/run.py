"""Compares random programs without recording and with both recordings: output and exit status, bit for bit.

    python -m tests.fuzz.run floating --programs 300 --seed 1 --keep failures/

``floating`` and ``cpp`` are our own generators, ``csmith`` needs csmith and its headers (Debian: ``csmith
libcsmith-dev``). Of ``cpp``, the seed decides what the tool is given: the source, or IR as clang writes it at
-O0, at -O3 (vectorised and unrolled) or at -O3 with reassociation; of ``floating`` and
``fortran``, flags and language. A program that does not end in time is skipped. Exit status 1 when one
failed; its source is kept.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CommAnalyzerError, TargetRunError
from commanalyzer.graph.build import build_store
from commanalyzer.graph.contraction.workspaces import readings, write_workspaces
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.frontend.inputs.fortran import find_fortran
from commanalyzer.program.frontend.toolchain import bundled_toolchain
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.calls import with_thunks
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.runtime import RunLimits, TargetRun, build_instrumented, build_native, run_target
from commanalyzer.recording.trace import Trace, read_trace
from tests.fuzz.cpp_programs import cpp_program
from tests.fuzz.floating_programs import floating_program
from tests.fuzz.fortran_programs import fortran_program

PLAIN_LIMITS = RunLimits(timeout_s=2.0)
TRACED_LIMITS = RunLimits(timeout_s=120.0)


@dataclass(frozen=True)
class Outcome:
    """Result for one program; ``problem`` is empty when both runs agree."""

    seed: int
    source: str
    problem: str
    is_skipped: bool = False


def compare(
    seed: int,
    text: str,
    prepare: Callable[[Path], Path],
    flags: tuple[str, ...] = (),
    suffix: str = ".c",
    fortran: str = "",
) -> Outcome:
    """Compare the runs of one program.

    Args:
        prepare: Called with the source's path; returns what to analyse (the source, or IR made of it).
        fortran: The Fortran compiler and its flags.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"program{suffix}"
        source.write_text(text)
        try:
            problem = _difference(prepare(source), flags, Path(folder), fortran)
        except (CommAnalyzerError, AssertionError, LookupError, ValueError, TypeError) as error:
            return Outcome(seed, text, f"{type(error).__name__}: {error}")
    return Outcome(seed, text, problem or "", is_skipped=problem is None)


def _difference(program: Path, flags: tuple[str, ...], folder: Path, fortran: str) -> str | None:
    """What differs; ``None`` if the plain program does not end in time."""
    frontend = compile_sources([program], flags=flags, fortran=fortran)
    module = with_thunks(parse_module(frontend.ir_text), library_with())
    plan = plan_module(module, PlanOptions())
    executable = build_instrumented(rewrite(module, plan), frontend)
    plain = _run(build_native(frontend), PLAIN_LIMITS, {})
    if isinstance(plain, str) and "signal" not in plain:
        return None
    trace, workspace = folder / "trace", folder / "workspace"
    environment = {"COMMANALYZER_TRACE": str(trace)}
    difference = _recorded_difference(executable, plain, environment)
    if difference:
        return difference
    if isinstance(plain, str):
        return ""  # a signal ended the recording, too
    _write_workspaces(workspace, read_trace(trace), plan.sites)
    environment["COMMANALYZER_WORKSPACE"] = str(workspace)
    difference = _recorded_difference(executable, plain, environment)
    if difference:
        return f"with workspaces: {difference}"
    build_store(read_trace(trace), plan.sites).graph()
    return ""


def _recorded_difference(executable: Path, plain: TargetRun | str, environment: dict[str, str]) -> str:
    """How the recorded run differs from the plain one."""
    expected, found = _behaviour(plain), _behaviour(_run(executable, TRACED_LIMITS, environment))
    return "" if expected == found else f"{expected} became {found}"


def _behaviour(run: TargetRun | str) -> str:
    return run if isinstance(run, str) else f"{run.exit_status} {run.stdout!r}"


def _write_workspaces(path: Path, trace: Trace, sites: SiteTable) -> None:
    """The program's workspaces; all its memory, to try the recorder, if it has none."""
    graph = build_store(trace, sites).graph()
    store = GraphStore.of(graph)
    found = readings(store)[0]
    mask = found if found.any() else ~graph.is_register & (graph.home_object > 0)
    write_workspaces(path, store, mask, sites, trace)


def _run(executable: Path, limits: RunLimits, environment: dict[str, str]) -> TargetRun | str:
    """The run, or why it did not end by itself."""
    try:
        return run_target(
            executable,
            (),
            stdin=subprocess.DEVNULL,
            limits=limits,
            capture=True,
            environment=environment,
            label="the program",
        )
    except TargetRunError as error:
        return str(error)


INCLUDE = Path("/usr/include/csmith")
STANDARD = ("-std=c++17", "-w")
LEVELS: tuple[tuple[str, ...], ...] = ((), ("-O0",), ("-O3",), ("-O3", "-ffast-math", "-fno-inline"))
FLAGS = ("-g", "-ffp-contract=fast", "-ffast-math", "-mfma", "-frounding-math")
RELAXED = "-ffast-math -fhonor-nans -fhonor-infinities"  # without the promise, as programs make NaNs
FORTRAN_FLAGS = ("", "-ffp-contract=off", RELAXED, "-march=haswell", f"{RELAXED} -march=haswell")


def has_csmith() -> bool:
    return shutil.which("csmith") is not None and (INCLUDE / "csmith.h").exists()


def csmith(seed: int) -> Outcome:
    """Run csmith's program number ``seed`` both ways."""
    command = ["csmith", "--seed", str(seed), "--max-funcs", "6", "--max-block-depth", "4"]
    with tempfile.TemporaryDirectory() as folder:  # csmith leaves a file in its working directory
        text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return compare(seed, text, lambda source: source, (f"-I{INCLUDE}", "-w"))


def cpp(seed: int) -> Outcome:
    """Run a C++ program both ways."""
    level = LEVELS[seed % len(LEVELS)]
    return compare(seed, cpp_program(seed), lambda source: _prepared(source, level), STANDARD, ".cpp")


def _prepared(source: Path, flags: tuple[str, ...]) -> Path:
    if not flags:
        return source
    tools = bundled_toolchain()
    bitcode = source.with_suffix(".bc")
    command = [*tools.cxx, *tools.target_flags, *STANDARD, *flags, "-fno-sanitize=all", "-emit-llvm", "-c"]
    subprocess.run([*command, str(source), "-o", str(bitcode)], check=True, capture_output=True)
    return bitcode


def floating(seed: int) -> Outcome:
    """Run a program about floating point both ways."""
    text = floating_program(seed)
    flag = "-g" if "FENV_ACCESS" in text else FLAGS[seed % len(FLAGS)]  # clang refuses it with some
    suffix = ".cpp" if seed % 7 == 0 else ".c"
    return compare(seed, text, lambda source: source, (flag, "-w"), suffix)


def fortran(seed: int) -> Outcome:
    """Run a Fortran program about floating point both ways."""
    compiler = " ".join([*find_fortran().command, FORTRAN_FLAGS[seed % len(FORTRAN_FLAGS)]])
    return compare(seed, fortran_program(seed), lambda source: source, (), ".f90", compiler)


def main() -> int:
    """Compare programs by seed; exit status 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("csmith", "cpp", "floating", "fortran"))
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--keep", type=Path, default=Path("failures"), help="where failing programs are kept")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="begin no program later (s)")
    options = parser.parse_args()
    compare = {"csmith": csmith, "cpp": cpp, "floating": floating, "fortran": fortran}[options.kind]
    started = time.monotonic()
    failures = skipped = count = 0
    for seed in range(options.seed, options.seed + options.programs):
        if time.monotonic() - started > options.time_limit:
            break
        count += 1
        outcome = compare(seed)
        skipped += outcome.is_skipped
        if outcome.problem:
            failures += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{seed}.{options.kind}").write_text(outcome.source)
            sys.stdout.write(f"seed {seed}: {outcome.problem[:400]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} programs from seed {options.seed}, {skipped} skipped, {failures} failures\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
