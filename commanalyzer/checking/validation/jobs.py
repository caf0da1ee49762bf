"""Runs cases, several at a time if wanted; a case that fails does not end the others.

Builds MPI programs with the wrappers of the ``mpich`` wheel and the bundled compiler.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias, TypeVar

from commanalyzer.checking.validation.cases import CaseProgram
from commanalyzer.foundation.errors import CommAnalyzerError, CompileError, ConfigError
from commanalyzer.foundation.progress import Progress
from commanalyzer.program.frontend.toolchain import bundled_compiler, run_tool

_TIMEOUT_S = 300.0
# Sums must be those of the sequential program: no fused operations.
_OPTIONS = ("-O2", "-ffp-contract=off")


def mpi_tool(name: str) -> Path:
    """Program of the MPI beside this Python, else on the path; a :class:`ConfigError` if there is none."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise ConfigError(f"expected {name}, found none", hint="pip install mpich")
    return Path(found)


def build_mpi(sources: Sequence[Path], program: Path, flags: Sequence[str] = ()) -> Path:
    """Compile and link ``program``, all C or all C++; a :class:`CompileError`, or ConfigError without MPI."""
    is_c = all(source.suffix == ".c" for source in sources)
    wrapper = mpi_tool("mpicc" if is_c else "mpicxx")
    compiler = shlex.join(bundled_compiler("c" if is_c else "c++"))
    includes = [f"-I{folder}" for folder in dict.fromkeys(source.parent for source in sources)]
    done = run_tool(
        [str(wrapper), *_OPTIONS, *flags, *includes, "-o", str(program), *map(str, sources), "-lm"],
        timeout_s=_TIMEOUT_S,
        environment={"MPICH_CC" if is_c else "MPICH_CXX": compiler},
    )
    if not done.ok:
        raise CompileError(f"the MPI program does not compile:\n{done.last_lines()}", where=str(sources[0]))
    return program


T = TypeVar("T")
Case: TypeAlias = tuple[CaseProgram, tuple[str, ...]]  # with its arguments


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs that could not be compared, and why."""

    workload: CaseProgram
    arguments: tuple[str, ...]
    reason: str


def each_case(
    run: Callable[[Case], Sequence[T]], cases: Sequence[Case], name: str, progress: Progress, jobs: int
) -> Iterator[T | Failure]:
    """Results of ``run`` in the order of ``cases``, as they are ready; ``jobs`` processes run side by side.

    With several, ``run`` has to be one that can be pickled. The stage called ``name`` has one step per case.
    """
    progress.stage(f"{name}: {len(cases)} cases", len(cases))
    guarded = partial(_guarded, run)
    if jobs == 1:
        for case in cases:
            yield from guarded(case)
            progress.advance()
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for results in pool.map(guarded, cases):
            yield from results
            progress.advance()


def _guarded(run: Callable[[Case], Sequence[T]], case: Case) -> list[T | Failure]:
    try:
        return list(run(case))
    except CommAnalyzerError as error:
        return [Failure(*case, error.text)]
