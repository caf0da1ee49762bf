"""Formulas of systems: Python gives what the model gives, text and LaTeX say the same."""

import numpy as np
import pytest

from commanalyzer.kernels.composition.expressions import element_time
from commanalyzer.kernels.composition.formulas import formula_of, formula_of_sum
from commanalyzer.kernels.composition.models import Composed, TimeTable
from commanalyzer.kernels.composition.systems import parse_system
from commanalyzer.scaling.laws.formula_reader import read_formula

MODELS = {
    "inc": read_formula("0.02599 * n", factor=1e-6),
    "sort": read_formula("0.03899 * n * log2(n)", factor=1e-6),
    "send": read_formula("2 + 0.001 * m", factor=1e-6),
}
SYSTEMS = (
    "pipe(tpool(8, sort), inc)",
    "sequence(sort, inc, send)",
    "stencil(4, sort, send)",
    "pipe(map(3, sequence(inc, sort)), send)",
)


@pytest.mark.parametrize("text", SYSTEMS)
def test_python_is_the_model(text: str) -> None:
    model = Composed(element_time(parse_system(text)), MODELS)
    found = formula_of(model)
    assert found is not None
    names: dict[str, object] = {}
    exec(found.python, names)
    function = names["time_s"]
    assert callable(function)
    for n, m in ((16.0, 5.0), (1e5, 3e7)):
        values = {"n": n, "m": m} if "send" in text else {"n": n}
        assert function(**values) == pytest.approx(model.at(values)[0])


def test_text_and_latex_are_in_microseconds() -> None:
    found = formula_of(Composed(element_time(parse_system("pipe(tpool(8, sort), inc)")), MODELS))
    assert found is not None
    assert found.text == "max(0.02599 n, 0.004874 n log2(n))"
    assert found.latex == r"\max\left(0.02599\,n, 0.004874\,n\,\log_2 n\right)"
    model = Composed(element_time(parse_system("map(4, inc)")), MODELS)
    assert formula_of_sum(model, model.form.sums[0]) == "0.02599 n/4"


def test_measured_times_have_no_formula() -> None:
    table = TimeTable("n", np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    model = Composed(element_time(parse_system("pipe(inc, x)")), {**MODELS, "x": table})
    assert formula_of(model) is None
    assert formula_of_sum(model, model.form.sums[1]) == "measured"
