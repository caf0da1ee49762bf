"""A small sample of csmith's programs, where csmith is installed."""

from __future__ import annotations

import pytest

from tests.fuzz.run_csmith import compare, is_available


@pytest.mark.skipif(not is_available(), reason="csmith is not installed")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_program_behaves_like_the_original(seed: int) -> None:
    outcome = compare(seed)
    assert outcome.problem == "", outcome.source
