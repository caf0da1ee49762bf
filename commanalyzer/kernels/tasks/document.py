"""A task graph as a JSON document, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commanalyzer.foundation.documents import parse_json
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.graph import Kernel, RangeAccess, Task, TaskEdge, TaskGraph
from commanalyzer.kernels.tasks.mappers import Box, RangeMapper, parse_mapper
from commanalyzer.program.ir.names.debug_info import SourcePlace

SCHEMA = "commanalyzer.tasks/1"


def tasks_json(graph: TaskGraph) -> str:
    """JSON text of a task graph."""
    path = graph.critical_path()
    content = {
        "schema": SCHEMA,
        "nodes": list(graph.nodes),
        "moved_bytes": list(graph.moved_bytes()),
        "critical_path": list(path),
        "parallelism": graph.parallelism(),
        "kernels": [
            {
                "name": kernel.name,
                "file": kernel.place.file,
                "line": kernel.place.line,
                "order": kernel.order,
                "executions": kernel.executions,
                "range": [list(ends) for ends in kernel.range],
                "accesses": [_access(access) for access in kernel.accesses],
            }
            for kernel in graph.kernels
        ],
        "tasks": [
            {
                "kernel": task.kernel,
                "name": task.name,
                "range": [list(ends) for ends in task.range],
                "instructions": task.instructions,
                "flops": task.flops,
                "accesses": [_access(access) for access in task.accesses],
                "folded_bytes": list(task.folded_bytes),
            }
            for task in graph.tasks
        ],
        "edges": [
            {
                "source": edge.source,
                "sink": edge.sink,
                "buffer": edge.buffer,
                "bytes": edge.bytes,
                "write": str(edge.write) if edge.write else None,
                "read": str(edge.read) if edge.read else None,
                "needed_bytes": list(edge.needed_bytes),
                "moved_bytes": list(edge.moved_bytes),
            }
            for edge in graph.edges
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def load_tasks(path: Path) -> TaskGraph:
    """Read a document of :func:`tasks_json`.

    Raises:
        ConfigError: If it cannot be read or is none.
    """
    try:
        return tasks_from(parse_json(path.read_text(encoding="utf-8"), is_finite=True))
    except OSError as error:
        raise ConfigError(f"cannot read the task graph: {error.strerror}", where=str(path)) from error
    except (ValueError, KeyError, TypeError, IndexError, ConfigError) as error:
        raise ConfigError(
            f"expected a task graph of schema {SCHEMA}, found something else ({error})",
            where=str(path),
            hint="write it with `commanalyzer tasks SOURCES --json FILE`",
        ) from error


def tasks_from(content: Mapping[str, Any]) -> TaskGraph:
    """A task graph from a parsed document; errors of missing or wrong fields are Python's."""
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']}")
    kernels = tuple(
        Kernel(
            str(k["name"]),
            SourcePlace(str(k["file"]), int(k["line"])),
            k["order"],
            int(k["executions"]),
            _box(k["range"]),
            tuple(map(_to_access, k["accesses"])),
        )
        for k in content["kernels"]
    )
    tasks = tuple(
        Task(
            int(t["kernel"]),
            str(t["name"]),
            _box(t["range"]),
            int(t["instructions"]),
            int(t["flops"]),
            tuple(map(_to_access, t["accesses"])),
            tuple(map(int, t["folded_bytes"])),
        )
        for t in content["tasks"]
    )
    edges = tuple(
        TaskEdge(
            int(e["source"]),
            int(e["sink"]),
            str(e["buffer"]),
            int(e["bytes"]),
            _to_mapper(e["write"]),
            _to_mapper(e["read"]),
            tuple(map(int, e["needed_bytes"])),
            tuple(map(int, e["moved_bytes"])),
        )
        for e in content["edges"]
    )
    if any(not 0 <= e.source < len(tasks) or not 0 <= e.sink < len(tasks) for e in edges):
        raise ValueError("an edge of a task that is not there")
    return TaskGraph(tuple(map(int, content["nodes"])), kernels, tasks, edges)


def _access(access: RangeAccess) -> dict[str, Any]:
    return {
        "buffer": access.buffer,
        "mode": access.mode,
        "mapper": str(access.mapper),
        "index": list(access.index),
        "shape": list(access.shape),
        "element_bytes": access.element_bytes,
        "touched_bytes": access.touched_bytes,
        "granted_bytes": access.granted_bytes,
    }


def _to_access(a: Mapping[str, Any]) -> RangeAccess:
    if a["mode"] not in ("read", "write"):
        raise ValueError(f"access mode {a['mode']}")
    return RangeAccess(
        str(a["buffer"]),
        a["mode"],
        parse_mapper(str(a["mapper"])),
        tuple(map(str, a["index"])),
        tuple(map(int, a["shape"])),
        int(a["element_bytes"]),
        int(a["touched_bytes"]),
        int(a["granted_bytes"]),
    )


def _box(ends: list[list[int]]) -> Box:
    return tuple((int(first), int(end)) for first, end in ends)


def _to_mapper(text: str | None) -> RangeMapper | None:
    return None if text is None else parse_mapper(text)
