"""METIS itself: arrays -> parts. The only importer of pymetis; light, for it also runs in helpers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymetis
from numpy.typing import NDArray


def divide(
    num_parts: int,
    pointer: NDArray[np.int64],
    neighbour: NDArray[np.int64],
    vertex_weight: NDArray[np.int64],
    edge_weight: NDArray[np.int64],
    options: dict[str, int],
) -> NDArray[np.int32]:
    """Return int32[N], parts of a graph in compressed sparse rows by METIS's k-way method, with its options.

    ``pointer`` is [N + 1], ``neighbour`` and the weights of edges are [2 E]. Raises ``RuntimeError``,
    ``ValueError`` or ``TypeError`` if METIS fails.
    """
    index = pymetis.zero_copy_dtype()
    if index != np.int64:
        raise RuntimeError(f"expected a build of METIS with numbers of 64 bits, found {index}")
    with _no_remarks():
        result = pymetis.part_graph(
            num_parts,
            pymetis.CSRAdjacency(pointer, neighbour),
            vweights=vertex_weight,
            eweights=edge_weight,
            recursive=False,
            options=pymetis.Options(**options),
        )
    return np.asarray(result.vertex_part, dtype=np.int32)


@contextmanager
def _no_remarks() -> Iterator[None]:
    """Keep what METIS prints (parts that got no vertices, which it fills later) from the user's output.

    It prints by C's ``printf``, and keeps Python's lock: nothing else is written meanwhile.
    """
    c_library = ctypes.PyDLL(None)  # keeps the lock as well
    try:
        output = os.dup(1)
    except OSError:  # closed: nobody sees anything
        yield
        return
    c_library.fflush(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        c_library.fflush(None)
        os.dup2(output, 1)
        os.close(output)
