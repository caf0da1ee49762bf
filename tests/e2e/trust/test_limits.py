"""Programs whose limits or ways to end are not those of plain ones: recorded, or named for what they are."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import TraceError
from commanalyzer.graph.build import build_store
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.recording.runtime.launch import TargetRun, run_target
from commanalyzer.recording.trace import read_trace
from tests.recorded import LIMITS, instrumented

Run = Callable[[str, Path], TargetRun]


@pytest.fixture(scope="module")
def program() -> tuple[Run, Callable[[Path], int]]:
    """Runs the program in a way, and counts the flows of a trace."""
    _, plan, executable = instrumented(compile_sources([Path(__file__).parent / "limits.c"]))

    def run(way: str, trace: Path) -> TargetRun:
        environment = {"COMMANALYZER_TRACE": str(trace)}
        return run_target(
            executable, (way,), stdin=subprocess.DEVNULL, limits=LIMITS, environment=environment, capture=True
        )

    return run, lambda trace: build_store(read_trace(trace), plan.sites).graph().num_flows


@pytest.mark.parametrize("way", ["none", "sizes", "files"])
def test_limits_of_the_program_are_not_those_of_its_trace(
    program: tuple[Run, Callable[[Path], int]], tmp_path: Path, way: str
) -> None:
    run, flows = program
    assert run(way, tmp_path / "trace").exit_status == 0
    assert flows(tmp_path / "trace") >= 20000


@pytest.mark.parametrize("way", ["exec", "daemon"])
def test_programs_that_leave_are_named(
    program: tuple[Run, Callable[[Path], int]], tmp_path: Path, way: str
) -> None:
    run, flows = program
    assert run(way, tmp_path / "trace").exit_status == 0
    with pytest.raises(TraceError, match=way) as caught:
        flows(tmp_path / "trace")
    assert "foreground" in caught.value.hint
