"""Lines of the table from a result: the best decomposition of every node count and model."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.machine.roofline.traffic import node_traffic
from commanalyzer.program.frontend.decisions import USES
from commanalyzer.result.results import AnalysisResult, Decomposition
from commanalyzer.scaling.sweep.table import NAMES, Cell

Costs = Mapping[tuple[int, str], tuple[float, float]]


def table_lines(
    result: AnalysisResult,
    parameters: Mapping[str, str],
    *,
    per_point: Mapping[str, Cell] | None = None,
    per_division: Costs | None = None,
    file: str = "",
) -> tuple[dict[str, Cell], ...]:
    """Lines of ``result``.

    Args:
        result: An analysis.
        parameters: Program parameters of the point.
        per_point: Costs of the tool itself by column.
        per_division: (``partition_s``, ``count_s``) by (nodes, model).
        file: Where the result is.
    """
    common = {**parameters, **_of_recording(result), **(per_point or {}), "result": file}
    lines = []
    for item in result.decompositions:
        if item.best:
            partition_s, count_s = (per_division or {}).get((item.nodes, item.model), (math.nan, math.nan))
            divisions = {**_of_division(item), **_of_written(result.decomposition(item.nodes, item.model))}
            lines.append({**common, **divisions, "partition_s": partition_s, "count_s": count_s})
    return tuple({name: _cell(value) for name, value in line.items()} for line in lines)


def _of_recording(result: AnalysisResult) -> dict[str, Cell]:
    recording, graph = result.recording, result.store
    return {
        "work_flops": result.work.amount,
        "vcg_words": result.vcg_words,
        "footprint_bytes": float(footprint_bytes(result)),
        "vertices": graph.num_vertices,
        "flows": graph.num_flows,
        "native_s": math.nan if recording.native_s is None else recording.native_s,
        "record_s": recording.instrumented_s,
        "peak_rss_bytes": recording.peak_rss_bytes,
        "tool_rss_bytes": 0,
        "graph_bytes": graph.nbytes,
    }


def footprint_bytes(result: AnalysisResult) -> int:
    """Memory that the analysed part reads or writes: every place once, as wide as its widest value.

    Lifetimes of a word of a workspace are one place. Registers have none, and what is never touched neither.
    """
    store = result.store
    home, width, temporary = map(store.vertex_column, ("home_object", "width_bytes", "is_temporary"))
    no_memory = [o.kind == HomeKind.REGISTER or o.name in USES for o in store.objects]
    is_memory = ~np.array(no_memory or [False])[home]
    is_shared = is_memory & (temporary == 1)
    shared = np.flatnonzero(is_shared)
    places = np.stack((home[shared], store.vertex_values("home_offset", shared)))
    found, place = np.unique(places, axis=1, return_inverse=True)
    widest = np.zeros(found.shape[1], dtype=np.int64)
    np.maximum.at(widest, place.ravel(), width[shared])
    return int(width[is_memory > is_shared].sum(dtype=np.int64) + widest.sum())


def _of_division(item: Decomposition) -> dict[str, Cell]:
    traffic = item.communication
    return {
        "nodes": item.nodes,
        "model": item.model,
        "method": item.method,
        "comm_bytes": traffic.total_bytes,
        "messages": traffic.total_messages,
        "intensity": item.intensity,
        "imbalance": item.imbalance,
        "comm_bytes_low": traffic.low_bytes,
        "comm_bytes_high": traffic.high_bytes,
        "efficiency_bound": math.nan if item.efficiency_bound is None else item.efficiency_bound,
        "lower_bound_bytes": float(item.lower_bound_bytes) if item.lower_bound_bytes else math.nan,
        **node_traffic(traffic).summary(),
    }


def _of_written(item: Decomposition) -> dict[str, Cell]:
    found = {f"regular_{name}": value for name, value in _of_division(item).items()}
    return {n: v for n, v in found.items() if n in NAMES} | {"regular_bytes": float(item.comm_bytes)}


def _cell(value: Cell) -> Cell:
    """NaN as an empty text, which JSON can hold; infinity (communication without work) as text too."""
    if isinstance(value, float) and not math.isfinite(value):
        return "" if math.isnan(value) else str(value)
    return value
