"""How far the best divisions can be trusted, as cells of a table for a terminal and a page."""

from __future__ import annotations

import math

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.result.confidence import Confidence
from commanalyzer.result.results import Decomposition

TITLE = "How the best divisions compare"
COLUMNS = ("nodes", "cheapest regular division", "another method", "provable minimum")
NOT_FOUND = "no balanced division found"


def confidence_cells(known: Confidence) -> tuple[str, ...]:
    """Cells of one node count, in the order of :data:`COLUMNS`."""
    bound = known.times_bound
    return (
        str(known.best.nodes),
        _compared(known, known.regular),
        _compared(known, known.other),
        "not known" if bound is None else f"best is {bound:.2f} times it",
    )


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
