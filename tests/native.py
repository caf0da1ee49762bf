"""Compile and run C and C++ programs without instrumentation, with the compiler of the ``ziglang`` wheel."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commanalyzer.program.frontend.toolchain import bundled_toolchain

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class NativeRun:
    """What a program printed, and its exit status."""

    status: int
    stdout: str
    stderr: str


def numbers(result: NativeRun, labels: tuple[str, ...]) -> list[float]:
    """The numbers that follow ``labels`` in the output."""
    assert result.status == 0, result.stderr
    words = result.stdout.split()
    return [float(words[words.index(label) + 1]) for label in labels]


def compile_native(source: Path, program: Path, *options: str) -> Path:
    """Compile ``source`` (C11 or C++17) to ``program`` and return it; warnings are errors of the test."""
    tools = bundled_toolchain()  # with the tool's target: what zig builds for one first, it builds once
    compiler, standard = (tools.cc, "-std=c11") if source.suffix == ".c" else (tools.cxx, "-std=c++17")
    done = run(*compiler, *tools.target_flags, standard, *options, "-o", program, source, "-lm")
    assert done.status == 0, done.stderr
    return program


def run(program: Path | str, *arguments: object, timeout_s: float = 120.0, **options: Any) -> NativeRun:
    """Run ``program`` to its end; ``options`` are those of ``subprocess.run``: ``cwd``, ``env``."""
    words = [str(word) for word in (program, *arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout_s, **options)
    return NativeRun(done.returncode, done.stdout, done.stderr)
