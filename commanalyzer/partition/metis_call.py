"""METIS itself: arrays -> parts. The only importer of pymetis; light, for it also runs in helpers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymetis
from numpy.typing import NDArray

INDEX = pymetis.zero_copy_dtype()
"""Integer type of this build of METIS."""


_LIBRARY = ctypes.CDLL(None)  # the C library of this process


@contextmanager
def _silent() -> Iterator[None]:
    """METIS prints remarks to the standard output, through C's buffer: they are for nobody."""
    _LIBRARY.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        _LIBRARY.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def divide(
    num_parts: int,
    pointer: NDArray[np.int64],
    neighbour: NDArray[np.integer],
    vertex_weight: NDArray[np.int64],
    edge_weight: NDArray[np.int64],
    options: dict[str, int],
) -> NDArray[np.int32]:
    """Return int32[N], parts by METIS's k-way method.

    Args:
        num_parts: Number of parts p.
        pointer: [N + 1].
        neighbour: [2 E], neighbours of all vertices.
        vertex_weight: [N].
        edge_weight: [2 E].
        options: By name, as METIS's.

    Raises:
        RuntimeError: Or ``ValueError`` or ``TypeError``, if METIS fails.
    """
    with _silent():
        result = pymetis.part_graph(
            num_parts,
            pymetis.CSRAdjacency(pointer.astype(INDEX), neighbour.astype(INDEX)),
            vweights=vertex_weight.astype(INDEX),
            eweights=edge_weight.astype(INDEX),
            recursive=False,
            options=pymetis.Options(**options),
        )
    return np.asarray(result.vertex_part, dtype=np.int32)
