"""What the paper's rules say of a value graph: its singletons and its size.

Input: a value graph. Output: :class:`SingletonCounts` and words, where they can be counted at a price.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.result.results import SingletonCounts
from commanalyzer.vcg.contraction.dissolve import dissolve_registers, dissolving
from commanalyzer.vcg.graph import Bool
from commanalyzer.vcg.invariants import check_dissolved
from commanalyzer.vcg.storage.large import AnyGraph, LargeGraph
from commanalyzer.vcg.structure.singletons import SingletonKind, paper_counts, passes_on

_MOST_SIDE_FLOWS = 50_000_000  # above it, they are counted only for who asks: 60 bytes per flow


def paper_view(
    graph: AnyGraph, high: float, *, is_asked: bool, check: bool = False
) -> tuple[SingletonCounts | None, int]:
    """Return singletons and graph size in words, by the graph without named registers.

    Nothing, unless somebody asked for the paper's model, where that has to be made by passing on what
    registers hold, which takes longer than dividing the graph, or where it is large.

    Args:
        graph: Value graph as recorded.
        high: Threshold of the singleton scores.
        is_asked: Whether somebody asked for the paper's model, whatever it costs.
        check: Check the conservation laws.

    Raises:
        ConfigError: If the graph without registers would be too large, and was asked for.
        GraphInvariantError: With ``check``, if a conservation law is violated.
    """
    if graph.num_flows > _MOST_SIDE_FLOWS and not is_asked:
        return None, 0
    gone = dissolving(graph)
    if not passes_on(graph, gone):
        return _counted(graph, high, gone)
    if not is_asked:
        return None, 0
    graph = graph.store.graph() if isinstance(graph, LargeGraph) else graph
    dissolved = dissolve_registers(graph)
    if check:
        check_dissolved(graph, dissolved)
    return _counted(dissolved, high, np.zeros(dissolved.num_vertices, np.bool_))


def _counted(graph: AnyGraph, high: float, gone: Bool) -> tuple[SingletonCounts, int]:
    """Singletons and size of the graph without ``gone``, which pass nothing on."""
    kind, words = paper_counts(graph, high, gone)
    kinds = (SingletonKind.SOURCE, SingletonKind.SINK, SingletonKind.REDUCTION)
    return SingletonCounts(*(int(np.count_nonzero(kind == k)) for k in kinds)), words
