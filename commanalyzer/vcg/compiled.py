"""Compiled loops: Numba with a cache on disk.

Modules of kernels hold nothing but functions over plain arrays, so that the machine code can be cached.
Innermost loops call no functions with arrays: each such call would count references, atomically.
"""

from __future__ import annotations

from typing import Any

import numba


def compiled(function: Any) -> Any:
    """``function`` compiled; its machine code is cached on disk where a folder for it can be written."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True)(function)
