"""Extra-P's models: read from its experiment files, and made by Extra-P itself as a second opinion.

An experiment file (``.extra-p``) is a zip archive with one document, ``experiment.json``. Extra-P needs
other versions of libraries than this package: it stays in an environment of its own and is started as a
program.

Reference: Extra-P 4.2, https://github.com/extra-p/extrap.
"""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from commanalyzer.foundation.documents import Fields, parse_json, reading
from commanalyzer.foundation.errors import FitError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.toolchain import shell_words
from commanalyzer.result.export.extrap import Measurement, write_extrap
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Floats, Term

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
            formulas = [_formula(model["hypothesis"])]
            rows = [row["coordinate"] for row in document["measurements"][callpath][metric]]
            points = np.array(rows, dtype=np.float64).reshape(len(rows), len(parameters))
            yield replace(Law.of_points(name, parameters, formulas, points), notes=("model of Extra-P",))


def _formula(hypothesis: Fields) -> Formula:
    function = hypothesis["function"]
    found: list[tuple[float, Term]] = [(float(function["constant_coefficient"]), ())]
    for compound in function.get("compound_terms", ()):
        pairs: Fields = compound.get("parameter_term_pairs") or {"0": {**compound, "coefficient": 1.0}}
        coefficient = float(compound["coefficient"])
        factors = []
        for parameter, entry in pairs.items():
            coefficient *= float(entry["coefficient"])
            factors.append(_factor(int(parameter), entry["simple_terms"]))
        found.append((coefficient, tuple(sorted(factors))))
    kept = [(c, term) for c, term in found if c != 0.0] or [(0.0, ())]
    error = float(hypothesis.get("SMAPE", 0.0)) / 100.0
    return Formula("imported", tuple(t for _, t in kept), tuple(c for c, _ in kept), error, error, error)


def _factor(parameter: int, simple_terms: Sequence[Fields]) -> Factor:
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
