"""Formulas of composed models, as text, LaTeX and Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from commanalyzer.kernels.composition.expressions import Sum, Use
from commanalyzer.kernels.composition.models import Composed, scaled_law
from commanalyzer.scaling.laws.formula import LATEX, PYTHON, TEXT, Style, formula_text
from commanalyzer.scaling.laws.law import Law

MICROSECONDS = 1e6


class ComposedFormula(NamedTuple):
    """The model of a system; the time is in microseconds in text and LaTeX, in seconds in Python."""

    text: str  # for a terminal
    latex: str  # for math mode
    python: str  # source of a function of the parameters


def formula_of_sum(model: Composed, total: Sum) -> str:
    """One sum as text, microseconds; ``measured`` where a block has a table."""
    parts = _parts(model, total, TEXT, MICROSECONDS, lambda name, shares: f"{name}/{shares}")
    return "measured" if parts is None else _joined(parts)


def formula_of(model: Composed) -> ComposedFormula | None:
    """The whole maximum; ``None`` where a block has a table of times."""
    sums = model.form.sums
    texts = [formula_of_sum(model, total) for total in sums]
    latex = [_parts(model, t, LATEX, MICROSECONDS, lambda name, s: rf"\tfrac{{{name}}}{{{s}}}") for t in sums]
    python = [_parts(model, t, PYTHON, 1.0, lambda name, s: f"({name} / {s})") for t in sums]
    if any(parts is None for parts in latex):
        return None
    models = [model.models[use.block] for total in sums for use, _ in total.terms]
    names = sorted({name for block in models for name in block.parameters})
    bodies = [_joined(parts) for parts in python if parts is not None]
    body = bodies[0] if len(bodies) == 1 else f"max({', '.join(bodies)})"
    latex_sums = [_joined(parts) for parts in latex if parts is not None]
    whole = latex_sums[0] if len(latex_sums) == 1 else rf"\max\left({', '.join(latex_sums)}\right)"
    source = f"import math\n\ndef time_s({', '.join(names)}):\n    return {body}\n"
    return ComposedFormula(texts[0] if len(texts) == 1 else f"max({', '.join(texts)})", whole, source)


def _parts(
    model: Composed, total: Sum, style: Style, factor: float, share: Callable[[str, int], str]
) -> list[str] | None:
    """Text of every block of a sum; blocks of the whole parameter are one formula."""
    law = model.law_of(Sum(tuple((u, c) for u, c in total.terms if u.shares == 1)))
    if any(not isinstance(model.models[use.block], Law) for use, _ in total.terms) or law is None:
        return None
    whole = scaled_law(law, factor).formula
    parts = [formula_text(whole, law.parameters, style)] if whole.terms else []
    return parts + [_shared(model, use, c, style, factor, share) for use, c in total.terms if use.shares > 1]


def _shared(
    model: Composed,
    use: Use,
    coefficient: Fraction,
    style: Style,
    factor: float,
    share: Callable[[str, int], str],
) -> str:
    block = model.models[use.block]
    assert isinstance(block, Law)
    names = [share(name, use.shares) if name == model.divided else name for name in block.parameters]
    return formula_text(scaled_law(block, factor * float(coefficient)).formula, names, style)


def _joined(parts: Sequence[str]) -> str:
    return " + ".join(parts).replace("+ -", "- ") or "0"
