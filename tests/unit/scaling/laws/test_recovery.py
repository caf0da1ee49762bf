"""A sample of ``python -m bench.recovery``: exact data of a term give this term back."""

import pytest

from tests.known_laws import Truth, recover, truths

ALL = list(truths())
PHYSICAL = [truth for truth in ALL if truth.family == "physical"][3::150]
NORMAL_FORM = [truth for truth in ALL if truth.family == "normal form"][5::15]


@pytest.mark.parametrize("truth", [*PHYSICAL, *NORMAL_FORM], ids=lambda truth: truth.family)
def test_exact_data_give_their_formula(truth: Truth) -> None:
    found = recover(truth, 0.0)
    assert found.is_same_formula
    assert found.is_same_value
