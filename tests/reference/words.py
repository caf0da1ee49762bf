"""Size of a graph in the paper's unit, edge by edge: the oracle of the passes over slices."""

from __future__ import annotations

from commanalyzer.vcg.graph import Bool, ValueGraph


def graph_words(graph: ValueGraph, removed: Bool) -> int:
    """Two words per vertex of a chain and per directed edge that stays, a row's own last version included."""
    start = graph.source_ptr[graph.term_ptr].tolist()
    edges = set()
    for r, (sink, accumulates) in enumerate(zip(graph.row_sink, graph.row_accumulates, strict=True)):
        edges |= {(int(source), int(sink)) for source in graph.source[start[r] : start[r + 1]]}
        edges |= {(int(sink), int(sink))} if accumulates else set()
    vertices = {v for edge in edges for v in edge if not removed[v]}
    kept = [edge for edge in edges if not removed[list(edge)].any()]
    return 2 * len(vertices) + 2 * len(kept)
