"""What the paper's rules say of a value graph: its singletons and its size.

Input: a value graph. Output: :class:`SingletonCounts` and words, where they can be counted at a price.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.result.results import SingletonCounts
from commanalyzer.vcg.contraction.dissolve import DEFAULT_LIMIT, dissolve_registers, dissolving
from commanalyzer.vcg.graph import Bool, ValueGraph
from commanalyzer.vcg.invariants import check_dissolved
from commanalyzer.vcg.storage.large import AnyGraph, LargeGraph
from commanalyzer.vcg.structure.singletons import SingletonKind, paper_counts, passes_on

# how much larger the graph of the paper's model may get when it only serves to count singletons
_SIDE_GROWTH = 4
_SIDE_FLOWS = 1_000_000
# above it, they are counted only where the paper's model is asked for: 60 bytes per flow
_MOST_SIDE_FLOWS = 50_000_000
_MOST_EXPANDED_FLOWS = 10_000_000  # where registers have to be dissolved, in the expanded graph


def paper_view(
    graph: AnyGraph, high: float, *, is_asked: bool, check: bool = False
) -> tuple[SingletonCounts | None, int, tuple[str, ...]]:
    """Return singletons, graph size in words and warnings, by the graph without named registers.

    Where that graph would be far larger and nobody asked for the paper's model, registers stay vertices; of
    large graphs nothing is counted then.

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
        return None, 0, ()
    gone = dissolving(graph)
    if not (check and isinstance(graph, ValueGraph)) and not passes_on(graph, gone):
        return *_counted(graph, high, gone), ()
    if isinstance(graph, LargeGraph):
        if graph.num_flows > _MOST_EXPANDED_FLOWS and not is_asked:
            return None, 0, ()
        graph = graph.store.graph()
    warnings: tuple[str, ...] = ()
    limit = DEFAULT_LIMIT if is_asked else _SIDE_GROWTH * graph.num_flows + _SIDE_FLOWS
    try:
        dissolved = dissolve_registers(graph, limit)
    except ConfigError as error:
        if is_asked:
            raise
        dissolved = graph
        warnings = (f"singletons were counted with register values as vertices: {error.message}",)
    counts, words = _counted(dissolved, high, np.zeros(dissolved.num_vertices, np.bool_))
    if dissolved is graph:
        return counts, 0, warnings
    if check:
        check_dissolved(graph, dissolved)
    return counts, words, warnings


def _counted(graph: AnyGraph, high: float, gone: Bool) -> tuple[SingletonCounts, int]:
    """Singletons and size of the graph without ``gone``, which pass nothing on."""
    kind, words = paper_counts(graph, high, gone)
    kinds = (SingletonKind.SOURCE, SingletonKind.SINK, SingletonKind.REDUCTION)
    return SingletonCounts(*(int(np.count_nonzero(kind == k)) for k in kinds)), words
