"""Compares random csmith programs with and without instrumentation.

    python -m tests.fuzz.run_csmith --programs 100 --seed 1 --keep failures/

Needs ``csmith`` and its headers (Debian: ``csmith libcsmith-dev``). A program that does not end in time
without instrumentation is skipped. Exit status 1 when a program failed; its source is kept.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.errors import CommAnalyzerError
from commanalyzer.frontend.compile import compile_sources
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.parser import parse_module
from commanalyzer.runtime.build import build_instrumented, build_native
from commanalyzer.runtime.launch import RunLimits, TargetRun, run_target

INCLUDE = Path("/usr/include/csmith")
PLAIN_LIMITS = RunLimits(timeout_s=2.0)
TRACED_LIMITS = RunLimits(timeout_s=120.0)


@dataclass(frozen=True)
class Outcome:
    """Result for one program; ``problem`` is empty when both runs agree."""

    seed: int
    source: str
    problem: str
    is_skipped: bool = False


def is_available() -> bool:
    """Csmith and its headers are installed."""
    return shutil.which("csmith") is not None and (INCLUDE / "csmith.h").exists()


def generate(seed: int) -> str:
    """Source text of csmith's program number ``seed``."""
    command = ["csmith", "--seed", str(seed), "--max-funcs", "6", "--max-block-depth", "4"]
    with tempfile.TemporaryDirectory() as folder:  # csmith leaves a file in its working directory
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout


def compare(seed: int) -> Outcome:
    """Run one program both ways."""
    text = generate(seed)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        try:
            return _compare(seed, text, source, Path(folder))
        except (CommAnalyzerError, AssertionError, LookupError, ValueError) as error:
            return Outcome(seed, text, f"{type(error).__name__}: {error}")


def _compare(seed: int, text: str, source: Path, folder: Path) -> Outcome:
    frontend = compile_sources([source], flags=(f"-I{INCLUDE}", "-w"))
    module = parse_module(frontend.ir_text)
    executable = build_instrumented(rewrite(module, plan_module(module, PlanOptions())), frontend)
    plain = _run(build_native(frontend), PLAIN_LIMITS, {})
    if plain is None:
        return Outcome(seed, text, "", is_skipped=True)
    traced = _run(executable, TRACED_LIMITS, {"COMMANALYZER_TRACE": str(folder / "trace")})
    if traced is None:
        return Outcome(seed, text, "the instrumented program does not end")
    same = (plain.stdout, plain.exit_status) == (traced.stdout, traced.exit_status)
    difference = f"{plain.exit_status} {plain.stdout!r} became {traced.exit_status} {traced.stdout!r}"
    return Outcome(seed, text, "" if same else difference)


def _run(executable: Path, limits: RunLimits, environment: dict[str, str]) -> TargetRun | None:
    try:
        return run_target(
            executable, (), stdin=subprocess.DEVNULL, limits=limits, capture=True, environment=environment
        )
    except CommAnalyzerError:
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("csmith-failures"))
    options = parser.parse_args(arguments)
    if not is_available():
        sys.stderr.write("csmith or its headers are not installed\n")
        return 2
    failures = skipped = 0
    for seed in range(options.seed, options.seed + options.programs):
        outcome = compare(seed)
        skipped += outcome.is_skipped
        if outcome.problem:
            failures += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{seed}.c").write_text(outcome.source)
            sys.stdout.write(f"seed {seed}: {outcome.problem[:400]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{options.programs} programs, {skipped} skipped, {failures} failures\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
