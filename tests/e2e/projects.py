"""Small projects for the compiler wrappers, and the wrappers as programs on the search path."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commanalyzer.program.frontend.drivers.embedded import Record, read_program
from tests.e2e.command import Done, commanalyzer, succeed, surroundings
from tests.native import run

WRAPPERS = {"commanalyzer-cc": "cc", "commanalyzer-c++": "cxx", "commanalyzer-fc": "fc"}
POINTS, STEPS = 64, 10

SMOOTHING = {
    "src/main.c": """
#include <stdio.h>
#include <stdlib.h>
#include "grid.h"
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 64, steps = argc > 2 ? atoi(argv[2]) : 10;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = b[i] = i % 7;
  for (int s = 0; s < steps; s++) { smooth(b, a, n); double *t = a; a = b; b = t; }
  printf("%.6f %d\\n", total(a, n), threads());
  return 0;
}
""",
    "src/grid.h": """
void smooth(double *, const double *, int);
double total(const double *, int);
int threads(void);
""",
    "src/x/part.c": """
#include "../grid.h"
void smooth(double *b, const double *a, int n) {
#pragma omp parallel for
  for (int i = 1; i < n - 1; i++) b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1];
}
""",
    "src/y/part.c": """
#include "../grid.h"
#ifdef _OPENMP
#include <omp.h>
#endif
double total(const double *a, int n) {
  double s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}
int threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}
""",
    "src/y/unused.c": "double unused[4];\ndouble fill(double x) { return unused[1] = 3 * x; }\n",
    "Makefile": """
CFLAGS = -O3
prog: src/main.o src/x/part.o libtotal.a
\t$(CC) $(CFLAGS) -o $@ src/main.o src/x/part.o -L. -ltotal -lm
libtotal.a: src/y/part.o src/y/unused.o
\t$(AR) rcs $@ $^
""",
}


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with sources, and the wrappers on the search path.

    Attributes:
        folder: Where commands run.
    """

    folder: Path

    def write(self, files: Mapping[str, str]) -> "Project":
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self

    def run(
        self, line: str, *, stdin: str = "", status: int = 0, extra: Mapping[str, str] | None = None
    ) -> Done:
        """Run a command; its status must be ``status``."""
        environment, words = {**self.environment(), **(extra or {})}, shlex.split(line)
        if words[0] == "commanalyzer":
            found = commanalyzer(self.folder, *words[1:], stdin=stdin, extra=environment)
        else:
            done = run(*words, cwd=self.folder, env=environment, input=stdin, timeout_s=300)
            found = Done(done.status, done.stdout, done.stderr)
        assert found.status == status, found.out + found.err
        return found

    def environment(self) -> dict[str, str]:
        """Environment of its commands: no compiler is named."""
        names = ("CC", "CXX", "FC", "CFLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
        kept = {k: v for k, v in surroundings(self.folder).items() if k not in names}
        own = [k for k in kept if k.startswith("COMMANALYZER_C") and k != "COMMANALYZER_CACHE"]
        path = f"{self.folder / 'bin'}{os.pathsep}{kept['PATH']}"
        return {**{k: v for k, v in kept.items() if k not in own}, "PATH": path}

    def analysis(self, *arguments: object) -> dict[str, Any]:
        """JSON document of ``commanalyzer analyze``."""
        target = self.folder / "analysis.json"
        succeed(
            self.folder, "analyze", "-q", "--force", "--json", target, *arguments, extra=self.environment()
        )
        document: dict[str, Any] = json.loads(target.read_text())
        return document

    def records(self, program: str, kind: str = "module") -> list[Record]:
        """Records of one kind that a program carries, with those of its shared objects."""
        images = read_program(self.folder / program).images
        return [record for image in images for record in image.of_kind(kind)]


def make_project(folder: Path) -> Project:
    programs = folder / "bin"
    programs.mkdir()
    for name, function in WRAPPERS.items():
        code = f"import sys; from commanalyzer.cli.compilers import {function} as run; sys.exit(run())"
        _script(programs / name, f"-c {shlex.quote(code)}")
    _script(programs / "commanalyzer", "-m commanalyzer")
    _script(programs / "python-zig", "-m ziglang")
    return Project(folder)


def _script(path: Path, start: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {start} "$@"\n')
    path.chmod(0o755)


def measured(document: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must be equal for equal programs: work, graph and every matrix."""
    matrices = [(d["method"], d["comm_matrix"]) for d in document["decompositions"]]
    return document["work"], document["vcg"], matrices
