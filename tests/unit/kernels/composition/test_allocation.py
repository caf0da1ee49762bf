"""Thread counts against all configurations, and limits."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition import answer
from commanalyzer.kernels.composition.answer import best_counts, gain_of_faster_block
from commanalyzer.kernels.composition.systems import parse_system
from commanalyzer.scaling.laws.formula_reader import read_formula

PIPELINE = parse_system("pipe(tpool(T, a), tpool(U, b), c)")


@given(a=st.integers(1, 50), b=st.integers(1, 50), c=st.integers(1, 9), cores=st.integers(3, 12))
def test_the_slower_stages_are_replicated(a: int, b: int, c: int, cores: int) -> None:
    models = {"a": read_formula(str(a)), "b": read_formula(str(b)), "c": read_formula(str(c))}
    found = best_counts(PIPELINE, models, {}, cores)
    counts = range(1, cores)
    fastest = min(max(a / t, b / u, c) for t, u in itertools.product(counts, counts) if t + u + 1 <= cores)
    assert found.element_time_s == pytest.approx(fastest)
    assert found.is_exhaustive and found.threads == sum(found.counts.values()) + 1 <= cores
    # no thread for nothing
    for name, count in found.counts.items():
        if count > 1:
            fewer = {**found.counts, name: count - 1}
            assert max(a / fewer["T"], b / fewer["U"], c) > fastest * (1 + 1e-12)


def test_growing_one_by_one_finds_pipelines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    models = {"a": read_formula("31"), "b": read_formula("17"), "c": read_formula("2")}
    exact = best_counts(PIPELINE, models, {}, 20)
    monkeypatch.setattr(answer, "MOST_CONFIGURATIONS", 1)
    grown = best_counts(PIPELINE, models, {}, 20)
    assert not grown.is_exhaustive
    assert grown.element_time_s == exact.element_time_s == pytest.approx(31 / 12)


def test_growing_goes_on_where_two_stages_are_equally_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "MOST_CONFIGURATIONS", 1)
    models = {"a": read_formula("8"), "b": read_formula("8"), "c": read_formula("4")}
    found = best_counts(PIPELINE, models, {}, 9)
    assert (found.counts, found.element_time_s, found.threads) == ({"T": 2, "U": 2}, 4.0, 5)


def test_too_few_cores() -> None:
    models = {"a": read_formula("3"), "b": read_formula("5"), "c": read_formula("1")}
    with pytest.raises(ConfigError, match="at most 2 threads, found 3"):
        best_counts(PIPELINE, models, {}, 2)


def test_gains_and_shares() -> None:
    models = {"a": read_formula("3 * n"), "b": read_formula("2 * n"), "c": read_formula("4 * n")}
    system = parse_system("pipe(sequence(a, b), c)")
    # 5 n: without half of a 3.5 n, then c decides with 4 n; without half of b 4 n
    gains = gain_of_faster_block(system, models, {"n": 7.0})
    assert gains == pytest.approx({"a": 5 / 4, "b": 5 / 4, "c": 1.0})
