"""How often the law that made the data is found again: every term of both families, with and without noise.

python -m bench.recovery [--every 1] [--noise 0,0.01,0.05]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from tests.known_laws import recover, truths


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rates."""
    parser = argparse.ArgumentParser(prog="python -m bench.recovery")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th term")
    parser.add_argument("--noise", default="0,0.01,0.05", help="relative standard deviations")
    options = parser.parse_args(argv)
    chosen = list(truths())[:: options.every]
    lines = ["| family | terms | noise | same formula | same value |", "| --- | ---: | ---: | ---: | ---: |"]
    for noise in map(float, options.noise.split(",")):
        results = [recover(truth, noise) for truth in chosen]
        for family in ("physical", "normal form"):
            own = [r for r in results if r.truth.family == family]
            formula = 100 * float(np.mean([r.is_same_formula for r in own]))
            value = 100 * float(np.mean([r.is_same_value for r in own]))
            lines.append(f"| {family} | {len(own)} | {100 * noise:g} % | {formula:.0f} % | {value:.0f} % |")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
