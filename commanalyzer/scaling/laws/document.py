"""Saves and loads laws: a JSON document of kind ``commanalyzer.laws``.

Extra-P's models: read from its experiment files, and made by Extra-P itself as a second opinion.

An experiment file (``.extra-p``) is a zip archive with one document, ``experiment.json``. Extra-P needs
other versions of libraries than this package: it stays in an environment of its own and is started as a
program.

Reference: Extra-P 4.2, https://github.com/extra-p/extrap.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from commanalyzer.foundation.documents import Fields, document_text, load_document, parse_json, reading, typed
from commanalyzer.foundation.errors import FitError
from commanalyzer.foundation.files import scratch_directory, write_text
from commanalyzer.program.frontend.toolchain import shell_words
from commanalyzer.result.export.files import Measurement, write_extrap
from commanalyzer.scaling.laws.formula import LATEX, formula_text, law_name, law_python, law_text
from commanalyzer.scaling.laws.law import CONFIDENCE, Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Floats, Term

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


_DOCUMENT = "experiment.json"
_TIMEOUT_S = 600.0
_LAST_LINES = 5
_TERM_TYPES = ("polynomial", "logarithm")


def import_models(path: Path) -> tuple[Law, ...]:
    """Laws of the models in an Extra-P experiment file, newest set of models only.

    A law has the name of its metric; behind a colon follows the call path where the file has several. Raises
    ``ArtifactError`` if it is missing, no experiment file, or has no models or functions of another kind.
    """
    hint = "save one with: extrap --json FILE --save-experiment models.extra-p"
    what = f"an Extra-P 4 experiment with models (zip with {_DOCUMENT})"
    with reading(path, what, hint=hint):
        try:
            with zipfile.ZipFile(path) as archive:
                document = parse_json(archive.read(_DOCUMENT))
        except zipfile.BadZipFile as error:
            raise ValueError(str(error)) from error
        return tuple(_laws(document))


def _laws(document: Fields) -> Iterator[Law]:
    parameters = tuple(str(p["name"] if isinstance(p, dict) else p) for p in document["parameters"])
    callpaths: Mapping[str, Fields] = document["modelers"][-1]["models"]
    for callpath, metrics in callpaths.items():
        for metric, model in metrics.items():
            name = metric if len(callpaths) == 1 else f"{metric}:{callpath}"
            formulas = [_read_formula(model["hypothesis"])]
            rows = [row["coordinate"] for row in document["measurements"][callpath][metric]]
            points = np.array(rows, dtype=np.float64).reshape(len(rows), len(parameters))
            yield replace(Law.of_points(name, parameters, formulas, points), notes=("model of Extra-P",))


def _read_formula(hypothesis: Fields) -> Formula:
    function = hypothesis["function"]
    found: list[tuple[float, Term]] = [(float(function["constant_coefficient"]), ())]
    for compound in function.get("compound_terms", ()):
        pairs: Fields = compound.get("parameter_term_pairs") or {"0": {**compound, "coefficient": 1.0}}
        coefficient = float(compound["coefficient"])
        factors = []
        for parameter, entry in pairs.items():
            coefficient *= float(entry["coefficient"])
            factors.append(_read_factor(int(parameter), entry["simple_terms"]))
        found.append((coefficient, tuple(sorted(factors))))
    kept = [(c, term) for c, term in found if c != 0.0] or [(0.0, ())]
    error = float(hypothesis.get("SMAPE", 0.0)) / 100.0
    return Formula("imported", tuple(t for _, t in kept), tuple(c for c, _ in kept), error, error, error)


def _read_factor(parameter: int, simple_terms: Sequence[Fields]) -> Factor:
    exponents = dict.fromkeys(_TERM_TYPES, Fraction(0))
    for term in simple_terms:
        if term["term_type"] not in exponents:
            raise ValueError(f"no function of kind {term['term_type']!r}")
        exponents[term["term_type"]] += Fraction(str(term["exponent"]))
    power, log = (exponents[kind] for kind in _TERM_TYPES)
    if log.denominator != 1:
        raise ValueError(f"no logarithm to the power {log}")
    return Factor(parameter, "power", power, int(log))


def second_opinion(
    command: str, x: Floats, names: Sequence[str], metrics: Mapping[str, Floats]
) -> tuple[Law, ...]:
    """Laws that Extra-P finds, negative exponents allowed; one per metric.

    ``command`` starts Extra-P, flags allowed; ``x``: float64[N, K], points; ``metrics``: float64[N] by name.
    Raises ``FitError`` if it cannot be started or fails; the message has its last lines.
    """
    with scratch_directory() as folder:
        data, models = Path(folder) / "data.jsonl", Path(folder) / "models.extra-p"
        write_extrap(data, measurements(x, names, metrics))
        negative = "allow_negative_exponents=True"
        several = ["multi-parameter", "--options", "#spm=Basic", f"#spo={negative}"]
        modeler = several if len(names) > 1 else ["basic", "--options", negative]
        inputs = ["--json", str(data), "--disable-progress"]
        outputs = ["--save-experiment", str(models), "--print", "functions"]
        _run([*shell_words(command, "--extrap"), *inputs, *outputs, "--modeler", *modeler])
        if not models.exists():
            raise FitError("expected Extra-P to save its models, found none", where=command)
        return import_models(models)


def measurements(x: Floats, names: Sequence[str], metrics: Mapping[str, Floats]) -> list[Measurement]:
    """Measurements of every metric at the points, in the order of the rows."""
    points = [dict(zip(names, row, strict=True)) for row in x.tolist()]
    return [
        Measurement(point, ("main",), metric, [value])
        for metric, y in metrics.items()
        for point, value in zip(points, y.tolist(), strict=True)
    ]


def _run(arguments: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            list(arguments), capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FitError(
            f"expected Extra-P to run, found: {error}",
            where=arguments[0],
            hint="install it in an environment of its own and name its program: --extra-p DIR/bin/extrap",
        ) from error
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise FitError(f"Extra-P ended with status {done.returncode}: {last}", where=arguments[0])
