import math

import pytest

from commanalyzer.foundation.errors import FitError
from commanalyzer.scaling.laws.formula_reader import read_formula

AT = {"n": 48.0, "p": 6.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.00864", 0.00864),
        ("2 * n + 3", 99.0),
        ("0.03899 * n * log2(n)", 0.03899 * 48 * math.log2(48)),
        ("n**2 / p - p", 48**2 / 6 - 6),
        ("(n - 2)**2 * 5", 5 * 46**2),
        ("sqrt(n) + cbrt(n) + n**(2/3)", 48**0.5 + 48 ** (1 / 3) + 48 ** (2 / 3)),
        ("log2(n**2) * log2(n)", 2 * math.log2(48) ** 2),
        ("8 * (n + p) * (n - p)", 8 * 54 * 42),
        ("n * p / n", 6.0),
        ("3 * 2**p + 1.5**p / p", 3 * 64 + 1.5**6 / 6),
        ("2**p * 2**p", 4096.0),
    ],
)
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
