"""What a programmer can do about the communication, in words: divisions compared, distance to the bound."""

from __future__ import annotations

from commanalyzer.division.selection import cheapest_regular
from commanalyzer.foundation.quantities import format_bytes
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
