"""Compilation of loops over values, rows and flows: the only module that imports Numba.

A *kernel* is a function on plain arrays and numbers that Numba compiles at its first call; the machine code
is cached on disk. Every combination of types compiles anew, so callers pass the arrays of a graph as they are
(read-only) and other inputs through :func:`frozen`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray


def compiled(function: Any) -> Any:
    """``function`` compiled; its machine code is cached on disk where a folder for it can be written.

    Cached code is used as long as all that it was made of is the same: the file of ``function``, those of the
    kernels that it calls, and the numbers that it reads from modules (Numba itself looks at the first only).
    """
    return _compiled(function, _nrt=True)  # also where one calls it that makes none


def compiled_in_place(function: Any) -> Any:
    """As :func:`compiled`, for a ``function`` that makes no arrays: none of them is counted as used.

    Numba counts, by atomic operations, who uses an array, in every call of one kernel by another: in loops
    over rows these take a third of the time. Slices are fine, what allocates does not compile.
    """
    return _compiled(function, _nrt=False)


def compiled_inline(function: Any) -> Any:
    """As :func:`compiled_in_place`, for what loops call for every row: its code goes where it is called.

    An array takes seven machine words in a call, so that calls with ten arrays cost more than a short row.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Any, **options: bool) -> Any:
    njit: Any = numba.njit  # its types leave options out
    try:
        kernel = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder for the cache
        return njit(nogil=True, **options)(function)
    cache = kernel._cache
    cache.save_overload = partial(_saved, cache.save_overload)
    cache._cache_file._source_stamp = sorted(_ingredients(function))
    return kernel


def _ingredients(function: Any) -> set[tuple[str, str]]:
    """Files with their state, and numbers with their values, that go into the machine code."""
    path = Path(inspect.getfile(function))
    state = path.stat()
    found = {(str(path), f"{state.st_mtime_ns} {state.st_size}")}
    names = function.__code__.co_names
    used = [(n, function.__globals__[n]) for n in names if n in function.__globals__]
    for module in [value for _, value in used if isinstance(value, ModuleType)]:
        if module.__name__.startswith(__package__):
            used += [(n, getattr(module, n)) for n in names if hasattr(module, n)]
    for name, value in used:
        if isinstance(value, int | float):
            found.add((f"{function.__qualname__} {name}", repr(value)))
        elif hasattr(value, "py_func"):
            found |= _ingredients(value.py_func)
    return found


def _saved(save: Callable[..., None], *arguments: Any) -> None:
    """Save machine code; a full disk costs compiling again, not the analysis (Numba has no option for it)."""
    with suppress(OSError):
        save(*arguments)


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return ``array`` as a contiguous read-only array of ``dtype``; shares its memory where it can."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view
