"""How far the best division of a node count can be trusted: what else was found, and what is provable.

Input: all decompositions of one node count and model. Output: :class:`Confidence`, and a sentence where
methods that know nothing of each other disagree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commanalyzer.division.budget import SEARCH
from commanalyzer.division.regular.shapes import is_of_one_array
from commanalyzer.division.selection import cheapest, cheapest_regular, headline, is_written
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.result.results import REGULAR, Decomposition, groups_of

_DISAGREE = 1.5
"""Times the bytes of the best from which on another method's best disagrees with it.

In 22 cases of the project's workloads (4 and 16 nodes), the two nearest methods are within 1.2 of each
other in 19 and within 1.5 in 21. With 1.25 two more would be doubted, with 3 none.
"""
_NEAR_BOUND = 2.0
"""Times the provable minimum up to which there is no doubt: proofs for blocks lose about as much."""
_WORTH_SAYING = 0.8
"""Share of the bytes up to which a regular division beyond the balance limit is worth a word."""
_TIGHT = 1.05
"""How far apart the ends of a bracket may be before a sentence says so; the table shows all of them."""
_METHODS = {"metis": "METIS", "mt-kahypar": "Mt-KaHyPar", **dict.fromkeys(REGULAR, "regular")}


@dataclass(frozen=True, slots=True)
class Confidence:
    """The best division beside what else is known."""

    best: Decomposition
    # the cheapest division of the arrays into blocks or slabs, balanced if there is such a one
    regular: Decomposition | None
    # the cheapest that another method found, counted in the same way; balanced likewise
    other: Decomposition | None
    # likewise, but nothing that a programmer would write either, as that is shown beside it
    apart: Decomposition | None
    # what is shown first, and the cheapest regular one that is less even than it, but hardly slower for that
    shown: Decomposition
    uneven: Decomposition | None

    @classmethod
    def of(cls, candidates: Sequence[Decomposition]) -> Confidence:
        """Return what is known of ``candidates``: all of one node count and model, one of them best."""
        best = next(d for d in candidates if d.best)
        own = method_of(best)
        alike = (d for d in candidates if d.is_replayed or not best.is_replayed)
        others = [d for d in alike if method_of(d) != own and not is_of_one_array(d.method)]
        apart = cheapest(d for d in others if not is_written(d))
        shown = headline(candidates)
        less_even = (d for d in candidates if d.grid and shown.imbalance < d.imbalance <= SEARCH.uneven)
        uneven = min(less_even, key=lambda d: d.comm_bytes, default=None)
        return cls(best, cheapest_regular(candidates), cheapest(others), apart, shown, uneven)

    def ratio(self, other: Decomposition) -> float:
        """Bytes of another division over those of the best; infinite if the best sends nothing."""
        if other.comm_bytes == self.best.comm_bytes:
            return 1.0
        return other.comm_bytes / self.best.comm_bytes if self.best.comm_bytes else math.inf

    @property
    def times_bound(self) -> float | None:
        """Bytes of the best over the provable minimum; ``None`` where none is known."""
        bound = self.best.lower_bound_bytes
        return self.best.comm_bytes / bound if bound else None

    @property
    def doubt(self) -> str:
        """What speaks against the best division, as a sentence; empty if nothing does."""
        regular, other, nodes = self.regular, self.other, self.best.nodes
        uneven, shown = self.uneven, self.shown
        if uneven is not None and uneven.comm_bytes <= _WORTH_SAYING * shown.comm_bytes:
            less = 1.0 - uneven.comm_bytes / shown.comm_bytes
            return (
                f"{nodes} nodes ({self.best.model}): the regular division {uneven.method} sends "
                f"{100 * less:.0f} % less than {shown.method}, with {uneven.imbalance:.2f} times the mean "
                "work in one part: allow that with --imbalance, or ask with --effort thorough"
            )
        near = self.times_bound is not None and self.times_bound <= _NEAR_BOUND
        plain = regular is not None and method_of(self.best) == method_of(regular)  # as people divide
        if near or plain or not self.best.comm_bytes or other is None or self.ratio(other) < _DISAGREE:
            return ""
        known = (
            "no minimum is known" if self.times_bound is None else f"{self.times_bound:.1f} times the minimum"
        )
        return (
            f"{nodes} nodes ({self.best.model}): only one method found this ({self.best.method}; {known}), "
            f"what others found sends {self.ratio(other):.1f} times as much ({other.method}): "
            "ask with --effort thorough"
        )


def confidence_of(decompositions: Iterable[Decomposition]) -> tuple[Confidence, ...]:
    """Return what is known for each node count (of at least two) and model, in the order of the divisions."""
    return tuple(Confidence.of(group) for group in groups_of(decompositions) if group[0].nodes > 1)


def open_brackets(found: Sequence[Decomposition]) -> list[str]:
    """Return a sentence about brackets of what is shown first that are not tight; nothing if all are."""
    first = map(headline, groups_of(found))
    if not (wide := [d for d in first if d.communication.high_bytes > _TIGHT * d.communication.low_bytes]):
        return []
    worst = max(wide, key=lambda d: d.communication.high_bytes / max(1, d.communication.low_bytes))
    c, is_open = worst.communication, worst.model == "volume" and not worst.is_replayed
    return [
        "how often values and sums are needed is not certain (readers that change over time, sums of "
        f"constants): at {worst.nodes} nodes between {format_bytes(c.low_bytes)} and "
        f"{format_bytes(c.high_bytes)} ({worst.model}); the likeliest number is reported"
        + (" (analyze --exact counts event by event)" if is_open else "")
    ]


def method_of(item: Decomposition) -> str:
    """Return what found a division, without its options and refinements: ``METIS``, ``regular``, ..."""
    return _METHODS.get(item.method.split(",")[0].split()[0], "given")
