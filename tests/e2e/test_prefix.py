"""Recordings that end as soon as they show workspaces: results are those of whole runs, users see one run.

The programs log their begin and end, so that the log tells which runs were ended early: the plain run comes
first and is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.record import RecordedProgram, record
from commanalyzer.request import AnalysisRequest, CompilerOptions, ProgramOutput
from commanalyzer.trace.reader import Trace, read_trace
from commanalyzer.validation.cases import read_cases
from commanalyzer.vcg.graph import ValueGraph
from tests.graphs import assert_same_graph
from tests.native import ROOT

WHOLE, ENDED_EARLY = ["begin", "end"], ["begin"]
FIRST, NAMED, AGAIN = "record the program", "record the private temporaries", "record the whole program"

_FRAME = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define N 300
static double x[N + 1], f[N + 1], field[N + 1];
static double at[2], strains[2], others[2], more[2];
static void note(const char *text) {
  FILE *log = fopen("%(log)s", "a");
  fputs(text, log);
  fclose(log);
}
__attribute__((noinline)) static void compute(int e, double *b) {
  b[0] = x[e + 1] * 0.5 - x[e]; b[1] = x[e] * 0.25 + x[e + 1];
}
__attribute__((noinline)) static void set(double *b) { b[0] = x[7] * 0.5; }
__attribute__((noinline)) static void steps(int number, double *b) {
  for (int step = 0; step < number; step++) {
    for (int i = 0; i <= N; i++) f[i] = 0;
    for (int e = 0; e < N; e++) { compute(e, b); f[e] += b[0] * b[1]; f[e + 1] += b[1]; }
    for (int i = 0; i <= N; i++) x[i] += 0.001 * f[i];
  }
}
__attribute__((noinline)) static void stencil(int number) {
  for (int step = 0; step < number; step++) {
    for (int i = 1; i < N; i++) field[i] = x[i - 1] + x[i + 1];
    for (int i = 1; i < N; i++) x[i] = field[i] * 0.5;
  }
}
int main(void) {
  note("begin\\n");
  for (int i = 0; i <= N; i++) x[i] = 0.1 * i;
  int status = 0;
  %(body)s
  note("end\\n");
  return status;
}
"""


@dataclass(frozen=True)
class Seen:
    """What one analysis recorded, its recordings by name, and the log of every run."""

    program: RecordedProgram
    stages: list[str]
    runs: list[list[str]]

    @property
    def graph(self) -> ValueGraph:
        return self.program.graph


