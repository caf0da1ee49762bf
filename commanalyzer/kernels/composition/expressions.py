"""Element time and latency of a system as the maximum of sums of block models: the normal form.

Every pattern maps models to models by adding, by multiplying with positive numbers and by taking the larger:
the model of a system is the maximum over *sums* ``c_1 M(b_1) + c_2 M(b_2) + ...``, c > 0. A sum that is never
above the others whatever the (non-negative) models of the blocks are is left out, so that two systems take
the same time with all blocks if and only if their normal forms are equal (a block on a share of its parameter
counts as a block of its own). Rules i to iii of Section III.D hold by construction.

====================  =====================================  =================================
pattern               element time M                         latency L
====================  =====================================  =================================
block b               b                                      b
pipe                  max M(x_i)                (Eq. 2)      sum L(x_i)
tpool(T, x)           M(x) / T                  (Eq. 1)      L(x)
sequence              sum M(x_i)                             sum L(x_i)
fork_join             max M(x_i)                             max L(x_i)
map(P, x)             M(x) at n / P                          L(x) at n / P
reduction(P, x, c)    map + ceil(log2 P) M(c)                map + ceil(log2 P) L(c)
stencil(P, x, e)      map + M(e)                             map + L(e)
master_worker(W,x,d)  max(M(x) / W, M(d))                    L(d) + L(x)
====================  =====================================  =================================

*Element time* is the average run time per element of Section III.B, the inverse of the throughput; *latency*
the time of one element from entering to leaving, without waiting. ``exchange`` and ``combine`` are blocks
with models of their own: they see the whole parameter, not a share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition.systems import Block, Pattern, System, whole_count

Metric = Literal["element_time", "latency"]
_MOST_SUMS = 512  # of a normal form; only sums of many maxima have more


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """A block that works on a share of its parameter.

    Attributes:
        block: Name of the block.
        shares: The divided parameter is that of the system over this number.
    """

    block: str
    shares: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Sum:
    """Sum of block models.

    Attributes:
        terms: Uses and their positive factors, in the order of the uses.
    """

    terms: tuple[tuple[Use, Fraction], ...]

    def scaled(self, factor: Fraction) -> Sum:
        """All factors times ``factor``."""
        return Sum(tuple((use, c * factor) for use, c in self.terms))

    def shared(self, shares: int) -> Sum:
        """Every block works on a share of its parameter."""
        return _sum((Use(use.block, use.shares * shares), c) for use, c in self.terms)

    def __add__(self, other: Sum) -> Sum:
        return _sum((*self.terms, *other.terms))

    def __str__(self) -> str:
        return " + ".join(_term_text(use, c) for use, c in self.terms) or "0"


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Maximum of sums, none of which can be left out.

    Attributes:
        sums: In increasing order.
    """

    sums: tuple[Sum, ...]

    def __str__(self) -> str:
        text = ", ".join(map(str, self.sums))
        return text if len(self.sums) == 1 else f"max({text})"


def element_time(system: System) -> NormalForm:
    """Average run time per element, Eq. 1 and 2 and the module's table.

    Raises:
        ConfigError: If a count is still a name, or the normal form has too many sums.
    """
    return NormalForm(_needed(_sums(system, "element_time")))


def latency(system: System) -> NormalForm:
    """Time of one element through the system; errors as :func:`element_time`."""
    return NormalForm(_needed(_sums(system, "latency")))


def _sums(system: System, metric: Metric) -> tuple[Sum, ...]:
    """Sums whose maximum is the metric."""
    if isinstance(system, Block):
        return (Sum(((Use(system.name), Fraction(1)),)),)
    inner = [_sums(part, metric) for part in system.parts]
    if system.name == "sequence":
        return _added(inner)
    if system.name == "pipe":
        return _added(inner) if metric == "latency" else _checked(s for part in inner for s in part)
    if system.name == "fork_join":
        return _checked(s for part in inner for s in part)
    return _replicated(system, inner, metric)


