"""Memory that dividing a graph needs, estimated before it begins, and how much of that is done at a time."""

from __future__ import annotations

from commanalyzer.errors import ConfigError
from commanalyzer.quantities import format_bytes
from commanalyzer.vcg.large import AnyGraph
from commanalyzer.vcg.spill import machine_bytes
from commanalyzer.vcg.store import GraphStore

# By what graphs have needed: one division at a time with what all share; each of several, with its helper.
_VALUE_BYTES, _MORE_VALUE_BYTES = 120, 50  # by tiles
# Each division may keep every row that folds (37 with room to grow), its remote term (28) and group (20).
_FOLD_ROW_BYTES = 85
_FLOW_BYTES, _MORE_FLOW_BYTES = 300, 160  # of values one by one


def require_memory(graph: AnyGraph | GraphStore, limit: int | None, hint: str, *, is_tiled: bool) -> None:
    """Complain before a graph is divided that needs more memory than the user allows.

    Args:
        graph: Value graph.
        limit: What the user allows, bytes; None for no limit.
        hint: What to do instead.
        is_tiled: Divisions are found on coarse vertices.

    Raises:
        ConfigError: If it does, by what graphs of its size have needed.
    """
    needed, _ = _division_bytes(graph, is_tiled=is_tiled)
    if limit is not None and needed > limit:
        raise ConfigError(
            f"expected to divide the values within {format_bytes(limit)}, found {graph.num_vertices} values "
            f"and {graph.num_flows} flows, which need about {format_bytes(needed)}",
            where="--memory-limit",
            hint=hint,
        )


def affordable_jobs(
    graph: AnyGraph, limit: int | None, wanted: int, *, is_tiled: bool, fold_rows: int = 0
) -> int:
    """Divisions that may be made at a time, at least one.

    Args:
        graph: Value graph.
        limit: Memory that the user allows, bytes; None for that of the machine.
        wanted: As many as there would be without a limit.
        is_tiled: Divisions are found on coarse vertices.
        fold_rows: Rows of the graph that fold.
    """
    one, more = _division_bytes(graph, is_tiled=is_tiled)
    if is_tiled:
        kept = _FOLD_ROW_BYTES * fold_rows
        one, more = one + kept, more + kept
    room = max(0, (limit or machine_bytes()) - one)
    return max(1, min(wanted, room // max(more, 1)))


def _division_bytes(graph: AnyGraph | GraphStore, *, is_tiled: bool) -> tuple[int, int]:
    if is_tiled:
        return _VALUE_BYTES * graph.num_vertices, _MORE_VALUE_BYTES * graph.num_vertices
    return _FLOW_BYTES * graph.num_flows, _MORE_FLOW_BYTES * graph.num_flows
