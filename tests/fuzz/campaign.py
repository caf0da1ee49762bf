"""Command line of the searches: seeds in, failing sources out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.comparing import Outcome


def run_campaign(description: str, folder: str, suffix: str, compare: Callable[[int], Outcome]) -> int:
    """Compare programs by seed; exit status 1 when one failed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--keep", type=Path, default=Path(folder), help="where failing programs are kept")
    options = parser.parse_args()
    failures = skipped = 0
    for seed in range(options.seed, options.seed + options.programs):
        outcome = compare(seed)
        skipped += outcome.is_skipped
        if outcome.problem:
            failures += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{seed}{suffix}").write_text(outcome.source)
            sys.stdout.write(f"seed {seed}: {outcome.problem[:400]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{options.programs} programs, {skipped} skipped, {failures} failures\n")
    return 1 if failures else 0
