"""Compiled loop that passes values on along flows, see :mod:`commanalyzer.vcg.contraction.workspaces`."""

from __future__ import annotations

from typing import Any

import numpy as np

from commanalyzer.foundation.compiled import compiled


@compiled
def pass_on(start: Any, sink: Any, origins: Any, most: Any, value: Any) -> None:
    """Lower values to the least that reaches them; ``origins`` come in the order of their values."""
    stack, is_done = np.empty(len(value), np.int64), np.zeros(len(value), np.bool_)
    for origin in origins:
        if is_done[origin]:
            continue
        is_done[origin] = True
        depth, passed = 1, value[origin]
        stack[0] = origin
        while depth > 0:
            depth -= 1
            v = stack[depth]
            for at in range(start[v], start[v + 1]):
                reached = sink[at]
                if not is_done[reached] and passed <= most[reached]:
                    is_done[reached] = True
                    value[reached] = min(value[reached], passed)
                    stack[depth] = reached
                    depth += 1
