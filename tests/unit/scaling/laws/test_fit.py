"""Laws that made the data are found again; what cannot be known is said."""

import json
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest

from commanalyzer.foundation.errors import FitError
from commanalyzer.report.scaling.laws_text import predictions_content
from commanalyzer.scaling.laws.data import Observations
from commanalyzer.scaling.laws.document import law_content, read_law
from commanalyzer.scaling.laws.fit import fit_law, fit_observations
from commanalyzer.scaling.laws.formula import formula_text, law_name, law_text
from commanalyzer.scaling.laws.terms import Floats, most_cubic_grid, of_grids
from tests.known_laws import Truth, recover, truths

X = np.array(list(product((4.0, 8.0, 16.0, 27.0, 32.0, 64.0), (16.0, 32.0, 48.0, 64.0, 96.0))))
P, N = X.T
Q = np.cbrt(P)


@pytest.mark.parametrize(
    ("y", "text", "name"),
    [
        (32 * N * (np.sqrt(P) - 1), "32 n (sqrt(p) - 1)", "2-D halo"),
        (80 * N * of_grids("grid", P, 2), "80 n (q1 + q2 - 2)", "2-D halo"),
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
def test_exact_data_give_their_law(y: Floats, text: str, name: str) -> None:
    law = fit_law(X, ("p", "n"), y, metric="comm_bytes")
    assert (law_text(law), law_name(law)) == (text, name)
    far = {"p": 1000.0, "n": 4096.0}
    low, high = law.band(far)
    assert low[0] <= law.predict(far)[0] <= high[0]


def test_outside_of_the_lattice_the_normal_form_or_a_free_power_law_is_found() -> None:
    law = fit_law(X, ("p", "n"), 100 + 3 * P ** (3 / 4) * N ** (5 / 4), metric="comm_bytes")
    assert (law.formula.family, law_text(law)) == ("pmnf", "3 n^(5/4) p^(3/4) + 100")
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


def test_no_exact_law_is_below_zero_on_more_nodes() -> None:
    """7 (q1 + q2 + q3 - 3) - 2 p goes through what is above zero up to 16 nodes only."""
    p, t = (axis.ravel() for axis in np.meshgrid([2.0, 4.0, 8.0, 16.0], [4.0, 8.0, 16.0]))
    y = 8 * t * np.choose(np.searchsorted([2, 4, 8, 16], p), [3, 6, 5, 3])
    assert (fit_law(np.stack((p, t), axis=1), ("p", "t"), y).predict({"p": 32.0, "t": 100.0}) > 0).all()


def _of_busiest_block(p: float, n: float, d: int, *, with_edges: bool) -> tuple[float, float]:
    """Points and neighbours that the busiest of p blocks of n^d points sends to, every block looked at."""
    grid = most_cubic_grid(int(p), d)
    place, length = np.indices(grid).reshape(d, -1), [n / q for q in grid]
    borders = [(at > 0) * 1 + (at < q - 1) for at, q in zip(place, grid, strict=True)]
    across = [met for k in (1, 2)[: 1 + with_edges] for met in combinations(range(d), k)]
    beside = [np.prod([borders[i] for i in met], axis=0) for met in across]
    size = [np.prod([length[i] for i in range(d) if i not in met]) for met in across]
    points = sum(number * own for number, own in zip(beside, size, strict=True))
    return float(np.max(points)), float(np.max(sum(beside)))


@pytest.mark.parametrize(
    ("d", "with_edges", "metric"),
    [*product((1, 2, 3), (False,), (0, 1)), (2, True, 0), (2, True, 1), (3, True, 0)],
)
def test_the_busiest_of_plain_blocks_has_an_exact_law(d: int, with_edges: bool, metric: int) -> None:
    def law(p: float, n: float, t: float) -> float:
        return (8 * t, t)[metric] * _of_busiest_block(p, n, d, with_edges=with_edges)[metric]

    x = np.array(list(product((2.0, 4.0, 8.0, 16.0, 64.0), (64.0, 128.0, 192.0, 256.0), (4.0, 8.0, 12.0))))
    found = fit_law(x, ("p", "n", "t"), np.array([law(*row) for row in x]), grid=d if d > 1 else 0)
    far = np.array(list(product((36.0, 128.0, 1024.0), (4096.0,), (100.0,))))
    assert found.predict(dict(zip("pnt", far.T, strict=True))) == pytest.approx(
        [law(*row) for row in far], rel=1e-9
    )


def test_what_the_data_cannot_tell_is_listed_and_in_the_band() -> None:
    """On square node counts the halo of square blocks and that of the most square grid are one."""
    x = np.array(list(product((4.0, 16.0, 64.0), (16.0, 32.0, 64.0))))
    law = fit_law(x, ("p", "n"), 32 * x[:, 1] * (np.sqrt(x[:, 0]) - 1))
    assert law_text(law) == "16 n (q1 + q2 - 2)"  # such grids exist for every p
    assert "32 n (sqrt(p) - 1)" in [formula_text(f, law.parameters) for f in law.alternatives]
    low, high = law.band({"p": 32.0, "n": 64.0})
    assert low[0] <= 16 * 64 * (8 + 4 - 2) <= high[0]
    assert any("add p = 9, 36; n = 24, 48" in note for note in law.notes)


def test_a_parameter_that_tells_nothing_is_left_out() -> None:
    law = fit_law(X, ("p", "n"), 35 * N**2, metric="work_flops")
    assert (law.parameters, law_text(law)) == (("n",), "35 n^2")
    x = np.column_stack((X[:, 0], np.full(len(X), 20.0)))
    law = fit_law(x, ("p", "steps"), 8 * (P - 1))
    assert law.parameters == ("p",)
    assert law.notes == ("steps was always 20: the law holds for that value",)


def test_constants_and_zeros() -> None:
    assert law_text(fit_law(X, ("p", "n"), np.full(len(X), 7.0))) == "7"
    assert fit_law(X, ("p", "n"), np.zeros(len(X))).predict({"p": 4.0, "n": 4.0}).tolist() == [0.0]


@pytest.mark.parametrize(
    ("law", "at"),
    [
        (lambda n: 10 * (12 * (n - 2) ** 2 + 3 * n), 6144.0),  # a field whose n counts the boundary
        (lambda n: 80 * (n - 2) ** 3 + 6 * n**2, 512.0),
        (lambda n: n * (n + 1) * (2 * n + 1) / 6, 1e5),  # rational coefficients
        (lambda n: 5 * (n - 1) * (n - 3), 4096.0),
    ],
)
def test_whole_numbers_of_a_polynomial_give_it(law: Callable[[Floats], Floats], at: float) -> None:
    n = np.array([16.0, 24.0, 32.0, 48.0, 64.0])
    found = fit_law(n[:, None], ("n",), law(n))
    assert found.predict({"n": at})[0] == pytest.approx(law(np.array([at]))[0], rel=1e-12)
    low, high = found.band({"n": at})
    assert low[0] == high[0]


def test_shifted_powers_are_found_in_noise() -> None:
    n = np.array([16.0, 20.0, 24.0, 32.0, 40.0, 48.0, 64.0])
    noise = 1 + 0.005 * np.random.default_rng(3).standard_normal(len(n))
    found = fit_law(n[:, None], ("n",), 1.5 * (n - 2) ** 3 * noise)
    assert "(n - 2)^3" in law_text(found)
    low, high = found.band({"n": 512.0})
    assert low[0] <= 1.5 * 510.0**3 <= high[0]


def test_regular_grids_of_nodes_have_exact_laws() -> None:
    """Halos of (n - 2)^2 fields on 12 = 4 x 3 nodes, and a sum over all nodes."""
    x = np.array(list(product((2.0, 4.0, 6.0, 8.0, 12.0, 16.0), (16.0, 24.0, 32.0, 48.0))))
    cuts = of_grids("grid", x[:, 0], 2)
    found = fit_law(x, ("p", "n"), 80 * (x[:, 1] - 2) * cuts + 8 * (x[:, 0] - 1))
    at = found.predict({"p": 1024.0, "n": 4000.0})[0]
    assert at == pytest.approx(80 * 3998 * 62 + 8 * 1023, rel=1e-12)


def test_numbers_of_iterations_that_follow_no_formula_are_noticed() -> None:
    n, p = np.repeat([16.0, 24.0, 32.0, 48.0, 64.0], 3), np.tile([2.0, 4.0, 8.0], 5)
    for rounds, is_noticed in ((np.array([21.0, 47.0, 61.0, 61.0, 90.0]), True), (np.full(5, 21.0), False)):
        often = np.repeat(rounds, 3)
        metrics = {"comm_bytes": 16 * n * (p - 1) * often, "collective_rounds": often}
        seen = Observations(("n", "p"), np.stack((n, p), 1), metrics, frozenset(), "table")
        laws = {law.metric: law for law in fit_observations(seen).laws}
        assert ("comm_bytes_per_round" in laws) == is_noticed
        if is_noticed:
            assert law_text(laws["comm_bytes_per_round"]) == "16 n (p - 1)"
            assert "21, 47, 61, 61, 90" in laws["comm_bytes_per_round"].notes[0]


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


def test_too_few_noisy_runs_have_no_band_and_name_the_runs_to_add() -> None:
    rng = np.random.default_rng(3)
    x = np.array(list(product((4.0, 8.0, 16.0, 32.0), (16.0, 24.0, 32.0, 48.0, 64.0))))
    y = 32 * x[:, 1] * (np.sqrt(x[:, 0]) - 1) * (1 + 0.05 * rng.standard_normal(len(x)))
    law = fit_law(x, ("p", "n"), y)
    assert law.lacks == "p = 6" and "no band: too few runs; add p = 6" in law.notes
    at = {"p": 64.0, "n": 128.0}
    assert np.isnan(law.band(at)).all() and law.predict(at)[0] > 0
    assert '"low": null' in json.dumps(predictions_content((read_law(law_content(law)),), at))
    whole = np.concatenate((x, [(6.0, n) for n in (16.0, 24.0, 32.0, 48.0, 64.0)]))
    y = 32 * whole[:, 1] * (np.sqrt(whole[:, 0]) - 1) * (1 + 0.05 * rng.standard_normal(len(whole)))
    low, high = fit_law(whole, ("p", "n"), y).band(at)
    assert low[0] < 32 * 128 * 7 < high[0] < 2 * low[0]


@pytest.mark.parametrize("is_edge", [False, True])
def test_a_point_off_all_others_is_left_out_but_not_a_regime_that_begins(is_edge: bool) -> None:
    y = 32 * N * (np.sqrt(P) - 1) * (1 + 0.01 * np.random.default_rng(4).standard_normal(len(N)))
    wrong = P.max() == P if is_edge else (P == 16) & (N == 48)
    law = fit_law(X, ("p", "n"), np.where(wrong, 1.5 * y, y))
    said = [note for note in law.notes if "left out" in note]
    assert said == ([] if is_edge else ["p = 16, n = 48 lies off the other points and is left out"])
    assert is_edge or law.predict({"p": 256.0, "n": 512.0})[0] == pytest.approx(32 * 512 * 15, rel=0.03)


ALL = list(truths())
PHYSICAL = [truth for truth in ALL if truth.family == "physical"][3::150]
NORMAL_FORM = [truth for truth in ALL if truth.family == "normal form"][5::15]


@pytest.mark.parametrize("truth", [*PHYSICAL, *NORMAL_FORM], ids=lambda truth: truth.family)
def test_exact_data_give_their_formula(truth: Truth) -> None:
    found = recover(truth, 0.0)
    assert found.is_same_formula
    assert found.is_same_value
