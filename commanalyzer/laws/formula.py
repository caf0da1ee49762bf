"""Writes a formula as text, as LaTeX and as a Python function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from commanalyzer.laws.law import Formula, Law
from commanalyzer.laws.terms import Factor, Term

_WHOLE = 1e-6  # relative: how near to a whole number a coefficient is written as one
_ROOTS = {Fraction(1, 2): "sqrt({})", Fraction(1, 3): "cbrt({})"}


def law_text(law: Law) -> str:
    """``32 n (sqrt(p) - 1)``, also for the terminal."""
    return formula_text(law.formula, law.parameters)


def formula_text(formula: Formula, parameters: Sequence[str]) -> str:
    """One formula with the given names of parameters."""
    return _joined([_text_term(c, t, parameters) for c, t in _ordered(formula)])


def law_latex(law: Law) -> str:
    r"""``32\,n\,(\sqrt{p} - 1)``, for a paper in math mode; q_i are the extents of the most cubic grid."""
    return formula_latex(law.formula, law.parameters)


def formula_latex(formula: Formula, parameters: Sequence[str]) -> str:
    """One formula in math mode with the given names of parameters."""
    return _joined([_latex_term(c, t, parameters) for c, t in _ordered(formula)])


def formula_python(formula: Formula, parameters: Sequence[str]) -> str:
    """One formula as an expression of Python; names may be expressions in brackets."""
    terms = [
        " * ".join((repr(float(c)), *(_python_factor(f, parameters) for f in t)))
        for c, t in _ordered(formula)
    ]
    return " + ".join(terms) or "0.0"


def law_python(law: Law) -> str:
    """Source of a function of the parameters; standard library only, but for laws of process grids."""
    formula = law.formula
    uses_grid = any(factor.form in ("grid", "mesh") for term in formula.terms for factor in term)
    uses_math = any(
        factor.log_exponent or factor.form == "gather" for term in formula.terms for factor in term
    )
    lines = ["import math", ""] if uses_math else []
    if uses_grid:
        lines = ["from commanalyzer.laws.terms import most_cubic_grid", *lines]
    body = formula_python(formula, law.parameters)
    return "\n".join(
        [
            *lines,
            f"def {_identifier(law.metric)}({', '.join(law.parameters)}):",
            f"    return max(0.0, {body})",
        ]
    )


def _ordered(formula: Formula) -> list[tuple[float, Term]]:
    """Coefficients and terms, the steepest first."""

    def steepness(item: tuple[float, Term]) -> float:
        return -sum(float(f.exponent) + 0.01 * f.log_exponent for f in item[1])

    return sorted(zip(formula.coefficients, formula.terms, strict=True), key=steepness)


def _joined(terms: Sequence[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ") or "0"


def number_text(value: float) -> str:
    """A coefficient: whole where it is, else with four digits."""
    nearest = round(value)
    if nearest and abs(value - nearest) <= _WHOLE * abs(value) and abs(value) < 1e9:
        return str(nearest)
    return f"{value:.4g}"


def _text_term(coefficient: float, term: Term, names: Sequence[str]) -> str:
    ordered = sorted(term, key=lambda f: (f.form != "power", -f.parameter))
    factors = [_text_factor(f, names[f.parameter]) for f in ordered]
    number = number_text(coefficient)
    return " ".join(factors if number == "1" and factors else [number, *factors])


def _text_factor(factor: Factor, name: str) -> str:
    if factor.form == "grid":
        count = factor.exponent.denominator
        extents = " + ".join(f"q{i + 1}" for i in range(count))
        return f"({extents} - {count})"
    if factor.form == "gather":
        return f"({name} - 1) (1 - exp(-{_number(factor.exponent)}/{name}))"
    if factor.form == "mesh":
        shares = " - ".join(f"1/q{i + 1}" for i in range(factor.exponent.denominator))
        return f"{name} ({factor.exponent.denominator} - {shares})"
    if factor.form == "pairs":
        large, small = sorted((factor.exponent, Fraction(1)), reverse=True)
        return f"({_text_power(name, large)} - {_text_power(name, small)})"
    if factor.form == "rise":
        return f"({_text_power(name, factor.exponent)} - 1)"
    if factor.form == "fall":
        return f"(1 - 1/{_text_power(name, factor.exponent)})"
    if factor.form == "base":
        return f"{_number(factor.exponent)}^{name}"
    if factor.shift:
        name = f"({name} {'-' if factor.shift > 0 else '+'} {abs(factor.shift)})"
    log = f"log2({name})" + (f"^{factor.log_exponent}" if factor.log_exponent != 1 else "")
    power = _text_power(name, factor.exponent) if factor.exponent else ""
    return " ".join(part for part in (power, log if factor.log_exponent else "") if part)


def _number(value: Fraction) -> str:
    return f"{float(value):g}"


def _text_power(name: str, exponent: Fraction) -> str:
    if exponent == 1:
        return name
    if exponent in _ROOTS:
        return _ROOTS[exponent].format(name)
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"


def _latex_term(coefficient: float, term: Term, names: Sequence[str]) -> str:
    ordered = sorted(term, key=lambda f: (f.form != "power", -f.parameter))
    number = _latex_number(coefficient)
    factors = [_latex_factor(f, names[f.parameter]) for f in ordered]
    return r"\,".join(factors if number == "1" and factors else [number, *factors])


def _latex_number(value: float) -> str:
    text = number_text(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"


def _latex_factor(factor: Factor, parameter: str) -> str:
    name = parameter if len(parameter) == 1 else r"\mathit{" + parameter.replace("_", r"\_") + "}"
    if factor.form == "grid":
        count = factor.exponent.denominator
        return rf"\left(\sum_{{i=1}}^{{{count}}} q_i - {count}\right)"
    if factor.form == "gather":
        return rf"({name} - 1)\,(1 - e^{{-{_number(factor.exponent)}/{name}}})"
    if factor.form == "mesh":
        return rf"{name} \sum_{{i=1}}^{{{factor.exponent.denominator}}} (1 - 1/q_i)"
    if factor.form == "pairs":
        large, small = sorted((factor.exponent, Fraction(1)), reverse=True)
        return rf"({_latex_power(name, large)} - {_latex_power(name, small)})"
    if factor.form == "rise":
        return rf"({_latex_power(name, factor.exponent)} - 1)"
    if factor.form == "fall":
        return rf"(1 - {_latex_power(name, -factor.exponent)})"
    if factor.form == "base":
        return rf"{_number(factor.exponent)}^{{{name}}}"
    if factor.shift:
        name = f"({name} {'-' if factor.shift > 0 else '+'} {abs(factor.shift)})"
    exponent = f"^{{{factor.log_exponent}}}" if factor.log_exponent != 1 else ""
    log = rf"\log_2{exponent} {name}"
    power = _latex_power(name, factor.exponent) if factor.exponent else ""
    return r"\,".join(part for part in (power, log if factor.log_exponent else "") if part)


def _latex_power(name: str, exponent: Fraction) -> str:
    if exponent == 1:
        return name
    return rf"\sqrt{{{name}}}" if exponent == Fraction(1, 2) else f"{name}^{{{exponent}}}"


def _python_factor(factor: Factor, names: Sequence[str]) -> str:
    name = names[factor.parameter]
    if factor.shift:
        name = f"({name} - {factor.shift})" if factor.shift > 0 else f"({name} + {-factor.shift})"
    power = f"{name} ** ({factor.exponent})" if factor.exponent != 1 else name
    if factor.form == "grid":
        count = factor.exponent.denominator
        return f"(sum(most_cubic_grid(round({name}), {count})) - {count})"
    if factor.form == "gather":
        return f"({name} - 1) * (1 - math.exp(-{float(factor.exponent)} / {name}))"
    if factor.form == "mesh":
        grid = f"most_cubic_grid(round({name}), {factor.exponent.denominator})"
        return f"sum({name} * (1 - 1 / q) for q in {grid})"
    if factor.form == "pairs":
        return f"abs({name} - {power})"
    if factor.form == "rise":
        return f"({power} - 1)"
    if factor.form == "fall":
        return f"(1 - {name} ** (-{factor.exponent}))"
    if factor.form == "base":
        return f"{float(factor.exponent)} ** ({name})"
    log = f"math.log2({name}) ** {factor.log_exponent}"
    parts = [power] if factor.exponent else []
    return " * ".join([*parts, log] if factor.log_exponent else parts) or "1.0"


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return text if text and not text[0].isdigit() else f"law_{text}"


def grid_note(formula: Formula) -> str:
    """What q1, q2, ... mean, where a formula has them."""
    dimensions = {f.exponent.denominator for t in formula.terms for f in t if f.form in ("grid", "mesh")}
    if not dimensions:
        return ""
    grids = " or ".join(" x ".join(f"q{i + 1}" for i in range(d)) for d in sorted(dimensions))
    return f"{grids}: the most cubic grid of p nodes, for p = 12 " + " or ".join(
        " x ".join(map(str, _example(12, d))) for d in sorted(dimensions)
    )


def _example(nodes: int, dimensions: int) -> tuple[int, ...]:
    from commanalyzer.laws.terms import most_cubic_grid

    return most_cubic_grid(nodes, dimensions)


def accuracy_text(formula: Formula) -> str:
    """Error of prediction as a percentage with two digits; ``exact`` where there is none."""
    error = formula.loo_error
    if not math.isfinite(error):
        return "unknown"
    return "exact" if error < _WHOLE else f"{100 * error:.2g} %"
