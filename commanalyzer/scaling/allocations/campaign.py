"""A measured campaign -> data for models, and the machine that they make.

Fits area models to a campaign: areas by cross-validation, terms by prediction, coefficients robustly.

1. *Areas.* Candidates are bounds on S, NT or PT at powers of four, one or two of them. Those are taken whose
   formulas predict phases that were left out best (on the most nodes, and one by one).
2. *Terms.* The constant, amounts, and amounts times a size of the allocation; all sums of up to three with
   coefficients above 0 are ranked by the regression core of laws, and chosen by errors of prediction.
3. *Coefficients.* Robust linear regression (Huber's weights) on relative residuals, by statsmodels. Where it
   makes one negative, the nonnegative ones of step 2 stay: a time is then nonnegative wherever metrics are.

Departure from the paper, whose published formulas have negative terms and can be below zero.

Reference: paper Sections 2.2 and 3.3; P. J. Huber, Robust Statistics, 1981.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import itemgetter

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.machine.measuring.phase_campaign import CampaignPoint, MeasuredPhase, pattern_of
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.phase_times import AreaFormula, Condition, PhaseTimes, Unit, conditions_text
from commanalyzer.machine.placement import on_nodes
from commanalyzer.machine.simulation.routes import Messages, Topology
from commanalyzer.scaling.allocations.metrics import (
    AreaModel,
    InjectionModel,
    fit_injection,
    holds,
    in_columns,
    phase_metrics,
    read_model,
    require,
    units_of,
)
from commanalyzer.scaling.laws.families import nonnegative_sums
from commanalyzer.scaling.laws.formula import PYTHON, formula_text
from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.regression import Problem, prediction_errors, robust
from commanalyzer.scaling.laws.selection import Fitted, candidates_of, choose
from commanalyzer.scaling.laws.terms import Factor, Floats, Term, columns

# Amounts, and what may multiply them.
_AMOUNTS = ("NI", "M", "S", "PT", "NT", "V", "VI", "LT")
_MODIFIERS = ("PPN", "D")
_LEAST_ROWS = 12
"""Phases in an area: three terms, and three times as many to judge them by."""
_BOUND_FACTOR = 4
_GAIN = 0.9
"""A split must make the error of prediction a tenth smaller: each has a formula to explain more."""
_NEGLIGIBLE = 1e-3
"""Relative error of prediction below which models are equally good: no clock is better."""


@dataclass(frozen=True, slots=True)
class CampaignData:
    """Measured phases: metrics, float64[n] by name, and times, float64[n] in seconds."""

    metrics: Mapping[str, Floats]
    time_s: Floats


def fit_areas(
    data: CampaignData,
    shape: Sequence[str] = (),
    *,
    bounds: Sequence[Condition] | None = None,
    date: str = "",
    note: str = "",
) -> AreaModel:
    """Area model of a campaign.

    ``shape`` are metrics that may multiply amounts; ``bounds`` upper ends of areas (``S <= 4096``), in the
    order of the paper, found if left out. Raises ``FitError`` if metrics are missing, times are not positive,
    or phases are too few.
    """
    if not len(data.time_s):
        raise FitError(
            "expected measured phases, found none",
            where="campaign",
            hint="mpiexec -n RANKS commanalyzer machine measure --campaign TABLE measures them",
        )
    require(data.metrics, frozenset({"S", "M", "PT", "N", "PPN", "NT", "NI", "V", "VI"}), "campaign")
    require(data.metrics, frozenset(c.metric for c in bounds or ()), "areas")
    if wrong := [c.text for c in bounds or () if c.is_above]:
        raise FitError(f"expected upper bounds such as 'S <= 4096', found {wrong[0]}", where="areas")
    known = (data.metrics["NI"] > 0) & np.isfinite(data.time_s)
    metrics = {name: values[known] for name, values in data.metrics.items()}
    time_s = data.time_s[known]
    if len(time_s) < _LEAST_ROWS or not (time_s > 0).all():
        raise FitError(
            f"expected {_LEAST_ROWS} or more phases between nodes with times above 0, found {len(time_s)}",
            where="campaign",
        )
    used = CampaignData(metrics, time_s)
    names = tuple(name for name in (*_AMOUNTS, *_MODIFIERS, *shape) if name in metrics)

    def fits(splits: Iterable[Sequence[Condition]]) -> list[tuple[float, tuple[AreaFormula, ...]]]:
        """Errors with the price of the formulas, and areas."""
        found = ((split, _fitted(used, names, shape, split)) for split in splits)
        return [((f[1] + _NEGLIGIBLE**2) * _GAIN ** -len(split), f[0]) for split, f in found if f is not None]

    known_fits = fits(_splits(used) if bounds is None else [tuple(bounds)])
    if not known_fits:
        areas = [
            (conditions_text(a), int(holds(a, metrics, len(time_s)).sum())) for a in _areas(bounds or ())
        ]
        raise FitError(
            f"expected {_LEAST_ROWS} or more phases that differ in each area, found "
            + ", ".join(f"{count} in {where or 'all'}" for where, count in areas),
            where="areas",
            hint="other bounds, or none: they are then found in the data",
        )
    best = min(known_fits, key=itemgetter(0))
    if bounds is None and len(best[1]) > 1:
        first = best[1][0].where
        further = [
            (*first, *second) for second in _splits(used) if second and second[0].metric != first[0].metric
        ]
        best = min([best, *fits(further)], key=itemgetter(0))
    ranges = tuple(
        (name, float(metrics[name].min()), float(metrics[name].max())) for name in ("N", "PPN", "M", "S")
    )
    return read_model(PhaseTimes(best[1], ranges, "measured", date, note))


def _splits(data: CampaignData) -> Iterator[tuple[Condition, ...]]:
    """No bound, or one; a second one follows the best first, as in both tables of the paper."""
    yield ()
    for name in ("S", "NT", "PT"):
        yield from ((c,) for c in _bounds(data.metrics[name], name))


def _bounds(values: Floats, name: str) -> Iterator[Condition]:
    low, high = max(float(values.min()), 1.0), float(values.max())
    bound = float(4 ** np.ceil(np.log(low) / np.log(_BOUND_FACTOR)))
    while bound < high:
        below = int((values <= bound).sum())
        if _LEAST_ROWS <= below <= len(values) - _LEAST_ROWS:
            yield Condition(name, False, bound)
        bound *= _BOUND_FACTOR


def _areas(split: Sequence[Condition]) -> list[tuple[Condition, ...]]:
    """Conditions of each area: within the first bounds, then beyond the last, beyond the last but one ..."""
    above = [Condition(c.metric, True, c.bound) for c in split]
    return [tuple(split), *(((*split[:k], above[k])) for k in reversed(range(len(split))))]


def _fitted(
    data: CampaignData, names: Sequence[str], shape: Sequence[str], split: Sequence[Condition]
) -> tuple[tuple[AreaFormula, ...], float] | None:
    """Areas and their mean squared error of prediction; ``None`` where an area has too few phases."""
    found, total = [], 0.0
    for number, where in enumerate(_areas(split)):
        rows = holds(where, data.metrics, len(data.time_s))
        if rows.sum() < _LEAST_ROWS:
            return None
        part = CampaignData({name: data.metrics[name][rows] for name in (*names, "N")}, data.time_s[rows])
        chosen = _formula(part, names, shape)
        if chosen is None:
            return None
        formula, score = chosen
        total += score * float(rows.sum())
        text = formula_text(formula, list(names), PYTHON)
        found.append(AreaFormula("I" * (number + 1), tuple(where), text, int(rows.sum()), score**0.5))
    return tuple(found), total / len(data.time_s)


def _formula(data: CampaignData, names: Sequence[str], shape: Sequence[str]) -> tuple[Formula, float] | None:
    terms = _terms(names, shape)
    x = np.stack([data.metrics[name] for name in names], axis=1)
    table = columns(terms, x) / data.time_s[:, None]
    problem = Problem(table, np.ones(len(data.time_s)), tuple(_holdouts(data.metrics["N"])))
    found: list[Fitted] = []
    for subsets in nonnegative_sums(problem):
        found += candidates_of("areas", terms, problem, prediction_errors(problem, subsets))
    ranked = choose(found, len(data.time_s))
    if not ranked:
        return None
    formula, chosen = ranked[0], [terms.index(term) for term in ranked[0].terms]
    coefficients, _ = robust(problem.table[:, chosen], problem.target)
    if np.isfinite(coefficients).all() and (coefficients > 0).all():
        formula = replace(formula, coefficients=tuple(coefficients.tolist()))
    return formula, formula.loo_error**2


def _holdouts(nodes: Floats) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Phases on the most nodes, and on the upper half of the node counts: models are made for more nodes."""
    values = np.unique(nodes)
    for kept in {len(values) - 1, (len(values) + 1) // 2}:
        held = nodes > values[kept - 1] if kept else np.zeros(len(nodes), dtype=np.bool_)
        if 0 < held.sum() < len(nodes) - _LEAST_ROWS // 2:
            yield held


def _terms(names: Sequence[str], shape: Sequence[str]) -> list[Term]:
    """The constant, amounts, way lengths, and amounts times a modifier: what the paper's tables multiply.

    The number of processes or of switches alone takes no time, and would go wrong where it grows.
    """
    number = {name: k for k, name in enumerate(names)}

    def term(*factors: str) -> Term:
        return tuple(sorted(Factor(number[name], "power", Fraction(1)) for name in factors))

    amounts = [name for name in _AMOUNTS if name in number]
    modifiers = [name for name in (*_MODIFIERS, *shape) if name in number]
    singles = [term(name) for name in (*amounts, *(m for m in modifiers if m == "D"))]
    products = [term(a, m) for a, m in itertools.product(amounts, modifiers)]
    return [(), *singles, *products]


def pattern_messages(point: CampaignPoint) -> Messages:
    """Messages of one phase of a campaign."""
    pattern = pattern_of(point)
    turn, rank = np.nonzero(pattern.targets >= 0)
    return Messages(rank, pattern.targets[turn, rank], np.full(len(rank), point.message_bytes))


def campaign_data(
    points: Sequence[MeasuredPhase], units: Sequence[Unit], network: Topology | None = None
) -> CampaignData:
    """Metrics and times of measured points, with those of routes (LT, D) where the network is known.

    Raises ``FitError`` if a node is at a place that the network does not have.
    """
    last = max((place for found in points for place in found.positions), default=0)
    if network is not None and last >= network.num_hosts:
        raise FitError(
            f"expected places below {network.num_hosts}, the nodes of the {network.topology}, found {last}",
            where="campaign",
            hint="the number of nodes of the whole machine, not of the largest job: --network-nodes",
        )
    rows = []
    for found in points:
        place = np.array(found.positions, dtype=np.int64)
        placement = on_nodes(found.point.num_nodes, found.point.ranks_per_node, position=place)
        rows.append(phase_metrics(pattern_messages(found.point), placement, units, network))
    return CampaignData(in_columns(rows), np.array([found.time_s for found in points]))


def machine_of_campaign(
    points: Sequence[MeasuredPhase],
    base: MachineParameters,
    *,
    bounds: Sequence[Condition] | None = None,
    date: str = "",
    network: Topology | None = None,
) -> tuple[MachineParameters, InjectionModel]:
    """The machine with an area model and the parameters of the max-rate model.

    Other parameters of ``base`` are kept, with its units (those of the network if it has none); ``bounds`` of
    the areas are found if left out. With a ``network``, the areas may use the metrics of its routes. Raises
    ``FitError`` if the points are too few.
    """
    units = base.units or (units_of(network) if network is not None else ())
    data = campaign_data(points, units, network)
    most = max((found.point.num_nodes for found in points), default=0)
    note = f"campaign of {len(points)} phases on up to {most} nodes"
    shape = [unit.name for unit in units]
    areas = fit_areas(data, shape, bounds=bounds, date=date, note=note)
    physics = fit_injection(data.metrics, data.time_s)

    def fitted(value: float, unit: str) -> Parameter:
        return Parameter(value, unit, "measured", date, f"max-rate model of a {note}")

    machine = base.updated(
        bandwidth=fitted(physics.node_bandwidth, "B/s"),
        process_bandwidth=fitted(physics.process_bandwidth, "B/s"),
        latency=fitted(physics.latency_s + 2 * physics.overhead_s, "s"),
        message_overhead=fitted(max(physics.overhead_s, 1e-9), "s"),
        gap=fitted(max(physics.gap_s, 1e-10), "s"),
    )
    return replace(machine, phase_times=areas.times, units=units), physics
