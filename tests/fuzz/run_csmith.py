"""Compares random csmith programs with and without instrumentation.

    python -m tests.fuzz.run_csmith --programs 100 --seed 1 --keep failures/

Needs ``csmith`` and its headers (Debian: ``csmith libcsmith-dev``). A program that does not end in time
without instrumentation is skipped. Exit status 1 when a program failed; its source is kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import run_campaign
from tests.fuzz.comparing import Outcome
from tests.fuzz.comparing import compare as compare_program

INCLUDE = Path("/usr/include/csmith")


def is_available() -> bool:
    """Csmith and its headers are installed."""
    return shutil.which("csmith") is not None and (INCLUDE / "csmith.h").exists()


def generate(seed: int) -> str:
    """Source text of csmith's program number ``seed``."""
    command = ["csmith", "--seed", str(seed), "--max-funcs", "6", "--max-block-depth", "4"]
    with tempfile.TemporaryDirectory() as folder:  # csmith leaves a file in its working directory
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout


def compare(seed: int) -> Outcome:
    """Run one program both ways."""
    return compare_program(seed, generate(seed), lambda source: source, (f"-I{INCLUDE}", "-w"))


def main() -> int:
    """Entry point."""
    if not is_available():
        sys.stderr.write("csmith or its headers are not installed\n")
        return 2
    return run_campaign(str(__doc__), "csmith-failures", ".c", compare)


if __name__ == "__main__":
    sys.exit(main())
