"""Laws that made the data are found again; what cannot be known is said."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from commanalyzer.errors import FitError
from commanalyzer.laws.fit import fit_law
from commanalyzer.laws.formula import law_text
from commanalyzer.laws.naming import law_name
from commanalyzer.laws.terms import grid_cuts

X = np.array(list(product((4.0, 8.0, 16.0, 27.0, 32.0, 64.0), (16.0, 32.0, 48.0, 64.0, 96.0))))
P, N = X.T
Q = np.cbrt(P)


@pytest.mark.parametrize(
    ("y", "text", "name"),
    [
        (32 * N * (np.sqrt(P) - 1), "32 n (sqrt(p) - 1)", "2-D halo"),
        (80 * N * grid_cuts(P, 2), "80 n (q1 + q2 - 2)", "2-D halo"),
        (48 * N**2 * (Q - 1), "48 n^2 (cbrt(p) - 1)", "3-D halo"),
        (96.0 * (P - 1), "96 (p - 1)", "1-D halo, or reduction and broadcast"),
        (8 * N**2 * (1 - 1 / P), "8 n^2 (1 - 1/p)", "all-to-all exchange (transpose)"),
        (40 * (P - np.sqrt(P)), "40 (p - sqrt(p))", "neighbours on a 2-D grid of nodes"),
        (5 * P * np.log2(P), "5 p log2(p)", "exchange in log2(p) steps"),
        (
            N**3 / P + 10 * N**2 / np.sqrt(P),
            "n^3 p^-1 + 10 n^2 p^(-1/2)",
            "cubic growth with the problem, divided among the nodes"
            " + quadratic growth with the problem, divided among the nodes",
        ),
        (
            24 * (9 * ((N + Q) ** 3 - (N + 1) ** 3) + 6 * N**2 * (Q - 1) + 2 * (P - 1)),
            "792 n^2 (cbrt(p) - 1) + 648 n (p^(2/3) - 1) + 264 (p - 1)",
            "3-D halo",
        ),
    ],
)
def test_exact_data_give_their_law(
    y: np.ndarray[tuple[int], np.dtype[np.float64]], text: str, name: str
) -> None:
    law = fit_law(X, ("p", "n"), y, metric="comm_bytes")
    assert (law_text(law), law_name(law)) == (text, name)
    far = {"p": 1000.0, "n": 4096.0}
    low, high = law.band(far)
    assert low[0] <= law.predict(far)[0] <= high[0]


def test_outside_of_the_lattice_the_normal_form_is_found() -> None:
    law = fit_law(X, ("p", "n"), 100 + 3 * P ** (3 / 4) * N ** (5 / 4), metric="comm_bytes")
    assert law.formula.family == "pmnf"
    assert law_text(law) == "3 n^(5/4) p^(3/4) + 100"


def test_outside_of_both_a_free_power_law_is_found() -> None:
    law = fit_law(X, ("p", "n"), 7 * P**0.45 * N**1.15)
    assert (law.formula.family, law_text(law)) == ("power", "7 n^(23/20) p^(9/20)")


@pytest.mark.parametrize("seed", range(3))
def test_noise_does_not_add_terms(seed: int) -> None:
    noise = 1 + 0.05 * np.random.default_rng(seed).standard_normal(len(X))
    law = fit_law(X, ("p", "n"), 4 * N * (np.sqrt(P) - 1) * noise)
    assert len(law.formula.terms) == 1
    truth = 4 * 4096 * 31
    low, high = law.band({"p": 1024.0, "n": 4096.0})
    assert low[0] <= truth <= high[0]


def test_a_falling_law_is_never_negative() -> None:
    y = 100 - 80 / np.sqrt(P)
    law = fit_law(X, ("p", "n"), y, families=("pmnf",))
    values = law.predict({"p": np.array([0.01, 0.5, 1.0, 1e6])})
    assert values.min() == 0.0
    assert values[2:] == pytest.approx([20.0, 99.92], rel=1e-6)


def test_what_the_data_cannot_tell_is_listed_and_in_the_band() -> None:
    """On square node counts the halo of square blocks and that of the most square grid are one."""
    x = np.array(list(product((4.0, 16.0, 64.0), (16.0, 32.0, 64.0))))
    law = fit_law(x, ("p", "n"), 32 * x[:, 1] * (np.sqrt(x[:, 0]) - 1))
    assert "n (q1 + q2 - 2)" in " ".join(
        law_text(type(law)(law.metric, law.parameters, f, (), law.lowest, law.highest, 9))
        for f in law.alternatives
    )
    low, high = law.band({"p": 32.0, "n": 64.0})
    assert low[0] <= 16 * 64 * (8 + 4 - 2) <= high[0]
    assert any("p has 3 values" in note for note in law.notes)


def test_a_metric_that_ignores_a_parameter_has_a_law_without_it() -> None:
    law = fit_law(X, ("p", "n"), 35 * N**2, metric="work_flops")
    assert (law.parameters, law_text(law)) == (("n",), "35 n^2")


def test_a_parameter_with_one_value_is_noted() -> None:
    x = np.column_stack((X[:, 0], np.full(len(X), 20.0)))
    law = fit_law(x, ("p", "steps"), 8 * (P - 1))
    assert law.parameters == ("p",)
    assert law.notes == ("steps was always 20: the law holds for that value",)


def test_constants_and_zeros() -> None:
    assert law_text(fit_law(X, ("p", "n"), np.full(len(X), 7.0))) == "7"
    assert fit_law(X, ("p", "n"), np.zeros(len(X))).predict({"p": 4.0, "n": 4.0}).tolist() == [0.0]


def test_three_parameters() -> None:
    x = np.array(list(product((4.0, 16.0, 25.0, 64.0), (16.0, 32.0, 48.0, 64.0), (5.0, 10.0, 20.0))))
    law = fit_law(x, ("p", "n", "steps"), 16 * x[:, 1] * x[:, 2] * (np.sqrt(x[:, 0]) - 1))
    assert law_text(law) == "16 steps n (sqrt(p) - 1)"


def test_the_same_data_give_the_same_law() -> None:
    y = 4 * N * (np.sqrt(P) - 1) * (1 + 0.02 * np.random.default_rng(1).standard_normal(len(X)))
    shuffled = np.random.default_rng(2).permutation(len(X))
    assert fit_law(X, ("p", "n"), y) == fit_law(X[shuffled], ("p", "n"), y[shuffled])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[4.0]], [1.0], "at least two points"),
        ([[4.0], [0.0]], [1.0, 2.0], "positive parameters"),
        ([[4.0], [8.0]], [1.0, -2.0], "0 or more"),
        ([[4.0], [8.0]], [1.0, np.nan], "0 or more"),
        ([[4.0, 1.0], [8.0, 1.0]], [1.0, 2.0], "2 points with 1 parameters"),
    ],
)
def test_data_that_cannot_be_fitted(x: list[list[float]], y: list[float], message: str) -> None:
    with pytest.raises(FitError, match=message):
        fit_law(np.array(x), ("p",), np.array(y))
