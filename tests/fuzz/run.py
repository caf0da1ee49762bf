"""Compares random programs without recording and with both recordings: output and exit status, bit for bit.

    python -m tests.fuzz.run floating --programs 300 --seed 1 --keep failures/

``floating`` and ``cpp`` are our own generators, ``csmith`` needs csmith and its headers (Debian: ``csmith
libcsmith-dev``). Of ``cpp``, the seed decides what the tool is given: the source, or IR as clang writes it at
-O0, at -O3 (vectorised and unrolled) or at -O3 with reassociation; of ``floating``, flags and language. A
program that does not end in time is skipped. Exit status 1 when one failed; its source is kept.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commanalyzer.program.frontend.toolchain import bundled_toolchain
from tests.fuzz.comparing import Outcome
from tests.fuzz.comparing import compare as compare_program
from tests.fuzz.cpp_programs import cpp_program
from tests.fuzz.floating_programs import floating_program

INCLUDE = Path("/usr/include/csmith")
STANDARD = ("-std=c++17", "-w")
LEVELS: tuple[tuple[str, ...], ...] = ((), ("-O0",), ("-O3",), ("-O3", "-ffast-math", "-fno-inline"))
FLAGS = ("-g", "-ffp-contract=fast", "-ffast-math", "-mfma", "-frounding-math")


def has_csmith() -> bool:
    return shutil.which("csmith") is not None and (INCLUDE / "csmith.h").exists()


def csmith(seed: int) -> Outcome:
    """Run csmith's program number ``seed`` both ways."""
    command = ["csmith", "--seed", str(seed), "--max-funcs", "6", "--max-block-depth", "4"]
    with tempfile.TemporaryDirectory() as folder:  # csmith leaves a file in its working directory
        text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return compare_program(seed, text, lambda source: source, (f"-I{INCLUDE}", "-w"))


def cpp(seed: int) -> Outcome:
    """Run a C++ program both ways."""
    level = LEVELS[seed % len(LEVELS)]
    return compare_program(seed, cpp_program(seed), lambda source: _prepared(source, level), STANDARD, ".cpp")


def _prepared(source: Path, flags: tuple[str, ...]) -> Path:
    if not flags:
        return source
    tools = bundled_toolchain()
    bitcode = source.with_suffix(".bc")
    command = [*tools.cxx, *tools.target_flags, *STANDARD, *flags, "-fno-sanitize=all", "-emit-llvm", "-c"]
    subprocess.run([*command, str(source), "-o", str(bitcode)], check=True, capture_output=True)
    return bitcode


def floating(seed: int) -> Outcome:
    """Run a program about floating point both ways."""
    text = floating_program(seed)
    flag = "-g" if "FENV_ACCESS" in text else FLAGS[seed % len(FLAGS)]  # clang refuses it with some
    suffix = ".cpp" if seed % 7 == 0 else ".c"
    return compare_program(seed, text, lambda source: source, (flag, "-w"), suffix)


def main() -> int:
    """Compare programs by seed; exit status 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("csmith", "cpp", "floating"))
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--keep", type=Path, default=Path("failures"), help="where failing programs are kept")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="begin no program later (s)")
    options = parser.parse_args()
    compare = {"csmith": csmith, "cpp": cpp, "floating": floating}[options.kind]
    started = time.monotonic()
    failures = skipped = count = 0
    for seed in range(options.seed, options.seed + options.programs):
        if time.monotonic() - started > options.time_limit:
            break
        count += 1
        outcome = compare(seed)
        skipped += outcome.is_skipped
        if outcome.problem:
            failures += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{seed}.{options.kind}").write_text(outcome.source)
            sys.stdout.write(f"seed {seed}: {outcome.problem[:400]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} programs from seed {options.seed}, {skipped} skipped, {failures} failures\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
