"""A task graph as a JSON document, and back."""

from __future__ import annotations

from pathlib import Path

from commanalyzer.foundation.documents import Fields, document_text, parse_json, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.kernels.tasks.mappers import RangeMapper, parse_mapper

SCHEMA = "commanalyzer.tasks/1"


def tasks_json(graph: TaskGraph) -> str:
    """JSON text of a task graph."""
    content = {
        "schema": SCHEMA,
        "nodes": graph.nodes,
        "moved_bytes": graph.moved_bytes(),
        "critical_path": graph.critical_path(),
        "parallelism": graph.parallelism(),
        "kernels": graph.kernels,
        "tasks": graph.tasks,
        "edges": graph.edges,
    }
    return document_text(content)


def load_tasks(path: Path) -> TaskGraph:
    """Read a document of :func:`tasks_json`.

    Raises:
        ConfigError: If it cannot be read or is none.
    """
    hint = "write it with `commanalyzer tasks SOURCES --json FILE`"
    with reading(path, f"a task graph of schema {SCHEMA}", hint=hint, error=ConfigError):
        return tasks_from(parse_json(path.read_text(encoding="utf-8"), is_finite=True))


def tasks_from(content: Fields) -> TaskGraph:
    """A task graph from a parsed document; errors of missing or wrong fields are Python's."""
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']}")
    graph = typed(content, TaskGraph, {RangeMapper: parse_mapper})
    if any(not 0 <= end < len(graph.tasks) for edge in graph.edges for end in (edge.source, edge.sink)):
        raise ValueError("an edge of a task that is not there")
    return graph
