"""A sample of ``python -m tests.bench.recovery``: exact data of a term give this term back."""

from __future__ import annotations

import pytest

from tests.bench.recovery import Truth, recover, truths

SAMPLE = list(truths())[3::80]


@pytest.mark.parametrize("truth", SAMPLE, ids=lambda truth: truth.family)
def test_exact_data_give_their_formula(truth: Truth) -> None:
    found = recover(truth, 0.0)
    assert found.is_same_formula
    assert found.is_same_value


def test_both_families_are_in_the_sample() -> None:
    assert {truth.family for truth in SAMPLE} == {"physical", "normal form"}
