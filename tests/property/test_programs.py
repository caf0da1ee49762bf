"""The generated programs are what they promise to be: defined, terminating, deterministic, varied."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from tests.native import NativeRun, compile_c, run
from tests.property.programs import MAX_LINES, c_programs

# Undefined behaviour ends the program with a signal.
_TRAP = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-w")


def _run(text: str, *options: str) -> NativeRun:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        return run(compile_c(source, Path(folder) / "program", *options), timeout_s=10.0)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(c_programs())
def test_programs_are_defined_and_independent_of_optimisation(text: str) -> None:
    assert text.count("\n") < MAX_LINES
    checked = _run(text, "-O0", *_TRAP)
    assert checked.status == 0, text
    assert checked.stdout == _run(text, "-O2", "-w", "-ffp-contract=off", "-mcpu=baseline").stdout
    assert checked.stdout.count("\n") >= 2


@pytest.mark.parametrize(
    "construct",
    ["memcpy(", "memmove(", "r = p;", "points[0] = points[0]", "break;", "switch (", "else {", "+= 1;", "i1"],
)
def test_strategy_reaches_the_construct(construct: str) -> None:
    smallest = find(
        c_programs(), lambda text: construct in text, settings=settings(max_examples=2000, derandomize=True)
    )
    # The smallest program with the construct has no other statement in main than what it needs.
    assert smallest.count("\n") < 50
