"""The paper's singletons and size of a graph by sets of neighbours: the oracle of the passes over slices."""

from statistics import fmean, median

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.value_graph import Bool, ValueGraph


def centroid_of(degrees: list[int]) -> float:
    """Definition 4.2, of connected vertices."""
    connected = [d for d in degrees if d]
    return min(fmean(connected), median(connected)) if connected else 0.0


def score_of(degree: int, centroid: float) -> float:
    """Definition 4.3."""
    return 1.0 - centroid / degree if degree > centroid else 0.0


def neighbour_sets(graph: ValueGraph) -> tuple[list[set[int]], list[set[int]]]:
    """Sources and sinks of each vertex by other roles than addresses, itself left out."""
    sources: list[set[int]] = [set() for _ in range(graph.num_vertices)]
    sinks: list[set[int]] = [set() for _ in range(graph.num_vertices)]
    start = graph.rows.row_ptr.tolist()
    for r, sink in enumerate(graph.rows.row_sink.tolist()):
        for entry in range(start[r], start[r + 1]):
            source = int(graph.rows.source[entry])
            if source != sink and graph.rows.source_role[entry] != SourceRole.ADDRESS:
                sources[sink].add(source)
                sinks[source].add(sink)
    return sources, sinks


def singleton_kinds(graph: ValueGraph, high: float) -> list[int]:
    """Algorithm 3: 0 for none, 1 for sources, 2 for sinks, 3 for reductions."""
    sources, sinks = neighbour_sets(graph)
    v, pairs = graph.num_vertices, list(zip(sources, sinks, strict=True))
    centroid = centroid_of([len(s | t) for s, t in pairs])
    kinds = []
    for s, t in pairs:
        is_singleton = max(len(s) / v, len(t) / v, score_of(len(s | t), centroid)) >= high
        is_sink, is_source = (max(len(n) / v, score_of(len(n), centroid)) >= high for n in (s, t))
        if not (is_sink or is_source):
            is_sink, is_source = len(s) > len(t), len(t) >= len(s)
        kinds.append((is_source + 2 * is_sink) * is_singleton)
    return kinds


def graph_words(graph: ValueGraph, removed: Bool) -> int:
    """Two words per vertex of a chain and per directed edge that stays, a row's own last version included."""
    start = graph.rows.row_ptr.tolist()
    edges = set()
    for r, sink in enumerate(graph.rows.row_sink):
        edges |= {(int(source), int(sink)) for source in graph.rows.source[start[r] : start[r + 1]]}
        edges |= {(int(sink), int(sink))} if graph.rows.row_accumulates[r] else set()
    vertices = {v for edge in edges for v in edge if not removed[v]}
    kept = [edge for edge in edges if not removed[list(edge)].any()]
    return 2 * len(vertices) + 2 * len(kept)
