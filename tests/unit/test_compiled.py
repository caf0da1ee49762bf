"""Compiled kernels where their machine code cannot be kept."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from commanalyzer.compiled import compiled

@compiled
def twice(x):
    return 2 * x

print(twice(21))
"""


def test_a_full_disk_does_not_end_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert (done.stdout, done.returncode) == ("42\n", 0), done.stderr
    assert list(cache.rglob("*.nbc")) == []
