"""Builds the MPI programs of these tests, and finds the MPI libraries that are there."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.native import run

SOURCES = Path(__file__).resolve().parent
_AS_ANYONE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@dataclass(frozen=True, slots=True)
class Mpi:
    """An installed MPI: its launcher and compiler wrapper."""

    name: str
    launcher: str
    compiler: str
    libraries: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """Variables for compiling and running: bundled compiler, more ranks than cores."""
        compiler = f"{sys.executable} -m ziglang cc"
        return {"MPICH_CC": compiler, "OMPI_CC": "cc", **_AS_ANYONE}

    def compile(self, source: Path, program: Path, *flags: str) -> Path:
        environment = {**os.environ, **self.environment}
        done = run(self.compiler, "-O1", source, "-o", program, *flags, env=environment)
        assert done.status == 0, done.stderr
        return program


def wheel() -> Mpi:
    """MPICH that comes as a dependency of this package."""
    folder = Path(sys.executable).parent
    return Mpi("mpich", str(folder / "mpiexec"), str(folder / "mpicc"))


def open_mpi() -> Mpi | None:
    """Open MPI of the system, if there is one."""
    launcher, compiler = shutil.which("mpiexec.openmpi"), shutil.which("mpicc.openmpi")
    if launcher is None or compiler is None:
        return None
    return Mpi("openmpi", launcher, compiler)
