"""Writes a formula as text, as LaTeX and as a Python function.

Names a law: what pattern of communication or work grows like its leading terms.

Names say what *usually* grows so. Powers of the sizes alone cannot tell a halo from any other exchange of
as many bytes, so a name is a reading of the formula, not a finding about the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Floats, Form, Term, columns, most_cubic_grid, point_text

COMMUNICATION = frozenset(
    ["comm_bytes", "comm_bytes_low", "comm_bytes_high", "messages", "regular_bytes", "regular_messages"]
)
_LEAST_SHARE = 0.05  # of the value at the largest point: smaller terms do not name a law
_HALF, _THIRD = Fraction(1, 2), Fraction(1, 3)
_OF_BLOCK: Mapping[Form, str] = {"sides": "neighbours", "faces": "faces", "edges": "edges or corners"}
# By dimensions that are cut, then by the power of the size.
_CUTS: Mapping[int, Mapping[Fraction, str]] = {
    1: {
        Fraction(0): "1-D halo, or reduction and broadcast",
        Fraction(1): "slabs of a plane, or everything to everyone",
    },
    2: {
        Fraction(1): "2-D halo",
        _HALF: "2-D halo",
        Fraction(2): "broadcast in rows and columns of a matrix",
    },
    3: {Fraction(2): "3-D halo", Fraction(2, 3): "3-D halo", Fraction(1): "edges of 3-D blocks"},
}


def law_name(law: Law) -> str:
    """Plain-language name, such as ``2-D halo`` or ``3-D halo + reduction and broadcast``."""
    node = law.parameters.index("p") if "p" in law.parameters else -1
    names = [
        _term_name(term, node, law.metric in COMMUNICATION)
        for term in _leading(law.formula, np.array([law.highest]))
    ]
    return " + ".join(dict.fromkeys(names)) or "nothing"


def _leading(formula: Formula, largest: Floats) -> list[Term]:
    """Terms with a noticeable share of the value at the largest point, the largest first."""
    shares = np.abs(columns(formula.terms, largest)[0] * np.array(formula.coefficients))
    order = np.argsort(-shares, kind="stable")
    return [formula.terms[i] for i in order.tolist() if shares[i] >= _LEAST_SHARE * shares.sum() > 0]


def _term_name(term: Term, node: int, is_communication: bool) -> str:
    nodes = next((f for f in term if f.parameter == node), None)
    sizes = [f for f in term if f.parameter != node]
    if nodes is not None and nodes.form in _OF_BLOCK:
        return f"{_OF_BLOCK[nodes.form]} of the busiest {nodes.exponent.denominator}-D block"
    found = _communication_name(nodes, sizes) if is_communication and nodes is not None else ""
    return found or _growth_name(nodes, sizes)


def _communication_name(nodes: Factor, sizes: Sequence[Factor]) -> str:
    powers = [f.exponent for f in sizes if f.form == "power" and not f.log_exponent]
    if len(powers) != len(sizes) or any(a < 0 for a in powers):
        return ""
    surface = max(powers, default=Fraction(0))
    if nodes.form in ("pairs", "mesh"):
        dimensions = {_HALF: "2-D", Fraction(2, 3): "3-D", _THIRD: "3-D"}.get(nodes.exponent)
        return f"neighbours on a {dimensions} grid of nodes" if dimensions else "every node with every other"
    if nodes.form == "gather":
        return "random gather"
    cuts = nodes.exponent.denominator  # in how many dimensions p nodes cut so often
    if nodes.form in ("grid", "rise") and nodes.exponent.numerator == 1 and cuts in _CUTS:
        other = f"exchange across the cuts of {cuts}-D blocks"
        return _CUTS[cuts].get(surface, other if cuts > 1 else "slabs, or everything to everyone")
    if nodes.form == "rise" and nodes.exponent == Fraction(2, 3) and surface == 1:
        return "edges of 3-D blocks"
    return _other_exchange(nodes, surface)


def _other_exchange(nodes: Factor, surface: Fraction) -> str:
    if nodes.form == "fall" and nodes.exponent == 1:
        return "all-to-all exchange (transpose)"
    if nodes.form == "power" and nodes.log_exponent and nodes.exponent in (0, 1):
        return "tree" if not nodes.exponent else "exchange in log2(p) steps"
    if nodes.form != "power" or nodes.log_exponent:
        return ""
    if nodes.exponent == _HALF and surface in (1, _HALF):
        return "2-D surface of the parts"
    if nodes.exponent == _THIRD and surface in (2, Fraction(2, 3)):
        return "3-D surface of the parts"
    return "collective over all nodes" if nodes.exponent == 1 and not surface else ""


def _growth_name(nodes: Factor | None, sizes: Sequence[Factor]) -> str:
    sizes = [f for f in sizes if f.exponent or f.log_exponent]
    if nodes is None and not sizes:
        return "constant"
    degree = sum((f.exponent for f in sizes), Fraction(0))
    known = {1: "linear", 2: "quadratic", 3: "cubic"}
    problem = ""
    if sizes:
        plain = all(not f.log_exponent for f in sizes) and len(sizes) == 1
        problem = f"{known[int(degree)] if plain and degree in known else 'power'} growth with the problem"
        if degree < 0:
            problem = "falling with the problem"
    if nodes is None:
        return problem
    falls = nodes.form == "power" and nodes.exponent < 0
    spread = "divided among the nodes" if falls else "growing with the nodes"
    return f"{problem}, {spread}" if problem else spread


_WHOLE = 1e-6  # relative: how near to a whole number a coefficient is written as one


def law_text(law: Law) -> str:
    """``32 n (sqrt(p) - 1)``, also for the terminal."""
    return formula_text(law.formula, law.parameters)


def law_python(law: Law) -> str:
    """Source of a function of the parameters; standard library only, but for laws of process grids."""
    body = formula_text(law.formula, law.parameters, PYTHON)
    used = [name for name in ("OF_GRIDS", "most_cubic_grid") if name in body]
    lines = [f"from commanalyzer.scaling.laws.terms import {', '.join(used)}"] if used else []
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
    dimensions ``d``, ``extents`` (their sum), ``shares`` (the sum of the inverse ones), and of its busiest
    ``block`` the borders (``block_latex``).
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
        "gather": "({x} - 1) (1 - exp(-{a}/{x}))", **dict.fromkeys(_OF_BLOCK, "{block}"),
    },
)  # fmt: skip
LATEX = Style(
    r"\,", _latex_number, "{:g}".format, _latex_name, ("{x}^{{{a}}}",) * 2,
    {Fraction(1, 2): r"\sqrt{{{x}}}"}, (r"\log_2 {x}", r"\log_2^{{{b}}} {x}"),
    {
        "grid": r"\left(\sum_{{i=1}}^{{{d}}} q_i - {d}\right)", "pairs": "({large} - {small})",
        "mesh": r"{x} \sum_{{i=1}}^{{{d}}} (1 - 1/q_i)", "rise": "({power} - 1)", "fall": "(1 - {inverse})",
        "base": "{a}^{{{x}}}", "gather": r"({x} - 1)\,(1 - e^{{-{a}/{x}}})",
        **dict.fromkeys(_OF_BLOCK, "{block_latex}"),
    },
)  # fmt: skip
PYTHON = Style(
    " * ", lambda value: repr(float(value)), lambda value: repr(float(value)), str, ("{x} ** ({a})",) * 2,
    {}, ("math.log2({x})", "math.log2({x}) ** {b}"),
    {
        "grid": "(sum(most_cubic_grid(round({x}), {d})) - {d})", "pairs": "abs({x} - {power})",
        "mesh": "sum({x} * (1 - 1 / q) for q in most_cubic_grid(round({x}), {d}))", "rise": "({power} - 1)",
        "fall": "(1 - {inverse})", "base": "{a} ** ({x})", "gather": "({x} - 1) * (1 - math.exp(-{a} / {x}))",
        **{form: f"OF_GRIDS['{form}'](most_cubic_grid(round({{x}}), {{d}}))" for form in _OF_BLOCK},
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
    block = _borders_text(factor.form, d, x)
    return style.forms[factor.form].format(
        x=x, a=style.decimal(float(a)), d=d, power=_power(x, a, style), inverse=_power(x, -a, style),
        large=large, small=small, extents=" + ".join(f"q{i + 1}" for i in range(d)),
        shares=" - ".join(f"1/q{i + 1}" for i in range(d)),
        block=block, block_latex=re.sub(r"([bq])(\d)", r"\1_\2", block).replace("min", r"\min"),
    )  # fmt: skip


def _borders_text(form: Form, dimensions: int, x: str) -> str:
    """``(b1/q2 + b2/q1)``: faces of a block in the domain's, where b = min(q - 1, 2); all of its borders."""
    if dimensions == 1:
        return f"min({x} - 1, 2)"
    parts = []
    for met in combinations(range(1, dimensions + 1), 2 if form == "edges" else 1):
        along = [f"q{i}" for i in range(1, dimensions + 1) if i not in met and form != "sides"]
        over = f"/({' '.join(along)})" if len(along) > 1 else "".join(f"/{q}" for q in along)
        parts.append(" ".join(f"b{i}" for i in met) + over)
    return f"({' + '.join(parts)})" if len(parts) > 1 else parts[0]


