"""Which of two readings of a program is shown; the bytes are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commanalyzer.readings import _is_shared_shown
from commanalyzer.result.results import Decomposition
from tests.samples import sample_decomposition


def divided(low: int, high: int, imbalance: float = 1.0) -> Decomposition:
    """A division whose bytes lie between two ends."""
    made = sample_decomposition(2, pair_bytes=low)
    traffic = replace(made.communication, low_bytes=low, high_bytes=high)
    return replace(made, communication=traffic, imbalance=imbalance)


@pytest.mark.parametrize(
    ("private", "shared", "is_shared"),
    [
        (divided(128, 128), divided(192, 192), True),  # what is certain is what a program can reach
        (divided(128, 128), divided(64, 300), False),  # the lower end of a wide bracket proves nothing
        (divided(128, 128), divided(64, 100), True),  # cheaper in any case
        (divided(128, 128), divided(64, 64, imbalance=4.0), False),  # all on one node is no answer
        (divided(128, 128, imbalance=1.5), divided(192, 300), True),
        (divided(128, 128, imbalance=1.01), divided(192, 192, imbalance=1.02), True),  # both within the limit
    ],
)
def test_reading_that_is_shown(private: Decomposition, shared: Decomposition, is_shared: bool) -> None:
    assert _is_shared_shown([private], [shared], 1.03) == is_shared
