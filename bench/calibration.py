"""How often the 95 % bands of laws hold the truth, at 2, 8 and 64 times the sizes that were fitted.

    python -m bench.calibration [-o workloads/CALIBRATION.md]

Sixty known laws of the size n, half of them also of the node count p: polynomials with a boundary that n
counts, logarithms, p^(1/2) and p^(2/3), cuts of the most square grid of p (steps at its factors). Each is
fitted to whole numbers, as counts are (exact), with 2 % noise, with 2 % noise and outliers of 30 % in every
twelfth point, and with 2 % noise at four values of each parameter (few points). Width: upper / lower end.
Of the three seeds the first one was looked at when the bands were made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.laws.terms import Floats, of_grids

FACTORS = (2, 8, 64)
KINDS = ("exact", "2 % noise", "outliers", "few points")
SIZES = np.array([16.0, 24.0, 32.0, 48.0, 64.0, 96.0])
NODES = np.array([4.0, 6.0, 8.0, 12.0, 16.0, 24.0])
_FEW = 4
SEEDS = (20260202, 5, 17)
Function = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True)
class Truth:
    """A known law.

    Attributes:
        family: For the table.
        has_nodes: It depends on p.
        at: n and p to values, float64[N] each.
    """

    family: str
    has_nodes: bool
    at: Function


def truths() -> Iterator[Truth]:
    """Sixty of them."""
    for shift, power, rest in product((1, 2, 3), (1, 2, 3), (0, 5)):
        yield Truth("shifted powers", False, lambda n, p, c=shift, k=power, r=rest: 60 * (n - c) ** k + r * n)
    for power, scale in product((0, 1, 2), (10, 100)):
        yield Truth("logarithms", False, lambda n, p, k=power, s=scale: s * n**k * np.log2(n) + 7 * n)
    for a, b in ((1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (4, 6)):
        yield Truth("products of shifts", False, lambda n, p, a=a, b=b: 12 * (n - a) * (n - b))
    for exponent, power, rise in product((1 / 2, 2 / 3), (1, 2, 3), (0.0, 1.0)):
        yield Truth("roots of p", True, lambda n, p, e=exponent, k=power, r=rise: 80 * n**k * (p**e - r))
    for shift, dims, more in product((0, 1, 2), (2, 3), (0, 8)):
        yield Truth(
            "grids of p",
            True,
            lambda n, p, c=shift, d=dims, m=more: (
                80 * (n - c) ** (d - 1) * of_grids("grid", p, d) + m * (p - 1)
            ),
        )
    for power, more in product((1, 2, 3), (0, 40)):
        yield Truth("trees", True, lambda n, p, k=power, m=more: 16 * n**k * np.log2(p) + m * (p - 1))


def measured(truth: Truth, kind: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Points float64[N, K] (n, then p) and values float64[N]."""
    sizes, nodes = (SIZES[:_FEW], NODES[:_FEW]) if kind == "few points" else (SIZES, NODES)
    n, p = (v.ravel() for v in np.meshgrid(sizes, nodes if truth.has_nodes else [1.0]))
    y = np.rint(truth.at(n, p))
    if kind != "exact":
        y = y * (1 + 0.02 * rng.standard_normal(len(y)))
    if kind == "outliers":
        hit = rng.choice(len(y), max(1, len(y) // 12), replace=False)
        y[hit] *= 1 + 0.3 * rng.choice((-1.0, 1.0), len(hit))
    return (np.stack((n, p), axis=1) if truth.has_nodes else n[:, None]), y


@dataclass(frozen=True, slots=True)
class Case:
    """One band: is there one, does it hold the truth, and how wide is it (upper over lower end)."""

    seed: int
    family: str
    kind: str
    factor: int
    has_band: bool
    holds: bool
    width: float


def cases(seed: int) -> Iterator[Case]:
    """All laws, kinds and sizes."""
    rng = np.random.default_rng(seed)
    for truth, kind in product(tuple(truths()), KINDS):
        x, y = measured(truth, kind, rng)
        law = fit_law(x, ("n", "p")[: x.shape[1]], y)
        for factor in FACTORS:
            at = {"n": factor * float(x[:, 0].max()), "p": factor * float(x[:, -1].max())}
            true = np.rint(truth.at(np.array([at["n"]]), np.array([at["p"]])))[0]
            low, high = (float(end[0]) for end in law.band(at))
            slack = 1e-9 * true
            known = bool(np.isfinite(high))
            width = high / low if low > 0 else np.inf
            yield Case(
                seed, truth.family, kind, factor, known, known and low - slack <= true <= high + slack, width
            )


def table(found: list[Case]) -> str:
    """Shares of bands that hold the truth, by kind of data, and by seed or family of laws."""
    lines = ["# Bands of scaling laws", "", __doc__.split("\n\n")[2].replace("\n", " "), ""]
    lines += [
        "| data | laws | " + " | ".join(f"{f} x: held, median width" for f in FACTORS) + " | without a band |"
    ]
    lines += ["| --- | --- | " + "--- | " * (len(FACTORS) + 1)]
    groups = [(kind, f"all, seed {seed}") for kind in KINDS for seed in SEEDS] + [
        (kind, family) for kind in KINDS for family in dict.fromkeys(c.family for c in found)
    ]
    for kind, family in groups:
        own = [c for c in found if c.kind == kind and family in (f"all, seed {c.seed}", c.family)]
        cells = [_cell([c for c in own if c.factor == f and c.has_band]) for f in FACTORS]
        without = sum(not c.has_band for c in own) / len(own)
        lines.append(f"| {kind} | {family} | {' | '.join(cells)} | {without:.0%} |")
    return "\n".join(lines) + "\n\nMade by `python -m bench.calibration -o workloads/CALIBRATION.md`.\n"


def _cell(own: list[Case]) -> str:
    if not own:
        return "-"
    return f"{sum(c.holds for c in own) / len(own):.0%}, {np.median([c.width for c in own]):.3g}"


def main() -> None:
    """Fit, count, write."""
    parser = argparse.ArgumentParser(description="Calibration of the bands of laws.")
    parser.add_argument("-o", "--output", type=Path)
    text = table([case for seed in SEEDS for case in cases(seed)])
    output = parser.parse_args().output
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
