"""Conservation laws of the value graph: what every graph and every removal has to satisfy.

Violations are bugs of this program, not of the user's:
:class:`~commanalyzer.foundation.errors.GraphInvariantError` with the numbers that do not agree. The laws of
the communication matrix are in :mod:`commanalyzer.communication.invariants`.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.contraction.dissolve import dissolving
from commanalyzer.graph.storage.slices import row_slices
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import ValueGraph, sink_of_source


def check_graph(graph: AnyGraph) -> None:
    """Check what the constructor of the graph leaves out because it costs a pass over all sources.

    No row is its own source, a row without fold has at most one term, a vertex as many versions as its rows
    and its input make, and work is finite and not negative.
    """
    made = graph.is_input.astype(np.int64)
    for rows in row_slices(graph):
        own = int(np.count_nonzero(rows.source == sink_of_source(rows)))
        _require(own == 0, f"{own} sources are the sink itself (expected row_accumulates instead)")
        several = (np.diff(rows.term_ptr) > 1) & (rows.row_fold == int(Fold.NONE))
        _require(not several.any(), f"{int(several.sum())} rows without fold have more than one term")
        np.add.at(made, rows.row_sink, rows.row_count)
    versions = graph.versions
    wrong = np.flatnonzero(made != versions)
    if len(wrong):
        v = int(wrong[0])
        _require(
            False, f"{len(wrong)} vertices: vertex {v} has {versions[v]} versions, its rows made {made[v]}"
        )
    work_flops = graph.work_flops
    _require(bool(np.all(np.isfinite(work_flops) & (work_flops >= 0))), "work must be >= 0 and finite")


def check_dissolved(before: ValueGraph, after: ValueGraph) -> None:
    """Check that dissolving left no registers but returned values, kept stores and, up to rounding, work."""
    names = [after.objects[i].name for i in np.unique(after.home_object[after.is_register])]
    _require(all(n == "return" for n in names), f"registers are left after dissolving: {names}")
    rows_before = int(before.rows.row_count[~dissolving(before)[before.rows.row_sink]].sum())
    rows_after = int(after.rows.row_count.sum())
    _require(rows_before == rows_after, f"{rows_before} stores before dissolving, {rows_after} after")
    work_before, work_after = float(before.work_flops.sum()), float(after.work_flops.sum())
    _require(
        work_after <= work_before * (1 + 1e-9) + 1e-9, f"work grew from {work_before} to {work_after} flops"
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise GraphInvariantError(f"conservation law violated: {message}")
