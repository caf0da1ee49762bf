"""Laws of random data: what must hold whatever they are."""

from itertools import product

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.laws.law import Law

NODES = (4.0, 8.0, 16.0, 64.0)
SIZES = (16.0, 32.0, 64.0)
X = np.array(list(product(NODES, SIZES)))
FAR = {"p": np.array([1.0, 3.0, 1000.0, 1e5]), "n": np.array([1.0, 50.0, 1000.0, 1e5])}
SETTINGS = settings(
    max_examples=4,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def _check(law: Law) -> None:
    value, (low, high) = law.predict(FAR), law.band(FAR)
    assert (value >= 0).all()
    assert np.isnan([low, high]).all() if law.lacks else ((low >= 0) & (low <= value) & (value <= high)).all()


@SETTINGS
@given(st.lists(st.integers(0, 10**9), min_size=len(X), max_size=len(X)))
def test_any_data_have_a_law_that_is_never_negative(values: list[int]) -> None:
    _check(fit_law(X, ("p", "n"), np.array(values, dtype=np.float64)))


@SETTINGS
@given(st.floats(1e-3, 1e3), st.integers(0, 100))
def test_a_unit_changes_the_coefficients_only(unit: float, seed: int) -> None:
    noise = 1 + 0.02 * np.random.default_rng(seed).standard_normal(len(X))
    y = 5 * X[:, 1] * (np.sqrt(X[:, 0]) - 1) * noise
    one, other = (fit_law(X, ("p", "n"), y * factor) for factor in (1.0, unit))
    assert one.formula.terms == other.formula.terms
    assert np.allclose(one.predict(FAR) * unit, other.predict(FAR), rtol=1e-6)
