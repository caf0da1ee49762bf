"""Saves and loads models: a JSON document of kind ``commanalyzer.models`` (the state after Pass 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from commanalyzer.foundation.documents import load_document, number
from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.extrapolation.constraints import Constraints
from commanalyzer.profiles.extrapolation.grid_count import GridCount
from commanalyzer.profiles.extrapolation.learners import Learned
from commanalyzer.profiles.extrapolation.models import ClassModels, MetricModel, Models, Part
from commanalyzer.profiles.extrapolation.setup import MetricSetup
from commanalyzer.scaling.laws.document import law_content, read_law
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import FORMS, Factor

KIND = "commanalyzer.models"
SCHEMA = 1
_INFINITE = "inf"


def models_json(models: Models) -> str:
    """JSON text; sums of terms as in files of laws, other models as what they were learned from."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "application": models.application,
        "parameters": list(models.parameters),
        "processes": models.processes,
        "names": list(models.names),
        "lowest": list(models.lowest),
        "highest": list(models.highest),
        "classes": [
            {"name": c.name, "metrics": {name: _metric(m) for name, m in c.models.items()}}
            for c in models.classes
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def save_models(models: Models, path: Path, *, force: bool = False) -> None:
    """Write a document, completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    write_text(path, models_json(models), force=force)


def load_models(path: Path) -> Models:
    """Models saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind or damaged.
    """
    content = load_document(
        path,
        KIND,
        SCHEMA,
        what="a file of models",
        hint="write one with: commanalyzer extrapolate ... --project FOLDER",
    )
    try:
        return Models(
            str(content["application"]),
            tuple(map(str, content["parameters"])),
            str(content["processes"]),
            tuple(map(str, content["names"])),
            tuple(map(number, content["lowest"])),
            tuple(map(number, content["highest"])),
            tuple(_read_class(entry) for entry in content["classes"]),
        )
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, FitError) as error:
        raise ArtifactError(f"expected models, found damaged ones: {error!r}", where=str(path)) from error


def _metric(model: MetricModel) -> dict[str, object]:
    setup = asdict(model.setup)
    setup["bounds"] = [_INFINITE if b == float("inf") else b for b in model.setup.bounds]
    return {"setup": setup, "key": model.key, "parts": {n: _part(p) for n, p in model.parts.items()}}


def _part(part: Part) -> dict[str, object]:
    if isinstance(part, Law):
        return {"law": law_content(part)}
    if isinstance(part, GridCount):
        return {"grid": asdict(part)}
    content = asdict(part)
    content["terms"] = [
        [[f.parameter, f.form, str(f.exponent), f.log_exponent] for f in term] for term in part.terms
    ]
    return {"learned": content}


def _read_class(content: Mapping[str, Any]) -> ClassModels:
    metrics = {str(name): _read_metric(entry) for name, entry in content["metrics"].items()}
    return ClassModels(str(content["name"]), metrics)


def _read_metric(content: Mapping[str, Any]) -> MetricModel:
    setup = dict(content["setup"])
    limits = setup.pop("constraints")
    low, high = (float("inf") if b == _INFINITE else number(b) for b in setup.pop("bounds"))
    texts = {name: tuple(limits[name]) for name in ("increasing", "where")}
    own = MetricSetup(
        **{**setup, "terms": tuple(setup["terms"])},
        bounds=(low, high),
        constraints=Constraints(bool(limits["bounded_below"]), **texts),
    )
    parts = {str(name): _read_part(entry) for name, entry in content["parts"].items()}
    return MetricModel(own, parts, str(content["key"]))


def _read_part(content: Mapping[str, Any]) -> Part:
    if "law" in content:
        return read_law(content["law"])
    if "grid" in content:
        grid = content["grid"]
        return GridCount(str(grid["parameter"]), int(grid["dimensions"]), int(grid["both"]))
    own = content["learned"]
    terms = tuple(
        tuple(Factor(int(k), FORMS[FORMS.index(form)], Fraction(a), int(log)) for k, form, a, log in term)
        for term in own["terms"]
    )
    return Learned(
        str(own["kind"]),
        tuple(map(str, own["parameters"])),
        terms,
        tuple(tuple(map(number, row)) for row in own["rows"]),
        tuple(map(number, own["values"])),
        number(own["error"]),
    )
