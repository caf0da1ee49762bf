"""Saves and loads laws: a JSON document of kind ``commanalyzer.laws``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

from commanalyzer.foundation.documents import Fields, document_text, load_document, reading, typed
from commanalyzer.foundation.files import write_text
from commanalyzer.scaling.laws.formula import LATEX, formula_text, law_name, law_python, law_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Formula, Law
from commanalyzer.scaling.laws.terms import Factor

KIND = "commanalyzer.laws"
SCHEMA = 1
_EXPONENT = re.compile(r"-?\d{1,18}(/[1-9]\d{0,17})?")


@dataclass(frozen=True, slots=True)
class LawsDocument:
    """Laws of one program, one per metric, and where the data come from: tool, files and their hashes."""

    program: str
    laws: tuple[Law, ...]
    provenance: Mapping[str, object]

    def __repr__(self) -> str:
        return f"LawsDocument({', '.join(f'{law.metric} = {law_text(law)}' for law in self.laws)})"


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
    return document_text(content)


def save_laws(document: LawsDocument, path: Path, *, force: bool = False) -> None:
    """Write all or nothing; ``ArtifactError`` if the file exists (without ``force``) or is not writable."""
    write_text(path, laws_json(document), force=force)


def load_laws(path: Path) -> LawsDocument:
    """Document saved in ``path``; ``ArtifactError`` if it is missing, of another kind, newer or damaged."""
    content = load_document(
        path, KIND, SCHEMA, what="a file of laws", hint="write one with: commanalyzer fit ... -o laws.json"
    )
    with reading(path, "a complete document of laws"):
        found = typed({**content, "laws": []}, LawsDocument)
        return replace(found, laws=tuple(map(read_law, content["laws"])))


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


def read_law(entry: Fields) -> Law:
    """The law of :func:`law_content`.

    Raises ``LookupError``, ``TypeError``, ``ValueError``, ``ArithmeticError``, ``FitError`` if it is none.
    """
    names = typed(entry["parameters"], list[str])
    content = {name: entry[name] for name in ("metric", "parameters", "lowest", "highest", "notes")} | {
        "num_points": entry["points"],
        "lacks": entry.get("runs_to_add") or "",
        "whole": entry.get("whole"),
        "formula": _formula_of(entry["formula"], names),
        "alternatives": [_formula_of(item, names) for item in entry["alternatives"]],
    }
    law = typed(content, Law, {Fraction: exponent_of})
    squares = ((len(f.covariance), len(f.terms) ** 2) for f in (law.formula, *law.alternatives))
    if {len(law.lowest), len(law.highest)} != {len(names)} or any(n not in (0, most) for n, most in squares):
        raise ValueError(f"ends or covariances of another number of parameters or terms in {law.metric}")
    return law


def _formula_of(entry: Fields, names: Sequence[str]) -> dict[str, object]:
    """Fields of a :class:`Formula` of what :func:`_formula` gives."""
    same = ("family", "holdout_error", "residual_error", "covariance", "degrees_of_freedom")
    return {name: entry[name] for name in same} | {
        "loo_error": entry["prediction_error"],
        "coefficients": [term["coefficient"] for term in entry["terms"]],
        "terms": [
            [{**factor, "parameter": names.index(factor["parameter"])} for factor in term["factors"]]
            for term in entry["terms"]
        ],
    }


def exponent_of(text: str) -> Fraction:
    """A fraction such as 3/2; ``ValueError`` for others, as large ones that :class:`Fraction` takes."""
    if _EXPONENT.fullmatch(text) is None:
        raise ValueError(f"expected an exponent such as 3/2, found {text!r}")
    return Fraction(text)
