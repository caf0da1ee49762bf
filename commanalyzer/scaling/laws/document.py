"""Saves and loads laws: a JSON document of kind ``commanalyzer.laws``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

from commanalyzer.foundation.documents import load_document, number
from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.foundation.files import write_text
from commanalyzer.scaling.laws.formula import LATEX, formula_text, law_python, law_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Family, Formula, Law
from commanalyzer.scaling.laws.naming import law_name
from commanalyzer.scaling.laws.terms import FORMS, Factor, Term

KIND = "commanalyzer.laws"
SCHEMA = 1
_EXPONENT = re.compile(r"-?\d{1,18}(/[1-9]\d{0,17})?")


@dataclass(frozen=True, slots=True)
class LawsDocument:
    """Laws of one program.

    Attributes:
        program: Its name, for headings.
        laws: One per metric.
        provenance: Where the data come from: tool, version, files and their hashes.
    """

    program: str
    laws: tuple[Law, ...]
    provenance: Mapping[str, object]


def laws_json(document: LawsDocument, **more: object) -> str:
    """JSON text; formulas as terms, text, LaTeX and Python; then ``more``."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "program": document.program,
        "confidence": CONFIDENCE,
        "provenance": dict(document.provenance),
        "laws": [law_content(law) for law in document.laws],
        **more,
    }
    return json.dumps(content, indent=1) + "\n"


def save_laws(document: LawsDocument, path: Path, *, force: bool = False) -> None:
    """Write a document, completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    write_text(path, laws_json(document), force=force)


def load_laws(path: Path) -> LawsDocument:
    """Document saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind, of a newer schema or damaged.
    """
    content = load_document(
        path, KIND, SCHEMA, what="a file of laws", hint="write one with: commanalyzer fit ... -o laws.json"
    )
    try:
        return LawsDocument(
            str(content["program"]), tuple(map(read_law, content["laws"])), dict(content["provenance"])
        )
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, FitError) as error:
        raise ArtifactError(
            f"expected a complete document of laws, found a damaged one: {error!r}", where=str(path)
        ) from error


def law_content(law: Law) -> dict[str, object]:
    """A law as an object of JSON."""
    return {
        "metric": law.metric,
        "name": law_name(law),
        "text": law_text(law),
        "latex": formula_text(law.formula, law.parameters, LATEX),
        "python": law_python(law),
        "parameters": list(law.parameters),
        "lowest": list(law.lowest),
        "highest": list(law.highest),
        "whole": law.whole,
        "points": law.num_points,
        "notes": list(law.notes),
        "runs_to_add": law.lacks or None,
        "formula": _formula(law.formula, law.parameters),
        "alternatives": [_formula(formula, law.parameters) for formula in law.alternatives],
    }


def _formula(formula: Formula, parameters: Sequence[str]) -> dict[str, object]:
    return {
        "text": formula_text(formula, parameters),
        "family": formula.family,
        "terms": [
            {"coefficient": c, "factors": [_factor(f, parameters) for f in term]}
            for c, term in zip(formula.coefficients, formula.terms, strict=True)
        ],
        "prediction_error": formula.loo_error,
        "holdout_error": formula.holdout_error,
        "residual_error": formula.residual_error,
        "degrees_of_freedom": formula.degrees_of_freedom,
        "covariance": list(formula.covariance),
    }


def _factor(factor: Factor, parameters: Sequence[str]) -> dict[str, object]:
    return asdict(factor) | {"parameter": parameters[factor.parameter], "exponent": str(factor.exponent)}


def read_law(entry: Mapping[str, Any]) -> Law:
    """The law of :func:`law_content`.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError, FitError: If it is none.
    """
    parameters = tuple(map(str, entry["parameters"]))
    return Law(
        metric=str(entry["metric"]),
        parameters=parameters,
        formula=_read_formula(entry["formula"], parameters),
        alternatives=tuple(_read_formula(item, parameters) for item in entry["alternatives"]),
        lowest=_numbers(entry["lowest"], len(parameters)),
        highest=_numbers(entry["highest"], len(parameters)),
        num_points=int(entry["points"]),
        notes=tuple(map(str, entry["notes"])),
        lacks=str(entry.get("runs_to_add") or ""),
        whole=None if entry.get("whole") is None else tuple(map(str, entry["whole"])),
    )


def _read_formula(entry: Mapping[str, Any], parameters: Sequence[str]) -> Formula:
    if entry["family"] not in get_args(Family):
        raise ValueError(f"no family {entry['family']!r}")
    return Formula(
        family=cast(Family, entry["family"]),
        terms=tuple(_read_term(item["factors"], parameters) for item in entry["terms"]),
        coefficients=tuple(number(item["coefficient"]) for item in entry["terms"]),
        loo_error=number(entry["prediction_error"]),
        holdout_error=number(entry["holdout_error"]),
        residual_error=number(entry["residual_error"]),
        covariance=_numbers(entry["covariance"], len(entry["terms"]) ** 2 if entry["covariance"] else 0),
        degrees_of_freedom=int(entry["degrees_of_freedom"]),
    )


def _read_term(entry: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> Term:
    return tuple(
        Factor(
            parameters.index(item["parameter"]),
            FORMS[FORMS.index(item["form"])],
            _exponent(item["exponent"]),
            int(item["log_exponent"]),
            int(item.get("shift", 0)),
        )
        for item in entry
    )


def _exponent(text: object) -> Fraction:
    if not isinstance(text, str) or _EXPONENT.fullmatch(text) is None:
        raise ValueError(f"expected an exponent such as 3/2, found {text!r}")
    return Fraction(text)


def _numbers(entries: Sequence[object], length: int) -> tuple[float, ...]:
    if not isinstance(entries, list) or len(entries) != length:
        raise ValueError(f"expected {length} numbers, found {entries!r}")
    return tuple(map(number, entries))
