"""Compares random C++ programs, as source and as IR of several optimisation levels.

    python -m tests.fuzz.run_cpp --programs 100 --seed 1 --keep failures/

The seed decides what the tool is given: the source, or IR as clang writes it at -O0, at -O3 (vectorised and
unrolled) or at -O3 with reassociation. Exit status 1 when a program failed; its source is kept.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from commanalyzer.frontend.toolchain import bundled_toolchain
from tests.fuzz.campaign import run_campaign
from tests.fuzz.comparing import Outcome
from tests.fuzz.comparing import compare as compare_program
from tests.fuzz.cpp_programs import cpp_program

STANDARD = ("-std=c++17", "-w")
LEVELS: tuple[tuple[str, ...], ...] = ((), ("-O0",), ("-O3",), ("-O3", "-ffast-math", "-fno-inline"))


def compare(seed: int) -> Outcome:
    """Run one program both ways."""
    return compare_program(
        seed,
        cpp_program(seed),
        lambda source: _prepared(source, LEVELS[seed % len(LEVELS)]),
        STANDARD,
        ".cpp",
    )


def _prepared(source: Path, flags: tuple[str, ...]) -> Path:
    if not flags:
        return source
    tools = bundled_toolchain()
    bitcode = source.with_suffix(".bc")
    command = [*tools.cxx, *tools.target_flags, *STANDARD, *flags, "-fno-sanitize=all", "-emit-llvm", "-c"]
    subprocess.run([*command, str(source), "-o", str(bitcode)], check=True, capture_output=True)
    return bitcode


if __name__ == "__main__":
    sys.exit(run_campaign(str(__doc__), "cpp-failures", ".cpp", compare))
