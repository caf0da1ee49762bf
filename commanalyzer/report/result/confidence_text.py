"""How far the best divisions can be trusted, as cells of a table for a terminal and a page.

What a programmer can do about the communication, in words: divisions compared, distance to the bound.
"""

from __future__ import annotations

import math

from commanalyzer.division.selection import cheapest_regular
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.report.tables import Field, numeric, worded
from commanalyzer.result.confidence import Confidence
from commanalyzer.result.results import Decomposition

_WORTH_SAYING = 1.1


def advice_lines(candidates: list[Decomposition], arrays: str = "") -> list[str]:
    """Sentences about the candidates of one node count and model.

    Args:
        candidates: All of them, exactly one of them best.
        arrays: Names of the arrays that cross most, for the comparison.
    """
    best = next(d for d in candidates if d.best)
    lines = _comparison(candidates, arrays)
    bound = best.lower_bound_bytes
    if bound and best.comm_bytes:
        lines.append(
            f"Provable minimum on {best.nodes} nodes with equal work: {format_bytes(bound)} "
            f"(found: {best.comm_bytes / bound:.2f} times that; {best.bound_source})"
        )
    return lines


def _comparison(candidates: list[Decomposition], arrays: str) -> list[str]:
    """Blocks against slabs."""
    cheapest = cheapest_regular(candidates)
    if cheapest is None:
        return []
    of = f" of {arrays}" if arrays and " of " not in cheapest.method else ""
    lines = [f"Cheapest regular division: {cheapest.method}{of}, {format_bytes(cheapest.comm_bytes)}"]
    slabs = [d for d in candidates if d.grid and sum(g > 1 for g in d.grid) <= 1 and d is not cheapest]
    for slab in sorted(slabs, key=lambda d: d.comm_bytes)[:1]:
        if slab.comm_bytes >= _WORTH_SAYING * max(cheapest.comm_bytes, 1):
            times = slab.comm_bytes / max(cheapest.comm_bytes, 1)
            more = f"{times:.1f} times" if cheapest.comm_bytes else format_bytes(slab.comm_bytes)
            lines.append(f"1D slabs ({slab.method}) move {more} more than {cheapest.method}")
    return lines


TITLE = "How the best divisions compare"
NOT_FOUND = "no balanced division found"


def confidence_fields() -> tuple[Field[Confidence], ...]:
    """Columns of a table with a line per node count."""
    return (
        numeric("nodes", lambda known: str(known.best.nodes)),
        worded("cheapest regular division", lambda known: _compared(known, known.regular)),
        worded("another method", lambda known: _compared(known, known.other)),
        worded("provable minimum", _over_bound),
    )


def _over_bound(known: Confidence) -> str:
    return "not known" if known.times_bound is None else f"best is {known.times_bound:.2f} times it"


def _compared(known: Confidence, other: Decomposition | None) -> str:
    if other is None:
        return "none found"
    if other is known.best:
        return "is the best"
    far = "" if other.is_balanced else f", imbalance {other.imbalance:.2f}"
    return f"{other.method}: {difference(known.ratio(other), other)}{far}"


def difference(ratio: float, other: Decomposition) -> str:
    """How much another division sends beside the best, in words."""
    if not math.isfinite(ratio):
        return f"{format_bytes(other.comm_bytes)} where the best sends nothing"
    if ratio >= 2.0:
        return f"{ratio:.1f} times as much"
    return f"{100 * (ratio - 1):+.0f} %" if abs(ratio - 1) >= 0.005 else "as much"
