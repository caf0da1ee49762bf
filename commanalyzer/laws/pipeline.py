"""Fits laws of several metrics: observations -> document of laws with provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from commanalyzer.errors import FitError
from commanalyzer.laws.data import ALIASES, DEFAULT_METRICS, MACHINE_METRICS, Observations
from commanalyzer.laws.document import LawsDocument
from commanalyzer.laws.fit import FAMILIES, fit_law
from commanalyzer.laws.law import Family, Law
from commanalyzer.result.provenance import collect_provenance, file_hash
from commanalyzer.sweep.table import STATE_FILE, TABLE_FILE


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to fit.

    Attributes:
        metrics: Columns; the usual ones when empty.
        families: Of formulas; all when empty.
    """

    metrics: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


def fit_observations(seen: Observations, request: FitRequest, inputs: Sequence[Path]) -> LawsDocument:
    """One law per metric.

    Args:
        seen: Data.
        request: What to fit.
        inputs: Files for the provenance.

    Raises:
        FitError: If a metric is missing, or its data cannot be fitted.
    """
    metrics = [ALIASES.get(name, name) for name in request.metrics]
    metrics = metrics or [name for name in (*DEFAULT_METRICS, *MACHINE_METRICS) if seen.knows(name)]
    if not metrics:
        raise FitError(
            f"expected metrics to fit, found the columns {', '.join(seen.metrics)}",
            where=seen.source,
            hint="name them with --metric",
        )
    families = cast(tuple[Family, ...], request.families or FAMILIES)
    laws = tuple(_law(seen, metric, families) for metric in dict.fromkeys(metrics))
    files = [_file(path) for path in inputs]
    made = collect_provenance(
        compiler="", flags=(), input_hashes=[(str(p), file_hash(p)) for p in files if p.is_file()], seed=0
    )
    kept = {key: value for key, value in asdict(made).items() if key not in ("compiler", "flags")}
    return LawsDocument(seen.source, laws, kept)


def _law(seen: Observations, metric: str, families: tuple[Family, ...]) -> Law:
    x, names, y = seen.of(metric)
    return fit_law(x, names, y, metric=metric, families=families)


def _file(path: Path) -> Path:
    """The file that was read."""
    return (
        path / TABLE_FILE if path.is_dir() else path.parent / TABLE_FILE if path.name == STATE_FILE else path
    )
