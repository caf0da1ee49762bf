"""Builds MPI programs with the wrappers of the ``mpich`` wheel and the bundled compiler."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from commanalyzer.foundation.errors import CompileError, ConfigError
from commanalyzer.program.frontend.subprocesses import run_tool
from commanalyzer.program.frontend.toolchain import bundled_compiler

_TIMEOUT_S = 300.0
# Sums must be those of the sequential program: no fused operations.
_OPTIONS = ("-O2", "-ffp-contract=off")


def mpi_tool(name: str) -> Path:
    """Program of the MPI beside this Python, else on the search path.

    Raises:
        ConfigError: If there is none.
    """
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise ConfigError(f"expected {name}, found none", hint="pip install mpich")
    return Path(found)


def build_mpi(sources: Sequence[Path], program: Path, flags: Sequence[str] = ()) -> Path:
    """Compile and link ``program``; all C, or all C++.

    Raises:
        ConfigError: If there is no MPI.
        CompileError: If it does not compile.
    """
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
