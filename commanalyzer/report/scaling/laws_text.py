"""Laws and projections as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.report.tables import Field, numeric, terminal_table, worded
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.formula import accuracy_text, formula_text, grid_note, law_text, number_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Law
from commanalyzer.scaling.laws.naming import law_name
from commanalyzer.scaling.laws.terms import Floats

_MOST_SHOWN = 3
_DISAGREEMENT = 0.1  # relative difference at twice the largest values
_FAMILY = {"polynomial": "exact", "lattice": "physical", "pmnf": "normal form", "power": "power law"}


def show_laws(
    document: LawsDocument,
    targets: Mapping[str, float],
    others: Sequence[Law],
    console: Console,
    *,
    quiet: bool = False,
) -> None:
    """Print laws, what explains the data as well, predictions and second opinions.

    Args:
        document: Laws.
        targets: Values of parameters to predict at; empty for none.
        others: Laws of somebody else, by metric.
        console: Where to print.
        quiet: Only the tables of laws and predictions.
    """
    console.print(_table(document.laws))
    for line in (line for law in document.laws if not quiet for line in _remarks(law)):
        console.print(Text(line))
    if targets:
        console.print(_predictions(document.laws, targets))
    for line in (line for other in others if not quiet for line in _opinion(document.laws, other, targets)):
        console.print(Text(line))


def _table(laws: Sequence[Law]) -> Table:
    fields: tuple[Field[Law], ...] = (
        worded("metric", lambda law: law.metric, overflow="fold"),
        worded("law", law_text, overflow="fold"),
        worded("reads as", law_name, overflow="fold"),
        worded("family", lambda law: _FAMILY.get(law.formula.family, law.formula.family), overflow="fold"),
        numeric("prediction error", lambda law: accuracy_text(law.formula)),
        numeric("points", lambda law: str(law.num_points)),
    )
    return terminal_table(laws, fields, "Scaling laws")


def _remarks(law: Law) -> list[str]:
    lines = [f"{law.metric}: {note}" for note in law.notes]
    if grid := grid_note(law.formula):
        lines.append(f"{law.metric}: {grid}")
    shown = [formula_text(f, law.parameters) for f in law.alternatives[:_MOST_SHOWN]]
    if shown:
        more = len(law.alternatives) - len(shown)
        tail = f" and {more} more" if more else ""
        lines.append(f"{law.metric}: the data allow as well: {'; '.join(shown)}{tail}")
    return lines


def _predictions(laws: Sequence[Law], targets: Mapping[str, float]) -> Table:
    at = ", ".join(f"{name} = {value:g}" for name, value in targets.items())
    table = Table(title=f"Predicted at {at}", title_justify="left")
    table.add_column("metric")
    for name in ("value", f"{100 * CONFIDENCE:.0f} % from", "to"):
        table.add_column(name, justify="right")
    table.add_column("")
    for law in laws:
        found = _predicted(law, targets)
        band = (_number(found["low"]), _number(found["high"])) if not law.lacks else None
        ends = band or ("no band: too few runs", f"add {law.lacks}")
        table.add_row(law.metric, _number(found["value"]), *ends, "extrapolated" * found["is_beyond"])
    return table


def predictions_content(laws: Sequence[Law], targets: Mapping[str, float]) -> dict[str, object]:
    """Predictions as objects of JSON, nothing without targets; ends are null where there is no band."""
    return {"predictions": [_predicted(law, targets) for law in laws]} if laws and targets else {}


def _predicted(law: Law, targets: Mapping[str, float]) -> dict[str, Any]:
    ends = zip(("low", "high"), (or_null(end)[0] for end in law.band(targets)), strict=True)
    found = {"metric": law.metric, "value": float(law.predict(targets)[0]), **dict(ends)}
    return {**found, "is_beyond": bool(law.is_beyond(targets).any())}


def or_null(values: Floats) -> list[float | None]:
    """Plain numbers, ``None`` where not known."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _opinion(laws: Sequence[Law], other: Law, targets: Mapping[str, float]) -> list[str]:
    metric = other.metric.split(":")[0]
    own = next((law for law in laws if law.metric == metric), None)
    head = f"Extra-P for {other.metric}: {law_text(other)}"
    if own is None:
        return [head]
    highest = {n: x for law in (other, own) for n, x in zip(law.parameters, law.highest, strict=True)}
    point = {name: targets.get(name, 2.0 * x) for name, x in highest.items()}
    ours, theirs = own.predict(point)[0], other.predict(point)[0]
    where = ", ".join(f"{name} = {value:g}" for name, value in point.items())
    largest = max(ours, theirs)
    differs = abs(ours - theirs) > _DISAGREEMENT * largest
    verdict = "DISAGREES" if differs else "agrees"
    return [head, f"  {verdict} at {where}: {_number(theirs)} against {_number(ours)}"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e12 else number_text(value) if value else "0"
