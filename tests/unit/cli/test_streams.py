"""Streams that whoever starts the tool closed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native import ROOT


@pytest.mark.parametrize("closed", ["1", "2", "0", "1 2", "0 1 2"])
def test_closed_streams_are_no_internal_errors(closed: str) -> None:
    redirections = " ".join(f"{number}>&-" if number != "0" else "0<&-" for number in closed.split())
    command = f'"{sys.executable}" -m commanalyzer model --intensity 0.01 --bandwidth 1GB/s --overlap 0 '
    command += f"--throughput 1GFlop/s {redirections}"
    assert subprocess.run(["sh", "-c", command], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("numbers", ["9" * 5000, "99999999999x2", "9" * 20])
def test_huge_divisions_are_refused(numbers: str) -> None:
    from click.testing import CliRunner

    from commanalyzer.cli.main import group

    result = CliRunner().invoke(group, ["analyze", "x.c", "--decompose", f"u=cyclic:{numbers}"])
    assert result.exit_code == 2
    assert "expected sizes such as 64x32" in result.output


@pytest.mark.parametrize(("words", "module"), [(["show", "x"], "click"), (["cc", "x.c"], "tempfile")])
def test_an_interrupt_while_modules_are_imported(tmp_path: Path, words: list[str], module: str) -> None:
    text = f"import os, time; os.kill(os.getpid(), {int(signal.SIGINT)}); time.sleep(60)"
    (tmp_path / f"{module}.py").write_text(text)
    variables = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-m", "commanalyzer", *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_programs_that_import_the_package_keep_their_interrupts() -> None:
    code = "import signal, commanalyzer as c; print(signal.getsignal(2) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "True\n"
