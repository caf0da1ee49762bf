"""Rounds that do what they did before with other words: their chains are those of the interpreter."""

from __future__ import annotations

import pytest

from tests.property.loop_programs import loop_program
from tests.property.test_flows import check
from tests.recorded import record_source

_CHANGES = ["little changed", "little changed elsewhere", "two exchanged", "to and fro"]


def test_chains_of_renamed_rounds_equal_the_interpreters() -> None:
    """Stores, updates and sums at indices of which few change, some to and fro; words of 2, 4 and 8 bytes."""
    names = ["rounds that gather", "rounds that meet", "rounds with short words", "rounds with packed words"]
    text = loop_program([*names, "rounds with weights", "rounds with weighted sums", *_CHANGES], 40, 12)
    recorded = record_source(text)
    assert recorded.num_renamings > 40
    check(text, recorded)


@pytest.mark.parametrize(
    "name",
    [
        "rounds beside others",  # words that move, and others of the same array
        "rounds that copy",
    ],
)
def test_rounds_that_cannot_be_renamed_run_with_hooks(name: str) -> None:
    text = loop_program([name, *_CHANGES], 40, 12)
    recorded = record_source(text)
    check(text, recorded)
    assert recorded.num_renamings == 0