class Stages:
    """Progress that notes the recordings."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, steps: int = 1) -> None:
        """A stage begins."""
        if name.startswith("record"):
            self.names.append(name)

    def advance(self, steps: int = 1) -> None:
        """Do nothing."""


def recorded(
    body: str,
    folder: Path,
    *,
    whole_runs: bool = False,
    stdin: Path | None = None,
    output: ProgramOutput = "discard",
) -> Seen:
    """Record the program with this body of ``main``."""
    log, source = folder / "log", folder / "program.c"
    log.unlink(missing_ok=True)
    source.write_text(_FRAME % {"body": body, "log": log})
    stages = Stages()
    request = AnalysisRequest(
        (source,), (), nodes=(2,), models=("volume",), stdin=stdin, program_output=output, allow_failure=True
    )
    program = record(request, stages, whole_runs=whole_runs)
    runs: list[list[str]] = []
    for line in log.read_text().split():
        if line == "begin":
            runs.append([])
        runs[-1].append(line)
    return Seen(program, stages.names, runs)


def words_of(graph: ValueGraph) -> set[str]:
    """Names of the workspaces."""
    return {graph.objects[number].name for number in np.unique(graph.home_object[graph.is_temporary])}


def equal(seen: Seen, body: str, folder: Path) -> None:
    """The result is that of whole runs."""
    whole = recorded(body, folder, whole_runs=True)
    assert all(run == WHOLE for run in whole.runs)
    assert_same_graph(seen.graph, whole.graph)
    assert seen.program.work == whole.program.work


def test_a_recording_ends_when_it_shows_workspaces(tmp_path: Path) -> None:
    seen = recorded("steps(150, strains);", tmp_path)
    assert (seen.stages, seen.runs) == ([FIRST, NAMED], [WHOLE, ENDED_EARLY, WHOLE])
    assert words_of(seen.graph) == {"strains"}
    equal(seen, "steps(150, strains);", tmp_path)


def test_without_workspaces_the_first_recording_is_the_only_one(tmp_path: Path) -> None:
    seen = recorded("set(strains); stencil(300); set(strains);", tmp_path)
    assert (seen.stages, seen.runs) == ([FIRST], [WHOLE, WHOLE])
    assert not seen.graph.is_temporary.any()


def test_without_repetition_a_recording_goes_on_to_the_end(tmp_path: Path) -> None:
    body = """
      double *y = malloc(60000 * sizeof(double)), *z = malloc(60000 * sizeof(double));
      for (int i = 0; i < 60000; i++) y[i] = i;
      for (int i = 1; i < 60000; i++) {
        more[0] = y[i] * 0.5 + y[i - 1];
        compute((int)(more[0] * 0) + 1, strains);
        z[i] = more[0] + strains[0] * y[i];
      }
      status = z[77] < 0;
    """
    seen = recorded(body, tmp_path)
    assert seen.runs == [WHOLE] * (1 + len(seen.stages))


def test_workspaces_of_a_later_phase_are_found_in_the_whole_run(tmp_path: Path) -> None:
    body = "steps(150, strains); steps(150, others);"
    seen = recorded(body, tmp_path)
    assert seen.stages[:4] == [FIRST, NAMED, AGAIN, NAMED]
    assert set(seen.stages[4:]) <= {NAMED}  # in doubt, the other reading is recorded as well
    assert seen.runs[:2] == [WHOLE, ENDED_EARLY]
    assert all(run == WHOLE for run in seen.runs[2:])
    assert words_of(seen.graph) >= {"strains", "others"}
    equal(seen, body, tmp_path)


def test_what_holds_one_value_later_gets_one_lifetime_more(tmp_path: Path) -> None:
    """It is set again and again, from one source: nothing that contradicts, and no further vertices."""
    body = "steps(150, strains); for (int i = 0; i < 60000; i++) set(strains); steps(1, strains);"
    seen = recorded(body, tmp_path)
    assert seen.stages == [FIRST, NAMED]
    short = recorded("steps(150, strains);", tmp_path)
    assert int(seen.graph.is_temporary.sum()) == int(short.graph.is_temporary.sum()) + 1


def test_output_is_shown_once_and_completely(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    given.write_text("150 17\n")
    body = f"""
      int number, code;
      if (scanf("%d %d", &number, &code) != 2) return 1;
      printf("before %d\\n", code);
      FILE *out = fopen("{out}", "w");
      fprintf(out, "first\\n");
      steps(number, strains);
      fprintf(out, "last\\n");
      fclose(out);
      fprintf(stderr, "to standard error\\n");
      printf("behind\\n");
      status = code;
    """
    seen = recorded(body, tmp_path, stdin=given, output="inherit")
    assert seen.runs == [WHOLE, ENDED_EARLY, WHOLE]
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("before 17\nbehind\n", "to standard error\n")
    assert out.read_text() == "first\nlast\n"
    assert seen.program.recording.exit_status == 17
    assert seen.program.recording.warnings == ("the program ended with status 17",)


def test_a_forked_child_is_not_ended(tmp_path: Path) -> None:
    told = tmp_path / "told"
    body = f"""
      pid_t child = fork();
      if (!child) {{
        steps(150, strains);
        _exit(5);
      }}
      waitpid(child, &status, 0);
      status = WEXITSTATUS(status);
      FILE *told = fopen("{told}", "a");
      fprintf(told, "%d\\n", status);
      fclose(told);
      steps(150, others);
    """
    seen = recorded(body, tmp_path)
    assert seen.runs == [WHOLE, ENDED_EARLY, WHOLE]
    assert told.read_text().split() == ["5", "5", "5"]
    assert seen.program.recording.exit_status == 5


WORKLOADS = [("fem2d", "40", "40"), ("pic", "32", "4", "20", "4"), ("hydro3d", "8", "12")]


@pytest.mark.parametrize(
    "command",
    [("adi", "32", "60"), *(pytest.param(c, marks=pytest.mark.slow) for c in WORKLOADS)],
    ids=lambda command: command[0],
)
def test_workloads_are_recorded_as_in_whole_runs(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(w for w in read_cases(ROOT / "workloads" / "validation.toml") if w.name == command[0])
    traces: list[Trace] = []

    def noting(path: Path) -> Trace:
        traces.append(read_trace(path))
        return traces[-1]

    monkeypatch.setattr("commanalyzer.record.read_trace", noting)
    compiler = CompilerOptions(flags=case.flags)
    request = AnalysisRequest(
        case.sources, command[1:], nodes=(4,), models=("volume",), compiler=compiler, program_output="discard"
    )
    early, whole = (record(request, SilentProgress(), whole_runs=w).graph for w in (False, True))
    assert [trace.statistics.prefix_events > 0 for trace in traces] == [True, False, False, False]
    # objects of other memory lie at addresses of their own in every run
    for name in ("is_temporary", "versions", "row_count", "row_sink", "row_site", "source", "source_role"):
        assert np.array_equal(getattr(early, name), getattr(whole, name)), name
