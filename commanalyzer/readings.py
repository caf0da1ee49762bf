"""Two graphs of one program, with and without the private temporaries in doubt: which one is shown.

Taken as shared, every word has one owner all the time: a program that does so exists, whatever the memory is
used for, and needs the bytes that are counted where these are certain. Taken as private, each lifetime of a
word may be owned by another node: that is too few bytes if the memory is an array after all. So the shared
reading is shown where it can be divided as evenly and its bytes are certain; where they are not, the reading
whose upper end is lower.

Input: both graphs. Output: one of them with its decompositions, whose brackets hold the bytes of the other.
"""

from __future__ import annotations

import math
from dataclasses import replace

from commanalyzer.decompose import Counted, CountOptions, decompose
from commanalyzer.errors import ConfigError
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.request import MODELS
from commanalyzer.result.results import Decomposition
from commanalyzer.vcg.storage.store import GraphStore

_TINY = 1e-9  # instead of nothing: logarithms


def decompose_both(
    named: GraphStore, other: GraphStore, flops: int, options: CountOptions, progress: Progress
) -> tuple[GraphStore, Counted, float]:
    """Decompose both readings of a program; arguments as of :func:`commanalyzer.decompose.decompose`.

    Args:
        named: The graph with the private temporaries that are in doubt.
        other: The graph without.
        flops: Work W.
        options: What to count.
        progress: Told about steps.

    Raises:
        ConfigError: If divisions by rules name arrays of neither.

    Returns:
        The graph that is shown (see above); what was counted on it, with brackets that hold both; and how
        many times as many bytes the other moves.
    """
    try:
        counted = [decompose(named, flops, options, progress)]
    except ConfigError:  # the user divides an array that would be private here: it is not
        return other, decompose(other, flops, options, progress), 1.0
    counted.append(decompose(other, flops, options, progress))
    best = [{(d.nodes, d.model): d for d in c.decompositions if d.best} for c in counted]
    model = min(
        (d.model for d in best[0].values()), key=MODELS.index
    )  # a second one does not change the answer
    private, shared = ([d for d in each.values() if d.model == model] for each in best)
    shown = int(_is_shared_shown(private, shared, 1 + options.imbalance))
    against = best[1 - shown]
    ratios = [against[key].comm_bytes / max(d.comm_bytes, 1) for key, d in best[shown].items()]
    result = replace(
        counted[shown],
        decompositions=tuple(_held(d, against[d.nodes, d.model]) for d in counted[shown].decompositions),
        warnings=(*counted[shown].warnings, *_doubt(best[shown], against, is_named=not shown)),
    )
    return (named, other)[shown], result, max(ratios, key=lambda r: abs(math.log(max(r, _TINY))))


def _is_shared_shown(private: list[Decomposition], shared: list[Decomposition], allowed: float) -> bool:
    """Whether the best divisions of the shared reading are the answer, not those of the private one."""
    uneven = [max(allowed, *(d.imbalance for d in best)) for best in (private, shared)]
    if uneven[0] != uneven[1]:
        return uneven[1] < uneven[0]
    least = sum(d.communication.low_bytes for d in shared)
    most, most_private = (sum(d.communication.high_bytes for d in best) for best in (shared, private))
    return most == least or most <= most_private


def widened(counted: Counted, ratio: float) -> Counted:
    """Decompositions of a reading where the other is not at hand, which moved ``ratio`` times as many."""
    if ratio == 1.0:
        return counted
    found = []
    for d in counted.decompositions:
        otherwise = round(ratio * d.comm_bytes)
        low, high = min(d.communication.low_bytes, otherwise), max(d.communication.high_bytes, otherwise)
        found.append(replace(d, communication=replace(d.communication, low_bytes=low, high_bytes=high)))
    return replace(counted, decompositions=tuple(found))


def _held(shown: Decomposition, other: Decomposition) -> Decomposition:
    """``shown`` with a bracket that holds the bytes of both."""
    low = min(shown.communication.low_bytes, other.communication.low_bytes)
    high = max(shown.communication.high_bytes, other.communication.high_bytes)
    return replace(shown, communication=replace(shown.communication, low_bytes=low, high_bytes=high))


def _doubt(
    shown: dict[tuple[int, str], Decomposition],
    against: dict[tuple[int, str], Decomposition],
    *,
    is_named: bool,
) -> list[str]:
    key = max(shown, key=lambda k: abs(against[k].comm_bytes - shown[k].comm_bytes))
    if against[key].comm_bytes == shown[key].comm_bytes:
        return []
    how, other = ("private to", "shared by") if is_named else ("shared by", "private to")
    return [
        "whether some memory is used for one element after the other or holds an array is in doubt: it is "
        f"taken as {how} its elements; as {other} them, {key[0]} nodes would move "
        f"{format_bytes(against[key].comm_bytes)} instead of {format_bytes(shown[key].comm_bytes)}"
    ]
