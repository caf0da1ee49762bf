"""The generated programs are what they promise to be: defined, terminating, deterministic, varied."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, find, given, settings

from tests.native import NativeRun, compile_c, run
from tests.property.programs import MAX_LINES, c_programs

# Undefined behaviour ends the program with a signal.
_TRAP = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-w")
_CONSTRUCTS = (
    *("memcpy(", "memmove(", "memset(", "r = p;", "points[", "table[", "break;", "continue;", "switch ("),
    *("} else {", "+= 1;", "-- > 0", "&& i1 <", "i2", "next", "axpy(", "range_of(", "step(", "tail_sum("),
    *("NOINLINE static", "malloc(", "calloc("),
)
_generate = settings(
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def _run(text: str, *options: str) -> NativeRun:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        return run(compile_c(source, Path(folder) / "program", *options), timeout_s=10.0)


@settings(_generate, max_examples=12)
@given(c_programs())
def test_programs_are_defined_and_independent_of_optimisation(text: str) -> None:
    checked = _run(text, "-O0", *_TRAP)
    assert checked.status == 0, text
    assert checked.stdout == _run(text, "-O2", "-w", "-ffp-contract=off", "-mcpu=baseline").stdout
    assert checked.stdout.count("\n") >= 2


def test_strategy_reaches_every_construct_in_short_programs() -> None:
    texts: list[str] = []

    @settings(_generate, max_examples=200)
    @given(c_programs())
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    missing = [construct for construct in _CONSTRUCTS if not any(construct in text for text in texts)]
    assert missing == []
    assert max(text.count("\n") for text in texts) < MAX_LINES


def test_programs_shrink_to_the_construct_that_matters() -> None:
    smallest = find(
        c_programs(), lambda text: "memmove(" in text, settings=settings(max_examples=500, derandomize=True)
    )
    # One array and one statement are left, no helper.
    assert "unsigned" not in smallest.split("int main")[0]
    assert sum("memmove(" in line for line in smallest.splitlines()) == 1
    assert smallest.count("\n") <= 20
