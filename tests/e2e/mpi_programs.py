"""Builds and runs the MPI counterparts of the workloads with the ``mpich`` wheel and the bundled compiler."""

import os
import sys
from pathlib import Path

from tests.native import ROOT, NativeRun, run

SCRIPTS = Path(sys.executable).parent
WORKLOADS = ROOT / "workloads"


def compile_mpi(name: str, folder: Path, *options: str) -> Path:
    """Compile the MPI counterpart of a workload."""
    program = folder / f"{name}_mpi"
    source = WORKLOADS / name / "mpi" / f"{name}_mpi.c"
    environment = {**os.environ, "MPICH_CC": f"{sys.executable} -m ziglang cc"}
    done = run(SCRIPTS / "mpicc", "-std=c11", *options, "-o", program, source, "-lm", env=environment)
    assert done.status == 0, done.stderr
    return program


def mpi_command(program: Path, processes: int, *arguments: object) -> list[str]:
    """Command line of an MPI program; more processes than cores are no problem."""
    return [str(SCRIPTS / "mpiexec"), "-n", str(processes), str(program), *map(str, arguments)]


def run_mpi(program: Path, processes: int, *arguments: object) -> NativeRun:
    return run(*mpi_command(program, processes, *arguments))
