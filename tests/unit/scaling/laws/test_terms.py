"""Values of all functions by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from commanalyzer.scaling.laws.terms import Factor, Form, columns, most_cubic_grid


@pytest.mark.parametrize(
    ("form", "exponent", "log", "at_64"),
    [
        ("power", "1/2", 0, 8.0),
        ("power", "0", 1, 6.0),
        ("power", "1/3", 2, 144.0),
        ("power", "-1", 0, 1 / 64),
        ("rise", "1/3", 0, 3.0),
        ("fall", "1", 0, 63 / 64),
        ("grid", "1/2", 0, 14.0),
        ("grid", "1/3", 0, 9.0),
        ("pairs", "1/2", 0, 56.0),
        ("pairs", "2/3", 0, 48.0),
        ("pairs", "2", 0, 4032.0),
        ("mesh", "1/2", 0, 112.0),
        ("mesh", "1/3", 0, 144.0),
        ("gather", "8", 0, 63 * (1 - math.exp(-1 / 8))),
    ],
)
def test_functions_at_64(form: Form, exponent: str, log: int, at_64: float) -> None:
    factor = Factor(0, form, Fraction(exponent), log)
    assert factor(np.array([64.0]))[0] == pytest.approx(at_64, rel=1e-12)


@pytest.mark.parametrize(
    "form", ["rise", "fall", "grid", "pairs", "mesh", "sides", "faces", "edges", "gather"]
)
def test_one_node_has_nobody_to_talk_to(form: Form) -> None:
    assert Factor(0, form, Fraction(1, 2))(np.array([1.0]))[0] == 0.0


@pytest.mark.parametrize(
    ("nodes", "square", "cube"),
    [
        (1, (1, 1), (1, 1, 1)),
        (8, (4, 2), (2, 2, 2)),
        (12, (4, 3), (3, 2, 2)),
        (27, (9, 3), (3, 3, 3)),
        (7, (7, 1), (7, 1, 1)),
    ],
)
def test_most_cubic_grids(nodes: int, square: tuple[int, ...], cube: tuple[int, ...]) -> None:
    assert (most_cubic_grid(nodes, 2), most_cubic_grid(nodes, 3)) == (square, cube)


def test_columns_are_products() -> None:
    x = np.array([[4.0, 10.0], [9.0, 20.0]])
    terms = ((), (Factor(0, "rise", Fraction(1, 2)), Factor(1, "power", Fraction(2))))
    assert columns(terms, x) == pytest.approx(np.array([[1.0, 100.0], [1.0, 800.0]]), rel=1e-12)