def _power(x: str, exponent: Fraction, style: Style) -> str:
    other = style.powers[exponent.denominator != 1]
    return x if exponent == 1 else style.roots.get(exponent, other).format(x=x, a=exponent)


def grid_note(formula: Formula) -> str:
    """What q1, q2, ... mean, where a formula has them."""
    used = {(f.form, d) for f in chain(*formula.terms) if f.is_of_grid(d := f.exponent.denominator) and d > 1}
    found = sorted({d for _, d in used})
    grids = " or ".join(" x ".join(f"q{i + 1}" for i in range(d)) for d in found)
    twelve = " or ".join(" x ".join(map(str, most_cubic_grid(12, d))) for d in found)
    borders = any(form in _OF_BLOCK for form, _ in used)
    more = "; b1: min(q1 - 1, 2), neighbours of the busiest block along q1" if borders else ""
    return f"{grids}: the most cubic grid of p nodes, for p = 12 {twelve}{more}" if found else ""


def accuracy_text(formula: Formula) -> str:
    """Error of prediction as a percentage with two digits; ``exact`` where there is none."""
    error = formula.loo_error
    if not math.isfinite(error):
        return "unknown"
    return "exact" if error < _WHOLE else f"{100 * error:.2g} %"


APART = 0.1  # relative difference above which two values disagree


