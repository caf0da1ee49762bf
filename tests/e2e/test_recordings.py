"""How often a program is recorded: twice where it has workspaces, else once; users see one run.

The programs log their begin and end, the plain run first.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.recording.record import RecordedProgram, record
from commanalyzer.request import AnalysisRequest, ProgramOutput

WHOLE = ["begin", "end"]
FIRST, NAMED = "record the program", "record the private temporaries"

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
        return self.program.store.graph()


class Stages(SilentProgress):
    """Progress that notes the recordings."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str, steps: int = 1) -> None:
        if name.startswith("record"):
            self.names.append(name)


def recorded(body: str, folder: Path, stdin: Path | None = None, output: ProgramOutput = "discard") -> Seen:
    log, source = folder / "log", folder / "program.c"
    log.unlink(missing_ok=True)
    source.write_text(_FRAME % {"body": body, "log": log})
    stages = Stages()
    request = AnalysisRequest(
        (source,), (), nodes=(2,), models=("volume",), stdin=stdin, program_output=output, allow_failure=True
    )
    program = record(request, stages)
    runs: list[list[str]] = []
    for line in log.read_text().split():
        if line == "begin":
            runs.append([])
        runs[-1].append(line)
    return Seen(program, stages.names, runs)


def words_of(graph: ValueGraph) -> set[str]:
    return {graph.objects[number].name for number in np.unique(graph.home_object[graph.is_temporary])}


def test_workspaces_of_every_phase_are_named_in_a_second_recording(tmp_path: Path) -> None:
    seen = recorded("steps(150, strains); steps(150, others);", tmp_path)
    assert seen.stages[:2] == [FIRST, NAMED]
    assert set(seen.stages[2:]) <= {NAMED}  # in doubt, the other reading is recorded as well
    assert seen.runs == [WHOLE] * (1 + len(seen.stages))
    assert words_of(seen.graph) >= {"strains", "others"}


def test_without_workspaces_the_first_recording_is_the_only_one(tmp_path: Path) -> None:
    seen = recorded("set(strains); stencil(300); set(strains);", tmp_path)
    assert (seen.stages, seen.runs) == ([FIRST], [WHOLE, WHOLE])
    assert not seen.graph.is_temporary.any()


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
    assert seen.runs == [WHOLE] * 3
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("before 17\nbehind\n", "to standard error\n")
    assert out.read_text() == "first\nlast\n"
    assert seen.program.recording.exit_status == 17
    assert seen.program.recording.warnings == ("the program ended with status 17",)


def test_a_forked_child_records_nothing(tmp_path: Path) -> None:
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
    assert seen.runs == [WHOLE] * 3
    assert told.read_text().split() == ["5", "5", "5"]
    assert seen.program.recording.exit_status == 5
