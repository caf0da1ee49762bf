"""Cost of other dynamic tools on the same programs, those that are installed.

None of them records where values come from; they show what observing every load and store costs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from bench.cases import ROOT
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.recording.runtime import run_target

PROGRAMS = (("heat2d", ("400", "20")), ("matmul", ("120",)), ("spmv", ("20000", "random", "8", "20")))
_SANITIZERS = {
    "MemorySanitizer": "-fsanitize=memory",
    "DataFlowSanitizer": "-fsanitize=dataflow",
    "ThreadSanitizer": "-fsanitize=thread",
}
_VALGRIND = {
    "valgrind cachegrind": ("--tool=cachegrind", "--cachegrind-out-file=/dev/null"),
    "valgrind lackey, memory trace": ("--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null"),
}
Command: TypeAlias = Callable[[str], list[str] | None]


@dataclass(frozen=True, slots=True)
class Peer:
    """CPU time of one tool on each of the programs, over the plain program's; ``None``: it failed."""

    name: str
    ratios: tuple[float | None, ...]


def peers(repeat: int) -> Iterator[Peer]:
    """Every installed tool; none without a clang of the system."""
    compiler = shutil.which("clang")
    if compiler is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        plain = [_time(_compiled(compiler, scratch, (), name), a, repeat) for name, a in PROGRAMS]
        for title, command in _tools(compiler, scratch):
            times = [_time(command(name), arguments, 1) for name, arguments in PROGRAMS]
            ratios = (t / p if t and p else None for t, p in zip(times, plain, strict=True))
            yield Peer(title, tuple(ratios))


def _tools(compiler: str, folder: Path) -> Iterator[tuple[str, Command]]:
    """Name of each tool, and what starts a workload under it."""
    for title, flag in _SANITIZERS.items():
        yield title, partial(_compiled, compiler, folder, (flag,))
    valgrind = shutil.which("valgrind")
    if valgrind is not None:
        for title, options in _VALGRIND.items():
            yield title, partial(_emulated, (valgrind, *options), folder)
    lli = shutil.which("lli")
    if lli is not None:
        yield "lli interpreter", partial(_interpreted, compiler, lli, folder)


def _compiled(compiler: str, folder: Path, flags: Sequence[str], name: str) -> list[str] | None:
    output = folder / "-".join((name, *flags))
    source = ROOT / "workloads" / name / f"{name}.c"
    command = [compiler, "-O2", *flags, str(source), "-o", str(output), "-lm"]
    done = subprocess.run(command, capture_output=True, check=False)
    return [str(output)] if done.returncode == 0 else None


def _emulated(command: Sequence[str], folder: Path, name: str) -> list[str] | None:
    return [*command, str(folder / name)]


def _interpreted(compiler: str, lli: str, folder: Path, name: str) -> list[str] | None:
    """``--force-interpreter`` alone is the compiler: the first option makes it count."""
    bitcode = _compiled(compiler, folder, ("-c", "-emit-llvm"), name)
    return bitcode and [lli, "--jit-kind=mcjit", "--force-interpreter=true", *bitcode]


def _time(command: Sequence[str] | None, arguments: Sequence[str], repeat: int) -> float | None:
    """Least CPU time, seconds; ``None`` if the program cannot be built or fails."""
    if command is None:
        return None
    words = [*command[1:], *arguments]
    try:
        runs = [
            run_target(Path(command[0]), words, stdin=subprocess.DEVNULL, capture=True) for _ in range(repeat)
        ]
    except CommAnalyzerError:
        return None
    return min(run.cpu_s for run in runs) if all(run.exit_status == 0 for run in runs) else None
