"""The communicator of the measurements on mpi4py; the only module that imports it.

Upper-case calls on numpy buffers. mpi4py is imported by :func:`world`, which initialises MPI.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import MachineModelError

if TYPE_CHECKING:
    from mpi4py import MPI

Buffer = NDArray[np.uint8]
Request: TypeAlias = "MPI.Prequest"
_WORK_VALUES = 2048
# How the usual launchers tell a process its rank, and the number of ranks.
_RANK_VARIABLES = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MPI_RANKID",
    "PALS_RANKID",
    "SLURM_PROCID",
)
_OPEN_MPI = "OMPI_COMM_WORLD_SIZE"
_CHOICES = frozenset(("MPI4PY_MPIABI", "MPI4PY_LIBMPI"))
_SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_NRANKS", "SLURM_STEP_NUM_TASKS")


class MpiCommunicator:
    """What the measurements need of a group of ranks; another one takes its place on a simulated network."""

    def __init__(self, comm: MPI.Comm) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._values = np.linspace(0.0, 1.0, _WORK_VALUES)
        self._result = np.empty(_WORK_VALUES)

    @property
    def library(self) -> str:
        """Version line of the MPI library."""
        return self._mpi.Get_library_version().rstrip("\0").strip().splitlines()[0].strip()

    def clock_s(self) -> float:
        """Time of MPI's clock, since some moment of the past, seconds."""
        return self._mpi.Wtime()

    def work(self, units: int) -> None:
        """Add short arrays ``units`` times; they stay in the cache."""
        values, result = self._values, self._result
        for _ in range(units):
            np.add(values, values, out=result)

    def barrier(self) -> None:
        """Return after all ranks have called it."""
        self._comm.Barrier()

    def prepare_send(self, buffer: Buffer, target: int) -> Request:
        """Persistent request that sends ``buffer`` each time it is started."""
        return self._comm.Send_init([buffer, self._mpi.BYTE], target)

    def prepare_receive(self, buffer: Buffer, source: int) -> Request:
        """Persistent request that receives into ``buffer`` each time it is started."""
        return self._comm.Recv_init([buffer, self._mpi.BYTE], source)

    def start(self, requests: Sequence[Request]) -> None:
        """Start persistent requests with one call."""
        self._mpi.Prequest.Startall(list(requests))

    def wait(self, requests: Sequence[Request]) -> None:
        """Return when all started requests are complete."""
        self._mpi.Request.Waitall(list(requests))

    def release(self, requests: Sequence[Request]) -> None:
        """Free persistent requests that are not active."""
        for request in requests:
            request.Free()

    def send(self, buffer: Buffer, target: int) -> None:
        """Blocking send."""
        self._comm.Send([buffer, self._mpi.BYTE], target)

    def receive(self, buffer: Buffer, source: int) -> None:
        """Blocking receive."""
        self._comm.Recv([buffer, self._mpi.BYTE], source)

    def send_to_nobody(self, buffer: Buffer) -> None:
        """Blocking send that moves nothing: what a call costs without a network."""
        self._comm.Send([buffer, self._mpi.BYTE], self._mpi.PROC_NULL)

    def allreduce(self, values: NDArray[np.float64], result: NDArray[np.float64]) -> None:
        """Sum of ``values`` over all ranks, into ``result``."""
        self._comm.Allreduce(values, result, self._mpi.SUM)

    def broadcast(self, buffer: Buffer) -> None:
        """``buffer`` of rank 0 on all ranks."""
        self._comm.Bcast([buffer, self._mpi.BYTE], 0)

    def largest(self, value: float) -> float:
        """Largest ``value`` of all ranks, for decisions that all must take alike."""
        result = np.empty(1)
        self._comm.Allreduce(np.array([value]), result, self._mpi.MAX)
        return float(result[0])

    def gather(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``values`` of every rank, float64[ranks, n], on rank 0; empty elsewhere."""
        rows = np.empty((self.size if self.rank == 0 else 0, values.size))
        self._comm.Gather(np.ascontiguousarray(values), rows if self.rank == 0 else None, 0)
        return rows

    def gather_texts(self, text: str) -> tuple[str, ...]:
        """``text`` of every rank, on all ranks."""
        return tuple(self._comm.allgather(text))

    def split(self, is_member: bool) -> Self | None:
        """Group of the ranks that are members, in their order; ``None`` for the others."""
        group = self._comm.Split(0 if is_member else self._mpi.UNDEFINED, self.rank)
        return type(self)(group) if is_member else None

    def abort(self, status: int) -> None:
        """End all ranks: one of them cannot go on, the others would wait for it."""
        self._comm.Abort(status)


def world() -> MpiCommunicator:
    """All ranks; initialises MPI; ``MachineModelError`` if there is no MPI library, or not the launcher's."""
    # The wheels of mpi4py know several libraries and take MPICH's wheel first; the launcher decides.
    if _OPEN_MPI in os.environ and not os.environ.keys() & _CHOICES:
        os.environ["MPI4PY_MPIABI"] = "openmpi"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MachineModelError(
            f"expected an MPI library that mpi4py can load, found: {error}",
            hint="pip install mpich mpi4py, or build mpi4py with the mpicc of your MPI: "
            "pip install --no-binary mpi4py mpi4py",
        ) from error
    comm = MpiCommunicator(MPI.COMM_WORLD)
    launched = launched_ranks()
    if comm.size == 1 and launched > 1:
        raise MachineModelError(
            f"expected {launched} ranks, as the launcher says, found 1 in each process: the launcher belongs "
            f"to another MPI than mpi4py's ({comm.library})",
            hint="use the mpiexec of that MPI, srun's --mpi, or set MPI4PY_MPIABI and MPI4PY_LIBMPI",
        )
    return comm


def launcher_rank() -> int:
    """Rank of this process as the launcher says, 0 without one; does not touch MPI."""
    return _first_number(_RANK_VARIABLES, 0)


def launched_ranks() -> int:
    """Number of ranks as the launcher says, 1 without one; does not touch MPI."""
    return _first_number(_SIZE_VARIABLES, 1)


def _first_number(variables: Sequence[str], default: int) -> int:
    found = (os.environ.get(name, "") for name in variables)
    return next((int(text) for text in found if text.isdecimal()), default)
