"""Command line of the searches: seeds in, failing sources out."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.comparing import Outcome


def run_campaign(description: str, folder: str, suffix: str, compare: Callable[[int], Outcome]) -> int:
    """Compare programs by seed; exit status 1 when one failed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--keep", type=Path, default=Path(folder), help="where failing programs are kept")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="begin no program later (s)")
    options = parser.parse_args()
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
            (options.keep / f"{seed}{suffix}").write_text(outcome.source)
            sys.stdout.write(f"seed {seed}: {outcome.problem[:400]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} programs from seed {options.seed}, {skipped} skipped, {failures} failures\n")
    return 1 if failures else 0
