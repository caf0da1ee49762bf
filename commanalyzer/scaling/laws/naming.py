"""Names a law: what pattern of communication or work grows like its leading terms.

Names say what *usually* grows so. Powers of the sizes alone cannot tell a halo from any other exchange of
as many bytes, so a name is a reading of the formula, not a finding about the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns

COMMUNICATION = frozenset(
    ["comm_bytes", "comm_bytes_low", "comm_bytes_high", "messages", "regular_bytes", "regular_messages"]
)
_LEAST_SHARE = 0.05  # of the value at the largest point: smaller terms do not name a law
_HALF, _THIRD = Fraction(1, 2), Fraction(1, 3)
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
_ANY_CUT = {
    1: "slabs, or everything to everyone",
    2: "exchange across the cuts of 2-D blocks",
    3: "exchange across the cuts of 3-D blocks",
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
    cuts = _dimensions(nodes)
    if cuts:
        return _CUTS[cuts].get(surface, _ANY_CUT[cuts])
    if nodes.form == "rise" and nodes.exponent == Fraction(2, 3) and surface == 1:
        return "edges of 3-D blocks"
    return _other_exchange(nodes, surface)


def _dimensions(nodes: Factor) -> int:
    """In how many dimensions p nodes cut so often, 0 if in none."""
    is_root = nodes.exponent.numerator == 1 and nodes.exponent.denominator in _CUTS
    return nodes.exponent.denominator if nodes.form in ("grid", "rise") and is_root else 0


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
