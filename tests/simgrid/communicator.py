"""The communicator of the measurements on SimGrid's SMPI, through ctypes.

SMPI runs all ranks in one process. With its thread contexts each rank is a thread, and as ctypes releases
Python's lock around foreign calls, Python functions can be ranks: the measurement code runs unchanged, on
simulated time and a simulated network.
"""

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from commanalyzer.machine.measuring.mpi import Buffer

NAME = ctypes.util.find_library("simgrid")
# Handles, constants and the functions that start ranks are those of this release.
IS_KNOWN = NAME is not None and NAME.endswith(".so.3.32")
_TAG = 1
_TEXT_BYTES = 4096
_NOBODY = -666  # MPI_PROC_NULL of SMPI
_UNDEFINED = -333  # MPI_UNDEFINED of SMPI
_MAIN = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))


class _Library:
    """Functions and handles of libsimgrid."""

    def __init__(self) -> None:
        assert NAME is not None
        self.c = ctypes.CDLL(NAME, mode=ctypes.RTLD_GLOBAL)
        self.c.MPI_Wtime.restype = ctypes.c_double
        self.c.smpi_execute_flops.argtypes = [ctypes.c_double]
        self.world = ctypes.c_void_p.in_dll(self.c, "MPI_COMM_WORLD")
        self.byte, self.double, self.sum, self.max = (
            ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.c, f"smpi_MPI_{name}")))
            for name in ("BYTE", "DOUBLE", "SUM", "MAX")
        )


Request = ctypes.c_void_p


class SmpiCommunicator:
    """In the place of :class:`.mpi.MpiCommunicator`; one unit of work is 1 us at 1 GFlop/s."""

    def __init__(self, library: _Library, handle: ctypes.c_void_p) -> None:
        self.library = library
        self._c = library.c
        self.handle = handle
        self.rank = self._number(self._c.MPI_Comm_rank)
        self.size = self._number(self._c.MPI_Comm_size)

    def _number(self, function: Callable[..., int]) -> int:
        found = ctypes.c_int()
        function(self.handle, ctypes.byref(found))
        return found.value

    def clock_s(self) -> float:
        return float(self._c.MPI_Wtime())

    def work(self, units: int) -> None:
        self._c.smpi_execute_flops(1e3 * units)

    def barrier(self) -> None:
        self._c.MPI_Barrier(self.handle)

    def prepare_send(self, buffer: Buffer, target: int) -> Request:
        return self._prepare(self._c.MPI_Send_init, buffer, target)

    def prepare_receive(self, buffer: Buffer, source: int) -> Request:
        return self._prepare(self._c.MPI_Recv_init, buffer, source)

    def _prepare(self, function: Callable[..., int], buffer: Buffer, peer: int) -> Request:
        request = Request()
        size = ctypes.c_int(buffer.nbytes)
        function(_address(buffer), size, self.library.byte, peer, _TAG, self.handle, ctypes.byref(request))
        return request

    def start(self, requests: Sequence[Request]) -> None:
        self._on_all(self._c.MPI_Startall, requests)

    def wait(self, requests: Sequence[Request]) -> None:
        self._on_all(self._c.MPI_Waitall, requests, None)

    def _on_all(self, function: Callable[..., int], requests: Sequence[Request], *rest: None) -> None:
        handles = (ctypes.c_void_p * len(requests))(*(request.value for request in requests))
        function(len(requests), handles, *rest)
        for request, handle in zip(requests, handles, strict=True):
            request.value = handle

    def release(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._c.MPI_Request_free(ctypes.byref(request))

    def send(self, buffer: Buffer, target: int) -> None:
        self._c.MPI_Send(_address(buffer), buffer.nbytes, self.library.byte, target, _TAG, self.handle)

    def receive(self, buffer: Buffer, source: int) -> None:
        self._c.MPI_Recv(_address(buffer), buffer.nbytes, self.library.byte, source, _TAG, self.handle, None)

    def send_to_nobody(self, buffer: Buffer) -> None:
        self.send(buffer, _NOBODY)

    def allreduce(self, values: NDArray[np.float64], result: NDArray[np.float64]) -> None:
        self._reduce(values, result, self.library.sum)

    def _reduce(
        self, values: NDArray[np.float64], result: NDArray[np.float64], operation: ctypes.c_void_p
    ) -> None:
        self._c.MPI_Allreduce(
            _address(values), _address(result), values.size, self.library.double, operation, self.handle
        )

    def broadcast(self, buffer: Buffer) -> None:
        self._c.MPI_Bcast(_address(buffer), buffer.nbytes, self.library.byte, 0, self.handle)

    def largest(self, value: float) -> float:
        result = np.empty(1)
        self._reduce(np.array([value]), result, self.library.max)
        return float(result[0])

    def gather(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.empty((self.size if self.rank == 0 else 0, values.size))
        double = self.library.double
        count = values.size
        self._c.MPI_Gather(_address(values), count, double, _address(rows), count, double, 0, self.handle)
        return rows

    def gather_texts(self, text: str) -> tuple[str, ...]:
        width = _TEXT_BYTES
        own = np.zeros(width, dtype=np.uint8)
        own[: len(text.encode())] = np.frombuffer(text.encode(), dtype=np.uint8)
        rows = np.zeros((self.size, width), dtype=np.uint8)
        byte = self.library.byte
        self._c.MPI_Allgather(_address(own), width, byte, _address(rows), width, byte, self.handle)
        return tuple(row.tobytes().rstrip(b"\0").decode() for row in rows)

    def split(self, is_member: bool) -> Self | None:
        handle = ctypes.c_void_p()
        self._c.MPI_Comm_split(self.handle, 0 if is_member else _UNDEFINED, self.rank, ctypes.byref(handle))
        return type(self)(self.library, handle) if is_member else None


def run_ranks(
    platform: Path, deployment: Path, options: Sequence[str], rank_main: Callable[[SmpiCommunicator], None]
) -> list[Exception]:
    """Run ``rank_main`` on every rank of the deployment; once per process.

    Args:
        deployment: Deployment file whose function is ``rank``.
        options: SimGrid's options.
        rank_main: Called with the communicator of all ranks.

    Returns:
        What the ranks raised.
    """
    library = _Library()
    failures: list[Exception] = []
    words = ["ranks", "--cfg=contexts/factory:thread", "--cfg=smpi/simulate-computation:no", *options]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    library.c.simgrid_init(ctypes.byref(ctypes.c_int(len(words))), argv)
    library.c.SMPI_init()
    library.c.simgrid_load_platform(str(platform).encode())

    def main(_count: int, _words: object) -> None:
        library.c.MPI_Init(None, None)
        try:
            rank_main(SmpiCommunicator(library, library.world))
        except Exception as error:  # noqa: BLE001 an exception cannot cross the C code that called us
            failures.append(error)
        library.c.MPI_Finalize()

    function = _MAIN(main)
    count = deployment.read_text().count("<actor ")
    library.c.SMPI_app_instance_register(b"rank", function, count)
    library.c.simgrid_load_deployment(str(deployment).encode())
    library.c.simgrid_run()
    library.c.SMPI_finalize()
    return failures


def _address(array: NDArray[np.uint8] | NDArray[np.float64]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
