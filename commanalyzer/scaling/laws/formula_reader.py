"""Reads a formula that a person wrote, ``0.03899 * n * log2(n) + 2``, as a law.

The syntax is Python's: numbers, names of parameters, ``+ - * /``, powers with a number, ``2**n``, ``log2``,
``sqrt``, ``cbrt``; sums may be multiplied out. Only what a term of :mod:`commanalyzer.scaling.laws.terms` can
be is read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor

# per parameter: power and power of log2
_Powers: TypeAlias = tuple[tuple[str, Fraction, int], ...]
_Polynomial: TypeAlias = dict[_Powers, float]
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_LARGEST_EXPONENT = 64
# Products of sums: laws have some ten terms, a polynomial of degree 8 in three parameters has 165. Each
# product of two such takes 30 ms; without a limit a line of text would take hours.
_MOST_TERMS = 256
_BASE = "**"  # in names of exponentials


def read_formula(text: str, *, metric: str = "time_s", factor: float = 1.0) -> Law:
    """Law of a formula.

    Every coefficient is multiplied with ``factor``: seconds per unit of the formula.

    Raises:
        FitError: If it is not such a formula, has too many terms, or a coefficient is not finite.
    """
    try:
        polynomial = _value(ast.parse(text.strip(), mode="eval").body, text)
        named = (name for powers in polynomial for name, _, _ in powers)  # ``2**n``: an exponential of n
        names = tuple(dict.fromkeys(name.partition(_BASE)[2] or name for name in named))
        terms = tuple(tuple(sorted(_factor(names, *power) for power in powers)) for powers in polynomial)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError) as error:
        raise _unreadable(text) from error
    if not np.isfinite(list(polynomial.values())).all():
        raise _unreadable(text)
    coefficients = tuple(factor * c for c in polynomial.values())
    formula = Formula("imported", terms or ((),), coefficients or (0.0,))
    limits = (0.0,) * len(names), (float("inf"),) * len(names)
    return Law(metric, names, formula, (), *limits, 0, ("formula as given",))


def _factor(names: tuple[str, ...], name: str, power: Fraction, log: int) -> Factor:
    base, _, parameter = name.partition(_BASE)
    if not parameter:
        return Factor(names.index(name), "power", power, log)
    if log or power.denominator != 1:
        raise ValueError("roots and logarithms of exponentials")
    return Factor(names.index(parameter), "base", Fraction(base) ** power.numerator)


def _unreadable(text: str) -> FitError:
    return FitError(
        "expected a formula such as 0.03899 * n * log2(n) + 2, found another text",
        where=text[:80],
        hint="numbers, parameters, + - * /, powers with a number, log2, sqrt and cbrt of a parameter",
    )


def _value(node: ast.expr, text: str) -> _Polynomial:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return {(): float(number)}
        case ast.Name(id=name):
            return {((name, Fraction(1), 0),): 1.0}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return {powers: -c for powers, c in _value(operand, text).items()}
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, text)
        case ast.BinOp():
            return _operation(node, text)
        case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]):
            return _call(function, _value(argument, text), text)
    raise _unreadable(text)


def _operation(node: ast.BinOp, text: str) -> _Polynomial:
    left, right = _value(node.left, text), _value(node.right, text)
    match node.op:
        case ast.Add():
            return _sum(left, right, 1.0)
        case ast.Sub():
            return _sum(left, right, -1.0)
        case ast.Mult():
            return _product(left, right)
        case ast.Div() if len(right) == 1:
            return _product(left, _power(right, Fraction(-1), text))
        case ast.Pow() if list(left) == [()] and isinstance(node.right, ast.Name) and left[()] > 0:
            base = Fraction(left[()]).limit_denominator(1000)
            return {((f"{base}{_BASE}{node.right.id}", Fraction(1), 0),): 1.0}
        case ast.Pow() if list(right) == [()]:
            exponent = Fraction(right[()]).limit_denominator(12)
            if abs(exponent) > _LARGEST_EXPONENT:
                raise _unreadable(text)
            if exponent.denominator == 1 and exponent >= 0 and len(left) > 1:
                found: _Polynomial = {(): 1.0}
                for _ in range(int(exponent)):
                    found = _product(found, left)
                return found
            return _power(left, exponent, text)
    raise _unreadable(text)


def _call(function: str, argument: _Polynomial, text: str) -> _Polynomial:
    if function in _ROOTS:
        return _power(argument, _ROOTS[function], text)
    if function == "log2" and len(argument) == 1:
        ((powers, c),) = argument.items()
        if c == 1.0 and len(powers) == 1 and powers[0][2] == 0:
            name, power, _ = powers[0]
            return {((name, Fraction(0), 1),): float(power)}
    raise _unreadable(text)


def _sum(left: _Polynomial, right: _Polynomial, sign: float) -> _Polynomial:
    found = dict(left)
    for powers, c in right.items():
        found[powers] = found.get(powers, 0.0) + sign * c
    return {powers: c for powers, c in found.items() if c}


def _product(left: _Polynomial, right: _Polynomial) -> _Polynomial:
    found: _Polynomial = {}
    for a, c in left.items():
        for b, d in right.items():
            powers = _joined(a, b)
            found[powers] = found.get(powers, 0.0) + c * d
    if len(found) > _MOST_TERMS:
        raise FitError(
            f"expected a formula of at most {_MOST_TERMS} terms, found more",
            hint="products and powers of sums are multiplied out",
        )
    return found


def _joined(a: _Powers, b: _Powers) -> _Powers:
    total: dict[str, tuple[Fraction, int]] = {}
    for name, power, log in (*a, *b):
        old = total.get(name, (Fraction(0), 0))
        total[name] = (old[0] + power, old[1] + log)
    return _sorted(total)


def _sorted(total: Mapping[str, tuple[Fraction, int]]) -> _Powers:
    return tuple((name, power, log) for name, (power, log) in sorted(total.items()) if power or log)


def _power(base: _Polynomial, exponent: Fraction, text: str) -> _Polynomial:
    if len(base) != 1:
        raise _unreadable(text)
    ((powers, c),) = base.items()
    if any((log * exponent).denominator != 1 for _, _, log in powers) or c <= 0:
        raise _unreadable(text)
    scaled = {name: (power * exponent, int(log * exponent)) for name, power, log in powers}
    return {_sorted(scaled): float(c ** float(exponent))}
