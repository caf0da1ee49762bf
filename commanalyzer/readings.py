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
from typing import TypeAlias

import numpy as np

from commanalyzer.decompose import Counted, CountOptions, decompose
from commanalyzer.errors import ConfigError
from commanalyzer.foundation.progress import Progress
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.partition.owners import owners_in
from commanalyzer.request import MODELS
from commanalyzer.result.results import Decomposition
from commanalyzer.vcg.storage.large import LargeGraph
from commanalyzer.vcg.storage.store import GraphStore

_TINY = 1e-9  # instead of nothing: logarithms
_PRIVATE, _SHARED = "private to", "shared by"
_Divisions: TypeAlias = "dict[int, Decomposition]"


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
        private = decompose(named, flops, options, progress)
    except ConfigError:  # the user divides an array that would be private here: it is not
        return other, decompose(other, flops, options, progress), 1.0
    model = min(options.models, key=MODELS.index)  # a second one does not change the answer
    best = _best(private, model)
    asked = options
    if model == "volume":
        given = {p: owners_in(other, named, d.part) for p, d in best.items()}
        asked = replace(options, models=("volume",), given=given)
    shared = decompose(other, flops, asked, progress)
    against, names = _best(shared, model), _in_doubt(named, other)
    if not _is_shared_shown([*best.values()], [*against.values()], 1 + options.imbalance):
        return named, _with_both(private, best, against, (_PRIVATE, _SHARED), names), _ratio(best, against)
    if asked.given:
        shared = decompose(other, flops, options, progress)
    found = _best(shared, model)
    return other, _with_both(shared, found, best, (_SHARED, _PRIVATE), names), _ratio(found, best)


def _best(counted: Counted, model: str) -> _Divisions:
    """The best division for each number of nodes, as a model counts it."""
    return {d.nodes: d for d in counted.decompositions if d.best and d.model == model}


def _ratio(shown: _Divisions, against: _Divisions) -> float:
    """How many times as many bytes the other reading moves, where that is furthest from one."""
    ratios = [against[p].comm_bytes / max(d.comm_bytes, 1) for p, d in shown.items()]
    return max(ratios, key=lambda r: abs(math.log(max(r, _TINY))))


def _with_both(
    counted: Counted, shown: _Divisions, against: _Divisions, how: tuple[str, str], names: list[str]
) -> Counted:
    """``counted`` with brackets of the answering model that hold both readings, and what has to be said."""
    model, ends = next(iter(shown.values())).model, {p: d.communication for p, d in against.items()}
    held = (
        _held(d, ends[d.nodes].low_bytes, ends[d.nodes].high_bytes) if d.model == model else d
        for d in counted.decompositions
    )
    warnings = (*counted.warnings, *_doubt(shown, against, how, names))
    return replace(counted, decompositions=tuple(held), warnings=warnings)


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
    held = (_held(d, round(ratio * d.comm_bytes)) for d in counted.decompositions)
    return counted if ratio == 1.0 else replace(counted, decompositions=tuple(held))


def _held(shown: Decomposition, *comm_bytes: int) -> Decomposition:
    """``shown`` with a bracket that holds other bytes as well."""
    found = shown.communication
    low, high = min(found.low_bytes, *comm_bytes), max(found.high_bytes, *comm_bytes)
    return replace(shown, communication=replace(found, low_bytes=low, high_bytes=high))


def _doubt(shown: _Divisions, against: _Divisions, how: tuple[str, str], names: list[str]) -> list[str]:
    key = max(shown, key=lambda k: abs(against[k].comm_bytes - shown[k].comm_bytes))
    if against[key].comm_bytes == shown[key].comm_bytes:
        return []
    return [
        "whether some memory is used for one element after the other or holds an array is in doubt: it is "
        f"taken as {how[0]} its elements; as {how[1]} them, {key} nodes would move "
        f"{format_bytes(against[key].comm_bytes)} instead of {format_bytes(shown[key].comm_bytes)} "
        f"(if you know: --private NAME or --shared NAME for {', '.join(names)})"
    ]


def _in_doubt(named: GraphStore, other: GraphStore) -> list[str]:
    """Names of the memory that has private temporaries in one reading only, or has any."""
    private, shared = (
        {graph.objects[i].name for i in np.unique(graph.home_object[graph.is_temporary])}
        for graph in (LargeGraph(named), LargeGraph(other))
    )
    return sorted(private - shared or private)