def doubt_text(law: Law, asked: Mapping[str, Floats | float] | None = None) -> str:
    """Which forms the data cannot tell apart, with their values; empty where all are within :data:`APART`.

    Of the values ``asked``, float64[N] or a number of each parameter, those where forms differ most; without
    them, twice the largest of the data.
    """
    beyond = dict(zip(law.parameters, (2.0 * x for x in law.highest), strict=True))
    points, forms = law.points(asked or beyond), (law.formula, *law.alternatives)
    values = np.stack([form.at(points) for form in forms])
    highest = values.max(axis=0)
    worst = int(np.argmax((highest - values.min(axis=0)) / np.where(highest > 0, highest, 1.0)))
    order = np.argsort(values[:, worst], kind="stable")
    (low, high), ends = values[order[[0, -1]], worst].tolist(), order[[0, -1]].tolist()
    if high - low <= APART * high:
        return ""
    least, most = (formula_text(forms[k], law.parameters) for k in ends)
    where = point_text(law.parameters, points[worst])
    return f"the data cannot tell {least} from {most}: {amount_text(low)} to {amount_text(high)} at {where}"


def amount_text(value: float) -> str:
    """A value of a metric: whole with separators where it is large."""
    return f"{value:,.0f}" if 1000 <= value < 1e12 else number_text(value) if value else "0"
