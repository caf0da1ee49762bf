import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.scaling.laws.document import LawsDocument, laws_json, load_laws, save_laws
from commanalyzer.scaling.laws.formula import LATEX, formula_text, law_name, law_python, law_text
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law
from tests.unit.scaling.laws.samples import HALO, MESSAGES, WORK, factor, law

EVERYTHING = law(
    "comm_bytes",
    (2.5, (factor(0, "power", "4/3", 1), factor(1, exponent="-1"))),
    (8.0, (factor(0, "grid", "1/2"), factor(1, exponent="1/2"))),
    (3.0, (factor(0, "fall", "1/2"),)),
    (1.0, (factor(0, "pairs", "2"),)),
    (4.0, (factor(0, "mesh", "1/3"),)),
    (9.0, (factor(0, "sides", "1"),)),
    (6.0, (factor(0, "faces", "1/3"),)),
    (7.0, (factor(0, "edges", "1/2"),)),
    (16.0, (factor(0, "gather", "3/2"), factor(1))),
    (-5.0, ()),
)


def test_text_and_latex() -> None:
    assert law_text(HALO) == "320 n (sqrt(p) - 1)"
    assert formula_text(HALO.formula, "pn", LATEX) == r"320\,n\,(\sqrt{p} - 1)"
    power = law("a", (7.25, (factor(1, exponent="2/3"),))).formula
    assert formula_text(power, "pn", LATEX) == r"7.25\,n^{2/3}"
    assert law_text(law("a", (1e-12, (factor(1),)), (-4.0, ()))) == "1e-12 n - 4"
    assert formula_text(law("a", (1.5e12, ())).formula, "pn", LATEX) == r"1.5 \cdot 10^{12}"


@pytest.mark.parametrize("sample", [HALO, WORK, MESSAGES, EVERYTHING], ids=lambda s: s.metric)
def test_python_source_computes_the_law(sample: Law) -> None:
    space: dict[str, Any] = {}
    exec(law_python(sample), space)
    point = {name: value for name, value in (("p", 12.0), ("n", 40.0)) if name in sample.parameters}
    assert space[sample.metric](**point) == pytest.approx(sample.predict(point)[0], rel=1e-12)
    assert space[sample.metric](**point) > 0


def test_a_law_that_falls_below_zero_is_zero() -> None:
    falling = law("comm_bytes", (-1.0, (factor(0),)), (10.0, ()))
    assert falling.predict({"p": np.array([4.0, 100.0]), "n": 8.0}).tolist() == [6.0, 0.0]
    space: dict[str, Any] = {}
    exec(law_python(falling), space)
    assert space["comm_bytes"](p=100.0, n=8.0) == 0.0


def test_small_terms_do_not_name_a_law() -> None:
    mixed = law("comm_bytes", (320.0, (factor(0, "rise", "1/2"), factor(1))), (1.0, (factor(0, "rise"),)))
    assert law_name(mixed) == "2-D halo"
    assert law_name(WORK) == "quadratic growth with the problem"


def test_documents_are_read_back(tmp_path: Path) -> None:
    document = LawsDocument("heat2d", (HALO, WORK, EVERYTHING), {"tool_version": "1"})
    document = replace(document, laws=(replace(HALO, alternatives=(EVERYTHING.formula,)), WORK, EVERYTHING))
    save_laws(document, tmp_path / "laws.json")
    assert load_laws(tmp_path / "laws.json") == document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "kind commanalyzer.laws"),
        ({"schema": 99}, "schema 1 or older"),
        ({"laws": [{}]}, "no 'parameters'"),
    ],
)
def test_other_documents_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "laws.json"
    path.write_text(json.dumps(json.loads(laws_json(LawsDocument("x", (HALO,), {}))) | change))
    with pytest.raises(ArtifactError, match=message):
        load_laws(path)
    with pytest.raises(ArtifactError, match="No such file"):
        load_laws(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [("coefficient", float("inf")), ("coefficient", "inf"), ("coefficient", 10**400),
     ("exponent", "1e99999999"), ("exponent", "1/0"), ("factors", None)],
)  # fmt: skip
def test_damaged_formulas_are_refused(tmp_path: Path, name: str, value: object) -> None:
    content = json.loads(laws_json(LawsDocument("x", (HALO,), {})))
    term = content["laws"][0]["formula"]["terms"][0]
    (term["factors"][0] if name == "exponent" else term)[name] = value
    path = tmp_path / "laws.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ArtifactError):
        load_laws(path)


AT = {"n": 48.0, "p": 6.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.00864", 0.00864), ("2 * n + 3", 99.0), ("0.03899 * n * log2(n)", 0.03899 * 48 * math.log2(48)),
     ("n**2 / p - p", 48**2 / 6 - 6), ("(n - 2)**2 * 5", 5 * 46**2),
     ("sqrt(n) + cbrt(n) + n**(2/3)", 48**0.5 + 48 ** (1 / 3) + 48 ** (2 / 3)),
     ("log2(n**2) * log2(n)", 2 * math.log2(48) ** 2), ("8 * (n + p) * (n - p)", 8 * 54 * 42),
     ("n * p / n", 6.0), ("3 * 2**p + 1.5**p / p", 3 * 64 + 1.5**6 / 6), ("2**p * 2**p", 4096.0)],
)  # fmt: skip
def test_values(text: str, value: float) -> None:
    law = read_formula(text, factor=1e-6)
    assert law.predict({name: AT[name] for name in law.parameters})[0] == pytest.approx(1e-6 * value)


@pytest.mark.parametrize(
    "text",
    ["", "n +", "exp(n)", "n ** p", "1 / (n + 1)", "log2(2 * n)", "sqrt(n - 1)", "'n'", "n[0]", "True",
     "1e999 * n", "n ** 1000", "(" * 5000, "log2(n + p)", "__import__('os')"],
)  # fmt: skip
def test_other_texts(text: str) -> None:
    with pytest.raises(FitError, match="expected a formula"):
        read_formula(text)


@pytest.mark.parametrize("text", ["((n+1)**64)**64", "(a+b+c+d)**64"])
def test_products_of_sums_end(text: str) -> None:
    with pytest.raises(FitError, match="at most 256 terms"):
        read_formula(text)
