"""Memory of the C library's heap: kept for the next arrays, given back between stages.

An analysis makes arrays of the same sizes again and again. By itself glibc returns every large one to the
system when it is freed, and pages that are new to the process cost more than most of what is done with them.
Where the C library is another one than glibc, nothing happens here.
"""

from __future__ import annotations

import ctypes
import gc

# <malloc.h>, mallopt(3): one heap for all threads, no mappings beside it, which never shrinks by itself.
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8
_KEEPING = ((_M_TRIM_THRESHOLD, -1), (_M_MMAP_MAX, 0), (_M_ARENA_MAX, 1))


def keep_freed_memory() -> None:
    """Let this process keep the memory of arrays that are freed; before it starts threads.

    For programs of our own only: it decides for the whole process.
    """
    gc.set_threshold(10_000)  # cycles are looked for less often: most objects come by imports and stay
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for setting, value in _KEEPING:
            mallopt(setting, value)


def give_back() -> None:
    """Return memory that is free to the system, so that the next stage's peak is its own."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
