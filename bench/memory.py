"""Memory that is in use when a measurement begins.

Virtual machines give pages back to their host that nobody uses, and fetch them again, at many times the cost
of clearing a page, when a program touches them. What a measured program pays for that depends on what ran
before it, not on the program: so as much memory as it may need is touched and freed right before it starts.
"""

from __future__ import annotations

import mmap
import time
from dataclasses import dataclass

import numpy as np

# More than any program of the benchmark needs.
_NUM_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class PageCost:
    """What it costs to touch a page for the first time, microseconds of CPU time.

    Attributes:
        found_us: In memory as it was found.
        freed_us: In memory that was freed just before.
    """

    found_us: float
    freed_us: float

    @property
    def text(self) -> str:
        """What readers of measurements must know."""
        return (
            f"To touch a page of memory for the first time took {self.found_us:.2f} us as this began, and "
            f"{self.freed_us:.2f} us right after it was freed: a virtual machine fetches what was not in use "
            "from its host. So as much as programs may need is touched and freed before each is measured."
        )


def touch_memory(num_bytes: int = _NUM_BYTES) -> float:
    """Touch ``num_bytes`` and free them; CPU seconds per page.

    By large pages where there are any: these are what recorders ask for, and what hosts take away.
    """
    begin = time.process_time()
    with mmap.mmap(-1, num_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
        block.madvise(mmap.MADV_HUGEPAGE)
        words = np.frombuffer(block, np.uint8)
        words[:: mmap.PAGESIZE] = 1
        del words  # a block that is looked at cannot be closed
    return (time.process_time() - begin) * mmap.PAGESIZE / num_bytes


def page_cost(num_bytes: int = _NUM_BYTES) -> PageCost:
    """Cost of pages, in memory as it is found and once more."""
    return PageCost(touch_memory(num_bytes) * 1e6, touch_memory(num_bytes) * 1e6)
