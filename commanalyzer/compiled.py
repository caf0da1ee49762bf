"""Compilation of loops over values, rows and flows: the only module that imports Numba.

A *kernel* is a function on plain arrays and numbers that Numba compiles at its first call; the machine code
is cached on disk. Every combination of types compiles anew, so callers pass the arrays of a graph as they are
(read-only) and other inputs through :func:`frozen`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray


def compiled(function: Any) -> Any:
    """``function`` compiled; its machine code is cached on disk where a folder for it can be written."""
    try:
        kernel: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True)(function)
    cache = kernel._cache
    cache.save_overload = partial(_saved, cache.save_overload)
    return kernel


def _saved(save: Callable[..., None], *arguments: Any) -> None:
    """Save machine code; a full disk costs compiling again, not the analysis (Numba has no option for it)."""
    with suppress(OSError):
        save(*arguments)


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return ``array`` as a contiguous read-only array of ``dtype``; shares its memory where it can."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view
