"""Builds and runs the MPI counterparts of the workloads with the ``mpich`` wheel and the bundled compiler."""

import os
import subprocess
import sys
from pathlib import Path

from tests.native import ROOT

SCRIPTS = Path(sys.executable).parent
WORKLOADS = ROOT / "workloads"


def compile_mpi(name: str, folder: Path) -> Path:
    """Compile the MPI counterpart of a workload, with warnings as errors."""
    program = folder / f"{name}_mpi"
    source = WORKLOADS / name / "mpi" / f"{name}_mpi.c"
    options = ["-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [str(SCRIPTS / "mpicc"), *options, "-o", str(program), str(source), "-lm"],
        env={**os.environ, "MPICH_CC": f"{sys.executable} -m ziglang cc"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def mpi_command(program: Path, processes: int, *arguments: str) -> list[str]:
    """Command line of an MPI program; more processes than cores are no problem."""
    return [str(SCRIPTS / "mpiexec"), "-n", str(processes), str(program), *arguments]
