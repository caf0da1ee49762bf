"""What a flow weighs between two vertices, for every graph that is made for a partitioner."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled

_SHARES = 64  # a shared link weighs 64 times its bytes over the readers: integers keep the difference


@compiled
def flow_bytes(count: Any, versions: Any, width_bytes: Any) -> Any:
    """Return the bytes of a flow that happens ``count`` times; a row cannot use more versions than exist."""
    return min(count, max(versions, 1)) * np.int64(width_bytes)


@compiled
def shared_bytes(volume: Any, readers: Any) -> Any:
    """Return ``volume`` divided among the readers of the value, in 64ths of a byte, at least one."""
    return max(_SHARES * volume // max(readers, 1), 1)
