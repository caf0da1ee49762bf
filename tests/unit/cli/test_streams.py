"""Streams that whoever starts the tool closed."""

from __future__ import annotations

import subprocess
import sys

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
