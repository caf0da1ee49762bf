"""Task graphs as files of graph programs: DOT (Graphviz) and GraphML."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.kernels.tasks.folding import fold
from commanalyzer.kernels.tasks.graph import TaskGraph

if TYPE_CHECKING:
    import networkx


def as_networkx(graph: TaskGraph) -> networkx.MultiDiGraph:
    """All tasks as nodes, all flows as edges, with their numbers as attributes."""
    import networkx as nx

    result = nx.MultiDiGraph()
    path = set(graph.critical_path())
    for number, task in enumerate(graph.tasks):
        result.add_node(
            number,
            name=task.name,
            instructions=task.instructions,
            flops=task.flops,
            work_items=task.num_items,
            on_critical_path=number in path,
        )
    for edge in graph.edges:
        moved = {f"moved_bytes_{p}": m for p, m in zip(graph.nodes, edge.moved_bytes, strict=True)}
        needed = {f"needed_bytes_{p}": m for p, m in zip(graph.nodes, edge.needed_bytes, strict=True)}
        mappers = {"write": str(edge.write or "host"), "read": str(edge.read or "host")}
        result.add_edge(
            edge.source, edge.sink, buffer=edge.buffer, bytes=edge.bytes, **mappers, **needed, **moved
        )
    return result


def graphml_text(graph: TaskGraph) -> str:
    """The whole graph as GraphML."""
    import networkx as nx

    stream = io.BytesIO()
    nx.write_graphml_xml(as_networkx(graph), stream)
    return stream.getvalue().decode() + "\n"


def dot_text(graph: TaskGraph) -> str:
    """The graph with repetitions folded as DOT; the critical path is drawn bold."""
    folded, path = fold(graph), set(graph.critical_path())
    lines = ["digraph tasks {", "  node [shape=box];"]
    for number, group in enumerate(folded.groups):
        own = [(k, task) for k, task in enumerate(folded.tasks) if task.group == number]
        if group.repeats > 1:
            lines += [f"  subgraph cluster_{number} {{", f'    label="x{group.repeats}";']
        for k, task in own:
            style = ', style="bold"' if task.first in path else ""
            lines.append(f"    t{k} [label={_quoted(graph.tasks[task.first].name)}{style}];")
        if group.repeats > 1:
            lines.append("  }")
    for edge in folded.edges:
        label = _quoted(f"{edge.edge.buffer} {format_bytes(edge.bytes)}")
        back = ", constraint=false, style=dashed" if edge.sink <= edge.source else ""
        lines.append(f"  t{edge.source} -> t{edge.sink} [label={label}{back}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
