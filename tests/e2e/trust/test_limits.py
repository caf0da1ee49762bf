"""Programs whose limits or ways to end are not those of plain ones: recorded, or named for what they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import TraceError
from commanalyzer.graph.build import build_store
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.recording.runtime import TargetRun
from commanalyzer.recording.trace import read_trace
from tests.recorded import instrumented, run_to_end

Program = tuple[Callable[[str, Path], TargetRun], Callable[[Path], int]]


@pytest.fixture(scope="module")
def program() -> Program:
    """Runs the program in a way, and counts the flows of a trace."""
    _, plan, executable = instrumented(compile_sources([Path(__file__).parent / "limits.c"]))

    def run(way: str, trace: Path) -> TargetRun:
        return run_to_end(executable, way, COMMANALYZER_TRACE=str(trace))

    return run, lambda trace: build_store(read_trace(trace), plan.sites).graph().num_flows


@pytest.mark.parametrize("way", ["none", "sizes", "files"])
def test_limits_of_the_program_are_not_those_of_its_trace(program: Program, tmp_path: Path, way: str) -> None:
    run, flows = program
    assert run(way, tmp_path / "trace").exit_status == 0
    assert flows(tmp_path / "trace") >= 20000


@pytest.mark.parametrize("way", ["exec", "daemon"])
def test_programs_that_leave_are_named(program: Program, tmp_path: Path, way: str) -> None:
    run, flows = program
    assert run(way, tmp_path / "trace").exit_status == 0
    with pytest.raises(TraceError, match=way) as caught:
        flows(tmp_path / "trace")
    assert "foreground" in caught.value.hint
