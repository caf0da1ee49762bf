"""Fits laws of several metrics: observations -> document of laws with provenance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.scaling.laws.data import ALIASES, DEFAULT_METRICS, MACHINE_METRICS, Observations
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.fit import FAMILIES, fit_law
from commanalyzer.scaling.laws.law import Family, Law
from commanalyzer.scaling.laws.terms import NODES
from commanalyzer.scaling.sweep.table import STATE_FILE, TABLE_FILE

PER_ROUND = ("regular_bytes", "regular_messages", "comm_bytes", "messages", "work_flops")
_BY_CHANCE = 0.01  # relative error above which rounds follow no formula


def fit_observations(
    seen: Observations, inputs: Sequence[Path] = (), metrics: Sequence[str] = (), families: Sequence[str] = ()
) -> LawsDocument:
    """One law per metric.

    Args:
        seen: Data.
        inputs: Files for the provenance.
        metrics: Columns; the usual ones when empty.
        families: Of formulas; all when empty.

    Raises:
        FitError: If a metric is missing, or its data cannot be fitted.
    """
    found = [ALIASES.get(name, name) for name in metrics]
    found = found or [name for name in (*DEFAULT_METRICS, *MACHINE_METRICS) if seen.knows(name)]
    if not found:
        raise FitError(
            f"expected metrics to fit, found the columns {', '.join(seen.metrics)}",
            where=seen.source,
            hint="name them with --metric",
        )
    used = cast(tuple[Family, ...], tuple(families) or FAMILIES)
    laws = tuple(_law(seen, metric, used) for metric in dict.fromkeys(found))
    laws = laws if metrics else (*laws, *_laws_per_round(seen, laws, used))
    files = [p / TABLE_FILE if p.is_dir() else p for p in inputs]
    files = [p.parent / TABLE_FILE if p.name == STATE_FILE else p for p in files]
    made = collect_provenance(
        compiler="", flags=(), input_hashes=[(str(p), file_hash(p)) for p in files if p.is_file()], seed=0
    )
    kept = {key: value for key, value in asdict(made).items() if key not in ("compiler", "flags")}
    return LawsDocument(seen.source, laws, kept)


def _law(seen: Observations, metric: str, families: tuple[Family, ...]) -> Law:
    x, names, y = seen.of(metric)
    law = fit_law(x, names, y, metric=metric, families=families)
    return replace(law, notes=(*law.notes, *seen.left_out)) if metric.startswith("regular_") else law


def _laws_per_round(seen: Observations, laws: Sequence[Law], families: tuple[Family, ...]) -> Iterator[Law]:
    """Laws of totals divided by rounds of communication, where these depend on the sizes as by chance.

    A solver that ends when it has converged takes 21, 47, 61 and 61 iterations: no formula of n. Rounds that
    follow one (time steps that are a parameter) need no such laws.
    """
    sizes = [k for k, name in enumerate(seen.parameters) if name != NODES]
    for metric in PER_ROUND:
        prefix = "regular_" if metric.startswith("regular_") else ""
        names = [f"{prefix}{name}" for name in ("collective_rounds", "mean_rounds")]
        rounds = next((seen.metrics[n] for n in names if seen.knows(n) and (seen.metrics[n] > 0).any()), None)
        law = next((law for law in laws if law.metric == metric), None)
        if rounds is None or law is None or not sizes:
            continue
        points, place = np.unique(seen.points[:, sizes], axis=0, return_inverse=True)
        most = np.zeros(len(points))
        np.fmax.at(most, place.ravel(), rounds)
        if len(points) < 2 or not (most > 0).all():
            continue
        own = fit_law(points, [seen.parameters[k] for k in sizes], most)
        if own.formula.loo_error <= _BY_CHANCE:
            continue
        shown = ", ".join(f"{value:g}" for value in most.tolist())
        warning = (
            f"rounds of communication follow no formula of the sizes ({shown}): iterations until something "
            "converges? Multiply the law per round with the rounds to expect, totals are not to be trusted"
        )
        share = replace(seen, metrics={metric: seen.metrics[metric] / most[place.ravel()]})
        x, parameters, y = share.of(metric)
        yield replace(
            fit_law(x, parameters, y, metric=f"{metric}_per_round", families=families), notes=(warning,)
        )
