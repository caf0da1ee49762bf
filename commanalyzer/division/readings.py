"""Private temporaries in doubt: what the division that was found moves if memory is used in the other way.

Input: the graph with the likely reading of its memory, and the one with the other. Output: decompositions of
the first, whose brackets hold the bytes of both. Only the first is searched for divisions; of the other, the
owners that were found are counted, where lifetimes that are vertices in one graph only follow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from commanalyzer.division.decompose import Counted, CountOptions, decompose
from commanalyzer.division.owners import owners_in
from commanalyzer.division.selection import headline
from commanalyzer.foundation.progress import Progress
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.result.results import Decomposition

_TINY = 1e-9  # instead of nothing
_WORTH_SAYING = 0.05  # of the bytes: the bracket shows less; no number depends on it
_Divisions: TypeAlias = "dict[int, Decomposition]"


def decompose_both(
    store: GraphStore, other: GraphStore, flops: int, options: CountOptions, progress: Progress
) -> tuple[Counted, float]:
    """Decompose a program, likely ``store``; see :func:`commanalyzer.division.decompose.decompose`.

    Returns what was counted, ``volume`` brackets with both, and how many times as many bytes the ``other``
    moves.
    """
    counted = decompose(store, flops, options, progress)
    if "volume" not in options.models:  # the graph of the paper's model has other vertices than a recording
        return counted, 1.0
    shown = _first(counted)
    given = {p: owners_in(other, store, d.part) for p, d in shown.items()}
    asked = replace(options, models=("volume",), given=given, decompose=(), owner_map=None)
    against = _first(decompose(other, flops, asked, progress))

    def held(item: Decomposition) -> Decomposition:
        if item.model != "volume":
            return item
        found, own = against[item.nodes].communication, shown[item.nodes].comm_bytes
        times = item.comm_bytes / own if own else 1.0
        return _held(item, round(times * found.low_bytes), round(times * found.high_bytes))

    both = tuple(map(held, counted.decompositions))
    ratios = [against[p].comm_bytes / max(d.comm_bytes, 1) for p, d in shown.items()]
    furthest = max(ratios, key=lambda r: max(r, 1 / max(r, _TINY)))
    warnings = (*counted.warnings, *_doubt(shown, against, store, other))
    return replace(counted, decompositions=both, warnings=warnings), furthest


def _first(counted: Counted) -> _Divisions:
    """What is shown first for each number of nodes."""
    found = [d for d in counted.decompositions if d.model == "volume"]
    return {p: headline(d for d in found if d.nodes == p) for p in sorted({d.nodes for d in found})}


def widened(counted: Counted, ratio: float) -> Counted:
    """Decompositions of a reading where the other is not at hand, which moved ``ratio`` times as many."""
    held = (_held(d, round(ratio * d.comm_bytes)) for d in counted.decompositions)
    return counted if ratio == 1.0 else replace(counted, decompositions=tuple(held))


def _held(shown: Decomposition, *comm_bytes: int) -> Decomposition:
    """``shown`` with a bracket that holds other bytes as well."""
    found = shown.communication
    low, high = min(found.low_bytes, *comm_bytes), max(found.high_bytes, *comm_bytes)
    return replace(shown, communication=replace(found, low_bytes=low, high_bytes=high))


def _doubt(shown: _Divisions, against: _Divisions, store: GraphStore, other: GraphStore) -> list[str]:
    """What has to be said where the readings differ: of which memory one has more private temporaries."""
    more = {p: against[p].comm_bytes / max(d.comm_bytes, _TINY) - 1 for p, d in shown.items()}
    key = max(more, key=lambda p: abs(more[p]))
    if abs(more[key]) < _WORTH_SAYING:
        return []
    one, two = (_temporaries(graph) for graph in (store, other))
    names = sorted(n for n in one.keys() | two if one[n] != two[n]) or sorted(one.keys() | two)
    is_shared = two.total() > one.total()
    known = f" (if you know: --private NAME or --shared NAME for {', '.join(names)})" if names else ""
    taken, otherwise = ("shared by", "private to") if is_shared else ("private to", "shared by")
    return [
        "whether some memory is used for one element after the other or holds an array is in doubt: it is "
        f"taken as {taken} its elements; as {otherwise} them, the division of {key} nodes would move "
        f"{_times(1 + more[key])}{known}"
    ]


def _times(ratio: float) -> str:
    """In words, what is moved ``ratio`` times."""
    if ratio >= 2:
        return f"{ratio:.3g} times as much"
    return f"{abs(ratio - 1):.0%} {'more' if ratio > 1 else 'less'}".replace("%", " %")


def _temporaries(store: GraphStore) -> Counter[str]:
    """How many words of each memory are used in turn."""
    graph = LargeGraph(store)
    chosen = graph.is_temporary
    place = np.unique(np.stack((graph.home_object[chosen], graph.home_offset[chosen])), axis=1)[0]
    return Counter(graph.objects[i].name for i in place)
