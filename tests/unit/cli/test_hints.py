"""What newcomers type, and what they are told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commanalyzer.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["analyz", "prog.c"], "Did you mean analyze?"),
        (["validate", "--quick"], "python -m bench.accuracy"),
        (["analyze", "function.py"], "analyze_function(function"),
        (["analyze", "prog.c", "100"], "behind --: commanalyzer analyze prog.c -- 100"),
    ],
)
def test_mistakes_of_newcomers(
    words: list[str], expected: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prog.c").write_text("int main(void) { return 0; }\n")
    Path("function.py").write_text("def f(x): return x\n")
    assert main(words) in (1, 2)
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "flags", "expected"),
    [
        ("#include <mpi.h>\nint main(void) { return 0; }\n", "", "commanalyzer count -- mpiexec"),
        ("#include <omp.h>\nint main(void) { return omp_get_max_threads() - 1; }\n", "", ""),
        ("#ifndef _OPENMP\n#error none\n#endif\nint main(void) { return 0; }\n", "-fopenmp", ""),
    ],
)
def test_parallel_sources(source: str, flags: str, expected: str, tmp_path: Path, capsys: Capture) -> None:
    """A program of MPI is sent to ``count``; OpenMP's pragmas and functions are read as sequential code."""
    path = tmp_path / "prog.c"
    path.write_text(source)
    assert main(["analyze", str(path), "--nodes", "2", f"--cflags={flags}", "--quiet"]) == bool(expected)
    assert expected in capsys.readouterr().err


def test_machine_names_are_completed() -> None:
    code = "from commanalyzer.cli.main import group; group(prog_name='commanalyzer')"
    env = {**os.environ, "_COMMANALYZER_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    env["COMP_WORDS"] = "commanalyzer bound --machine su"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "plain,summit-edr" in done.stdout.splitlines()
