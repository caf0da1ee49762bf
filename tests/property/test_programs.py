"""The generated programs are what they promise to be: defined, terminating, deterministic, varied."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.native import NativeRun, compile_native, run
from tests.property.programs import c_programs

# Undefined behaviour ends the program with a signal.
_TRAP = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-w")
_generate = settings(
    deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


def _run(text: str, *options: str) -> NativeRun:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.c"
        source.write_text(text)
        return run(compile_native(source, Path(folder) / "program", *options), timeout_s=10.0)


@settings(_generate, max_examples=12)
@given(c_programs())
def test_programs_are_defined_and_independent_of_optimisation(text: str) -> None:
    checked = _run(text, "-O0", *_TRAP)
    assert checked.status == 0, text
    assert checked.stdout == _run(text, "-O2", "-w", "-ffp-contract=off", "-mcpu=baseline").stdout
    assert checked.stdout.count("\n") >= 2
