"""What the paper's rules say of a value graph: its singletons and its size.

Input: a value graph. Output: :class:`SingletonCounts` and words, where they can be counted at a price.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.errors import ConfigError
from commanalyzer.result.results import SingletonCounts
from commanalyzer.vcg.contraction.dissolve import DEFAULT_LIMIT, dissolve_registers, dissolving
from commanalyzer.vcg.invariants import check_dissolved, check_singletons
from commanalyzer.vcg.storage.large import AnyGraph, LargeGraph
from commanalyzer.vcg.structure.edges import distinct_edges
from commanalyzer.vcg.structure.singletons import (
    SingletonKind,
    find_singletons,
    paper_counts,
    passes_on,
    vcg_words,
)

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
    if isinstance(graph, LargeGraph) and not is_asked:
        counted = _large_paper_view(graph, high)
        if counted is not None or graph.num_flows > _MOST_EXPANDED_FLOWS:
            return (*(counted or (None, 0)), ())
    if isinstance(graph, LargeGraph):
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
    edges = distinct_edges(dissolved)
    found = find_singletons(dissolved, high, edges)
    if check:
        check_singletons(dissolved, found)
        if dissolved is not graph:
            check_dissolved(graph, dissolved)
    counts = SingletonCounts(
        found.count(SingletonKind.SOURCE),
        found.count(SingletonKind.SINK),
        found.count(SingletonKind.REDUCTION),
    )
    return counts, 0 if dissolved is graph else vcg_words(dissolved, found, edges), warnings


def _large_paper_view(graph: LargeGraph, high: float) -> tuple[SingletonCounts, int] | None:
    """Singletons and size, slice by slice; ``None`` where registers pass on values."""
    gone = dissolving(graph)
    if passes_on(graph, gone):
        return None
    kind, words = paper_counts(graph, high, gone)
    kinds = (SingletonKind.SOURCE, SingletonKind.SINK, SingletonKind.REDUCTION)
    return SingletonCounts(*(int(np.count_nonzero(kind == k)) for k in kinds)), words
