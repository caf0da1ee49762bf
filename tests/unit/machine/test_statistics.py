import numpy as np
import pytest

from commanalyzer.machine import statistics


@pytest.mark.parametrize(
    ("n", "low", "high", "confidence"),
    [
        # Order statistics and coverage from the binomial distribution: 1 - 2 sum_{k<l} C(n,k) / 2^n.
        (6, 1, 6, 1 - 2 * 1 / 64),
        (9, 2, 8, 1 - 2 * 10 / 512),
        (10, 2, 9, 1 - 2 * 11 / 1024),
        (20, 6, 15, 1 - 2 * 21700 / 2**20),
        (100, 40, 61, 0.96480),
    ],
)
def test_median_and_interval(n: int, low: int, high: int, confidence: float) -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    found = statistics.median_interval(values)
    assert (found.low, found.high, found.num_values) == (low, high, n)
    assert found.median == (n + 1) / 2
    assert found.confidence == pytest.approx(confidence, abs=1e-5)


def test_too_few_values_reach_less() -> None:
    found = statistics.median_interval(np.array([3.0, 1.0, 2.0]))
    assert (found.median, found.low, found.high, found.confidence) == (2.0, 1.0, 3.0, 0.75)
    assert statistics.median_interval(np.array([5.0])).confidence == 0.0


def test_ranks_that_were_not_timed_do_not_count() -> None:
    assert statistics.median_interval(np.array([[np.nan, 1.0], [3.0, np.nan]])).median == 2.0
    with pytest.raises(ValueError, match="found none"):
        statistics.median_interval(np.array([np.nan]))


@pytest.mark.parametrize(
    ("base_s", "work_s", "elapsed_s", "hidden"),
    [
        (10.0, 20.0, 20.0, 1.0),  # the transfer costs nothing
        (10.0, 20.0, 30.0, 0.0),  # one after the other
        (10.0, 20.0, 25.0, 0.5),  # SMB: 1 - (25 - 20) / 10
        (10.0, 4.0, 12.0, 0.5),  # IMB: (10 + 4 - 12) / min(10, 4)
        (10.0, 20.0, 35.0, 0.0),  # noise is clipped
        (10.0, 20.0, 15.0, 1.0),
        (0.0, 20.0, 20.0, 0.0),  # nothing to hide
    ],
)
def test_availability(base_s: float, work_s: float, elapsed_s: float, hidden: float) -> None:
    assert statistics.availability(base_s, work_s, elapsed_s) == hidden


def test_significant_digits() -> None:
    assert statistics.significant(1.23456e-7) == 1.235e-7
    assert statistics.significant(987654321.0) == 987700000.0
    assert statistics.significant(0.0) == 0.0
