"""Terms that are tried: complexity definitions, their products, and each per thread (Section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.profiles.extrapolation.setup import Interactions
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.terms import Factor, Term

_SIZE_TERMS = ("{0}", "{0}**2", "{0}**3", "log2({0})")
_PROCESS_TERMS = ("sqrt({0})", "cbrt({0})", "cbrt({0})**2", "{0}", "log2({0})")
MEM_TERMS = ("normMemX", "sqrt(normMemX)", "lognormMemX", "lognormMemX**2", "lognormMemX**3")
MEM_NAMES = ("memX", "normMemX", "lognormMemX")


def default_terms(parameters: Sequence[str], processes: str) -> tuple[str, ...]:
    """Main terms where nobody defines them: volumes and surfaces of the size, roots of the processes.

    Divided by the number of threads, roots give what the borders of blocks in two and three dimensions grow
    like.
    """
    return tuple(
        text.format(name)
        for name in parameters
        for text in (_PROCESS_TERMS if name == processes else _SIZE_TERMS)
    )


def read_terms(texts: Sequence[str], names: Sequence[str]) -> tuple[Term, ...]:
    """Terms of formulas, sums give one each; ``ConfigError`` if one is no formula, or of no parameter."""
    found: dict[Term, None] = {}
    for text in texts:
        try:
            law = read_formula(text)
        except FitError as error:
            raise ConfigError(f"expected a term such as n**2 * log2(n), found {text!r}") from error
        wrong = [name for name in law.parameters if name not in names]
        if wrong:
            raise ConfigError(f"expected terms of {', '.join(names)}, found {wrong[0]}", where=text)
        for term in law.formula.terms:
            moved = (
                Factor(names.index(law.parameters[f.parameter]), f.form, f.exponent, f.log_exponent)
                for f in term
            )
            found[tuple(sorted(moved))] = None
    return tuple(found)


def proposer(
    mains: Sequence[Term], divisors: Sequence[int], interactions: Interactions
) -> Callable[[tuple[Term, ...]], Sequence[Term]]:
    """Function from the chosen terms to those that may be added.

    Every term is also divided by ``divisors``, numbers of threads; ``interactions``: which products of main
    terms of different parameters are tried.
    """
    products = [p for a, b in combinations(mains, 2) if (p := _product(a, b)) is not None]

    def propose(chosen: tuple[Term, ...]) -> Sequence[Term]:
        options = list(mains)
        if interactions == "all":
            options += products
        if interactions != "none":
            options += [p for c in chosen for m in mains if c and (p := _product(c, m)) is not None]
        every = dict.fromkeys(options)
        for divisor in divisors:
            every |= dict.fromkeys(t for o in [*options, ()] if (t := _divided(o, divisor)) is not None)
        return [term for term in every if term]

    return propose


def _product(first: Term, second: Term) -> Term | None:
    """Product of terms of different parameters; ``None`` where they share one."""
    if {f.parameter for f in first} & {f.parameter for f in second}:
        return None
    return tuple(sorted((*first, *second)))


def _divided(term: Term, divisor: int) -> Term | None:
    """The term over a parameter: powers are subtracted; ``None`` for other forms of it."""
    own = [f for f in term if f.parameter == divisor] or [Factor(divisor, "power", Fraction(0))]
    if len(own) != 1 or own[0].form != "power":
        return None
    exponent = own[0].exponent - 1
    rest = [f for f in term if f.parameter != divisor]
    if exponent or own[0].log_exponent:
        rest.append(Factor(divisor, "power", exponent, own[0].log_exponent))
    return tuple(sorted(rest))
