"""Polynomials with integer coefficients over named symbols: what loops compute addresses with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Monomial = tuple[str, ...]  # sorted symbols, () for the constant
MAX_MONOMIALS = 16


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products of symbols.

    Attributes:
        terms: Coefficient of each monomial; none is 0.
    """

    terms: Mapping[Monomial, int] = field(default_factory=dict)

    @staticmethod
    def of(symbol: str) -> Polynomial:
        """The polynomial that is one symbol."""
        return Polynomial({(symbol,): 1})

    @staticmethod
    def number(value: int) -> Polynomial:
        """A constant."""
        return Polynomial({(): value} if value else {})

    def __add__(self, other: Polynomial) -> Polynomial:
        return _collected([*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.number(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _collected(
            (tuple(sorted(a + b)), x * y) for a, x in self.terms.items() for b, y in other.terms.items()
        )

    @property
    def constant(self) -> int:
        """Coefficient of the constant monomial."""
        return self.terms.get((), 0)

    @property
    def is_constant(self) -> bool:
        """There are no symbols."""
        return not any(self.terms)

    @property
    def symbols(self) -> frozenset[str]:
        """All symbols."""
        return frozenset(symbol for monomial in self.terms for symbol in monomial)

    def without_constant(self) -> Polynomial:
        """The polynomial without its constant monomial."""
        return Polynomial({m: c for m, c in self.terms.items() if m})

    def coefficient(self, symbol: str) -> Polynomial | None:
        """Factor of ``symbol``; ``None`` if the polynomial is not linear in it."""
        if any(monomial.count(symbol) > 1 for monomial in self.terms):
            return None
        return Polynomial(
            {tuple(s for s in m if s != symbol): c for m, c in self.terms.items() if symbol in m}
        )

    def without(self, symbols: Iterable[str]) -> Polynomial:
        """The polynomial with the ``symbols`` set to 0."""
        gone = frozenset(symbols)
        return Polynomial({m: c for m, c in self.terms.items() if not gone & set(m)})


def _collected(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return Polynomial({m: c for m, c in total.items() if c})