def _replicated(pattern: Pattern, inner: Sequence[tuple[Sum, ...]], metric: Metric) -> tuple[Sum, ...]:
    count = whole_count(pattern)
    if pattern.name in ("tpool", "master_worker"):
        if metric == "latency":
            return _added(inner)
        pooled = tuple(s.scaled(Fraction(1, count)) for s in inner[0])
        return _checked([*pooled, *(s for part in inner[1:] for s in part)])
    mapped = tuple(s.shared(count) for s in inner[0])
    if pattern.name == "reduction":
        levels = (count - 1).bit_length()  # ceil(log2 P)
        return _added([mapped, tuple(s.scaled(Fraction(levels)) for s in inner[1])]) if levels else mapped
    return _added([mapped, *inner[1:]])


def _added(parts: Sequence[tuple[Sum, ...]]) -> tuple[Sum, ...]:
    """Maximum of a sum of maxima: every choice of one sum each."""
    found: tuple[Sum, ...] = (Sum(()),)
    for part in parts:
        found = _checked(a + b for a in found for b in part)
    return found


def _checked(sums: Iterable[Sum]) -> tuple[Sum, ...]:
    found = tuple(dict.fromkeys(sums))
    if len(found) > _MOST_SUMS:
        found = _not_below_another(found)
    if len(found) > _MOST_SUMS:
        raise ConfigError(
            f"expected at most {_MOST_SUMS} sums of block times, found {len(found)}",
            hint="give parts of the system models of their own",
        )
    return found


def _sum(terms: Iterable[tuple[Use, Fraction]]) -> Sum:
    total: dict[Use, Fraction] = {}
    for use, c in terms:
        total[use] = total.get(use, Fraction(0)) + c
    return Sum(tuple(sorted(total.items())))


def _needed(sums: Sequence[Sum]) -> tuple[Sum, ...]:
    """Sums that are the largest for some models of the blocks, in increasing order."""
    kept = _not_below_another(sums)
    if len(kept) > 2:
        kept = tuple(s for s in kept if not _is_below_mixture(s, [other for other in kept if other != s]))
    return tuple(sorted(kept))


def _not_below_another(sums: Sequence[Sum]) -> tuple[Sum, ...]:
    """Distinct sums without those that have no factor above that of some other one."""
    import numpy as np

    kept = list(dict.fromkeys(sums))
    rank = np.empty((len(kept), 0), dtype=np.int64)
    for use in sorted({use for s in kept for use, _ in s.terms}):
        factors = [dict(s.terms).get(use, Fraction(0)) for s in kept]
        position = {factor: i for i, factor in enumerate(sorted(set(factors)))}
        rank = np.column_stack([rank, [position[factor] for factor in factors]])
    below = [int((rank >= own).all(axis=1).sum()) > 1 for own in rank]
    return tuple(s for s, is_below in zip(kept, below, strict=True) if not is_below)


def _is_below_mixture(low: Sum, others: Sequence[Sum]) -> bool:
    """Whether a convex combination of the others is nowhere below ``low``: it never is the only largest."""
    import numpy as np
    from scipy.optimize import linprog

    uses = [use for use, _ in low.terms]
    table = np.array([[float(dict(s.terms).get(use, 0)) for s in others] for use in uses])
    wanted = np.array([float(c) for _, c in low.terms])
    scale = wanted[:, None]
    ones = np.ones((1, len(others)))
    found = linprog(
        np.zeros(len(others)), A_ub=-table / scale, b_ub=-np.ones(len(uses)), A_eq=ones, b_eq=[1.0]
    )
    return bool(found.status == 0) and math.isclose(float(found.x.sum()), 1.0, rel_tol=1e-9)


def _term_text(use: Use, factor: Fraction) -> str:
    name = use.block if use.shares == 1 else f"{use.block}[1/{use.shares}]"
    top = name if factor.numerator == 1 else f"{factor.numerator} {name}"
    return top if factor.denominator == 1 else f"{top}/{factor.denominator}"
