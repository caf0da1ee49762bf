"""Writes a formula as text, as LaTeX and as a Python function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Form, Term, most_cubic_grid

_WHOLE = 1e-6  # relative: how near to a whole number a coefficient is written as one


def law_text(law: Law) -> str:
    """``32 n (sqrt(p) - 1)``, also for the terminal."""
    return formula_text(law.formula, law.parameters)


def law_python(law: Law) -> str:
    """Source of a function of the parameters; standard library only, but for laws of process grids."""
    body = formula_text(law.formula, law.parameters, PYTHON)
    lines = (
        ["from commanalyzer.scaling.laws.terms import most_cubic_grid"] if "most_cubic_grid" in body else []
    )
    lines += ["import math", ""] if "math." in body else []
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in law.metric)
    name = name if name and not name[0].isdigit() else f"law_{name}"
    return "\n".join([*lines, f"def {name}({', '.join(law.parameters)}):", f"    return max(0.0, {body})"])


def number_text(value: float) -> str:
    """A coefficient: whole where it is, else with four digits."""
    nearest = round(value)
    if nearest and abs(value - nearest) <= _WHOLE * abs(value) and abs(value) < 1e9:
        return str(nearest)
    return f"{value:.4g}"


def _latex_number(value: float) -> str:
    mantissa, _, exponent = number_text(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _latex_name(name: str) -> str:
    return name if len(name) == 1 else r"\mathit{" + name.replace("_", r"\_") + "}"


class Style(NamedTuple):
    """How a language writes a formula.

    Templates may name the parameter ``x``, its exponent ``a`` and that of its logarithm ``b``, ``power`` and
    ``inverse`` (x^a, 1/x^a), ``large`` and ``small`` (the larger of x^a and x), and of a grid the number of
    dimensions ``d``, ``extents`` (their sum) and ``shares`` (the sum of the inverse ones).
    """

    times: str
    number: Callable[[float], str]  # coefficients
    decimal: Callable[[float], str]  # exponents that are no powers
    name: Callable[[str], str]
    powers: tuple[str, str]  # whole exponents, others
    roots: Mapping[Fraction, str]
    logs: tuple[str, str]  # of x, and a power of it
    forms: Mapping[Form, str]


TEXT = Style(
    " ", number_text, "{:g}".format, str, ("{x}^{a}", "{x}^({a})"),
    {Fraction(1, 2): "sqrt({x})", Fraction(1, 3): "cbrt({x})"}, ("log2({x})", "log2({x})^{b}"),
    {
        "grid": "({extents} - {d})", "mesh": "{x} ({d} - {shares})", "pairs": "({large} - {small})",
        "rise": "({power} - 1)", "fall": "(1 - 1/{power})", "base": "{a}^{x}",
        "gather": "({x} - 1) (1 - exp(-{a}/{x}))",
    },
)  # fmt: skip
LATEX = Style(
    r"\,", _latex_number, "{:g}".format, _latex_name, ("{x}^{{{a}}}",) * 2,
    {Fraction(1, 2): r"\sqrt{{{x}}}"}, (r"\log_2 {x}", r"\log_2^{{{b}}} {x}"),
    {
        "grid": r"\left(\sum_{{i=1}}^{{{d}}} q_i - {d}\right)", "pairs": "({large} - {small})",
        "mesh": r"{x} \sum_{{i=1}}^{{{d}}} (1 - 1/q_i)", "rise": "({power} - 1)", "fall": "(1 - {inverse})",
        "base": "{a}^{{{x}}}", "gather": r"({x} - 1)\,(1 - e^{{-{a}/{x}}})",
    },
)  # fmt: skip
PYTHON = Style(
    " * ", lambda value: repr(float(value)), lambda value: repr(float(value)), str, ("{x} ** ({a})",) * 2,
    {}, ("math.log2({x})", "math.log2({x}) ** {b}"),
    {
        "grid": "(sum(most_cubic_grid(round({x}), {d})) - {d})", "pairs": "abs({x} - {power})",
        "mesh": "sum({x} * (1 - 1 / q) for q in most_cubic_grid(round({x}), {d}))", "rise": "({power} - 1)",
        "fall": "(1 - {inverse})", "base": "{a} ** ({x})", "gather": "({x} - 1) * (1 - math.exp(-{a} / {x}))",
    },
)  # fmt: skip


def formula_text(formula: Formula, names: Sequence[str], style: Style = TEXT) -> str:
    """One formula with the given names of parameters (expressions too), the steepest term first."""

    def steepness(item: tuple[float, Term]) -> float:
        return -sum(float(f.exponent) + 0.01 * f.log_exponent for f in item[1])

    terms = sorted(zip(formula.coefficients, formula.terms, strict=True), key=steepness)
    return " + ".join(_term(c, t, names, style) for c, t in terms).replace("+ -", "- ") or "0"


def _term(coefficient: float, term: Term, names: Sequence[str], style: Style) -> str:
    ordered = sorted(term, key=lambda f: (f.form != "power", -f.parameter))
    factors = [text for f in ordered if (text := _factor(f, style.name(names[f.parameter]), style))]
    number = style.number(coefficient)
    return style.times.join(factors if number == "1" and factors else [number, *factors])


def _factor(factor: Factor, x: str, style: Style) -> str:
    a, d = factor.exponent, factor.exponent.denominator
    if factor.shift:
        x = f"({x} {'-' if factor.shift > 0 else '+'} {abs(factor.shift)})"
    if factor.form == "power":
        log = style.logs[factor.log_exponent != 1].format(x=x, b=factor.log_exponent)
        parts = (_power(x, a, style) if a else "", log if factor.log_exponent else "")
        return style.times.join(filter(None, parts))
    large, small = (_power(x, e, style) for e in sorted((a, Fraction(1)), reverse=True))
    return style.forms[factor.form].format(
        x=x, a=style.decimal(float(a)), d=d, power=_power(x, a, style), inverse=_power(x, -a, style),
        large=large, small=small, extents=" + ".join(f"q{i + 1}" for i in range(d)),
        shares=" - ".join(f"1/q{i + 1}" for i in range(d)),
    )  # fmt: skip


def _power(x: str, exponent: Fraction, style: Style) -> str:
    other = style.powers[exponent.denominator != 1]
    return x if exponent == 1 else style.roots.get(exponent, other).format(x=x, a=exponent)


def grid_note(formula: Formula) -> str:
    """What q1, q2, ... mean, where a formula has them."""
    found = sorted({f.exponent.denominator for t in formula.terms for f in t if f.form in ("grid", "mesh")})
    grids = " or ".join(" x ".join(f"q{i + 1}" for i in range(d)) for d in found)
    twelve = " or ".join(" x ".join(map(str, most_cubic_grid(12, d))) for d in found)
    return f"{grids}: the most cubic grid of p nodes, for p = 12 {twelve}" if found else ""


def accuracy_text(formula: Formula) -> str:
    """Error of prediction as a percentage with two digits; ``exact`` where there is none."""
    error = formula.loo_error
    if not math.isfinite(error):
        return "unknown"
    return "exact" if error < _WHOLE else f"{100 * error:.2g} %"
