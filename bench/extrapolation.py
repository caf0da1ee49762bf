"""Classes and extrapolated profiles against the truth; how often noise makes models grow too fast.

    python -m bench.extrapolation [--data-sets 200] [--workloads heat2d,cg] [--limit 180]
                                  [-o workloads/EXTRAPOLATION.md]

Three parts: profiles made by known laws on grids of ranks; workloads, profiled as sequential programs and
divided by regular blocks; the example of Section 2 of the manual.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bench.extrapolation_workloads import FAR, WORKLOADS, limited
from bench.spurious_terms import DATA_SETS, study, table
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.classification.classify import Method, classify
from commanalyzer.profiles.extrapolation.data import default_setup, training_data
from commanalyzer.profiles.extrapolation.models import compared, mean_error
from commanalyzer.profiles.extrapolation.passes import train
from commanalyzer.profiles.metrics import CALLS, FUNCTIONS
from commanalyzer.profiles.values import Profile
from tests.made_profiles import grid_profile, places_of

# Metrics that Table 2 calls optional (those of OpenMP are read and written, but are no metrics here).
OPTIONAL = ("F0intOnly", "D0dreuse128", "MPIinstructions", *CALLS)
Grid = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """Runs to learn from, and one to predict.

    Attributes:
        name: For the table.
        runs: Training runs.
        places: True class of each rank of each run: dimensions with neighbours on both sides.
        target: The run to predict.
        target_places: Its true classes.
    """

    name: str
    runs: tuple[Profile, ...]
    places: tuple[list[int], ...]
    target: Profile
    target_places: list[int]


def made_cases() -> list[Case]:
    """Grids of ranks in one, two and three dimensions, p <= 27, exact and with 1 % of noise."""
    grids: dict[str, tuple[list[Grid], list[int], Grid, int]] = {
        "1-D": ([(2,), (3,), (4,), (6,), (8,), (12,), (16,), (24,), (27,)], [1728, 3456, 6912], (64,), 55296),
        "2-D": (
            [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4), (5, 5)], [240, 480, 960], (8, 8), 2715,
        ),
        "3-D": ([(2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)], [48, 96, 144], (4, 4, 4), 288),
    }  # fmt: skip
    found = []
    for name, (training, sizes, far, size) in grids.items():
        for noise in (0.0, 0.01):
            every = [(grid, n) for grid in training for n in sizes]
            runs = tuple(grid_profile(g, n, noise=noise, seed=i) for i, (g, n) in enumerate(every))
            found.append(
                Case(
                    f"made, {name}, noise {100 * noise:.0f} %",
                    runs,
                    tuple(places_of(g) for g, _ in every),
                    grid_profile(far, size),
                    places_of(far),
                )
            )
    return found


def workload_cases(names: Collection[str], limit: float) -> tuple[list[Case], dict[str, str]]:
    """Cases of the workloads with these names; why there is none of the others, by name."""
    found, failed = list[Case](), dict[str, str]()
    for own in WORKLOADS:
        if own.name not in names:
            continue
        try:
            with limited(limit):
                runs = tuple(run for size in own.sizes for run in own.profiles(size, own.nodes))
                (target,) = own.profiles(own.far, (FAR,))
        except (CommAnalyzerError, TimeoutError) as error:
            failed[own.name] = str(error)
        else:
            places = tuple(own.places(len(run.ranks)) for run in runs)
            found.append(Case(own.name, runs, places, target, own.places(FAR)))
    return found, failed


def class_table(cases: Sequence[Case]) -> str:
    """Ranks whose class is right, by case and method: classes are named by the true class of most members."""
    lines = [
        "| case | runs | method | classes | true | ranks in their class |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case in cases:
        true = [p for own in case.places for p in own]
        for method in get_args(Method):
            try:
                found = classify(case.runs, method)
            except CommAnalyzerError as error:
                lines.append(f"| {case.name} | {len(case.runs)} | {method} | none: {error.message} | | |")
                continue
            given = [c for run in found.runs for c in run.classes.tolist()]
            pairs = list(zip(given, true, strict=True))
            right = 0
            for c in set(given):
                own = [t for g, t in pairs if g == c]
                right += max(own.count(t) for t in set(own))
            lines.append(
                f"| {case.name} | {len(case.runs)} | {method} | {len(found.names)} | {len(set(true))} "
                f"| {100 * right / len(pairs):.1f} % |"
            )
    return "\n".join(lines) + "\n"


def error_table(cases: Sequence[Case], failed: Mapping[str, str]) -> str:
    """Errors at the target, by case: mean and worst over classes, and which metrics miss 5 % (or 0.05)."""
    lines = [
        "| case | learned from | predicted | class | runs | LSys | mean of metrics | distances | missed |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for case in cases:
        try:
            lines += _errors(case)
        except CommAnalyzerError as error:
            lines.append(f"{_beginning(case)} | | | | | | {error.message} |")
    lines += [f"| {name} | | | | | | | | {why} |" for name, why in failed.items()]
    return "\n".join(lines) + "\n"


def _beginning(case: Case) -> str:
    """Columns that all rows of a case have in common."""
    ranges = [
        f"{name} {min(values):g} to {max(values):g}"
        for name in case.target.scale
        if (values := [run.scale[name] for run in case.runs])
    ]
    point = ", ".join(f"{name} {value:g}" for name, value in case.target.scale.items())
    return f"| {case.name} | {', '.join(ranges)} | {point}"


def _errors(case: Case) -> list[str]:
    """Rows of one case; the classes of the pattern, which are the true ones."""
    classes = classify(case.runs, "pattern")
    data = training_data(case.runs, classes)
    models = train(data, classes, default_setup(data.metrics))
    far = training_data([case.target], classify([case.target], "pattern"))
    rows = []
    for own in models.classes:
        true = next((c for c in far.classes if c.name == own.name), None)
        number = next(len(c.runs) for c in data.classes if c.name == own.name)
        if true is None:
            rows.append(f"{_beginning(case)} | {own.name} | {number} | | | | not at the target |")
            continue
        errors = {}
        for metric in far.metrics:
            if metric in own.models and metric not in OPTIONAL:
                observed, predicted = compared(models, own, metric, true)
                errors[metric] = mean_error(observed, predicted, metric in FUNCTIONS)
        plain = [e for m, e in errors.items() if m not in FUNCTIONS]
        reuse = [e for m, e in errors.items() if m in FUNCTIONS]
        missed = ", ".join(f"{m} {100 * e:.1f} %" for m, e in errors.items() if e > 0.05)
        rows.append(
            f"{_beginning(case)} | {own.name} | {number} | {100 * errors['LSys']:.2f} % "
            f"| {100 * sum(plain) / len(plain):.2f} % | {max(reuse, default=0.0):.3f} | {missed or 'none'} |"
        )
    known = {own.name for own in models.classes}
    rows += [
        f"{_beginning(case)} | {c.name} | 0 | | | | never seen |" for c in far.classes if c.name not in known
    ]
    return rows


def document(data_sets: int, workloads: Collection[str], limit: float, command: str) -> str:
    """The page."""
    measured, failed = workload_cases(workloads, limit)
    cases = [*made_cases(), *measured]
    return _PAGE.format(
        classes=class_table(cases),
        errors=error_table(cases, failed),
        rates=table(study(data_sets)),
        data_sets=data_sets,
        command=command,
        limit=limit,
    )


_PAGE = """\
# Classes and extrapolated profiles against the truth

Made by `{command}`. *Made* profiles follow known laws (`tests/made_profiles.py`);
workloads are profiled as sequential programs, and their ranks are those of a division into regular blocks.
What of a workload is not finished within {limit:g} s is a row that says so.

## Classes

Runs have p = 2 ... 27 ranks and up to three sizes. A rank is in its class if most ranks of its class have the
same true class (corner, edge, face, interior; end, inner).

{classes}
With noise, `clusters` sees ranks that differ by noise as much as by their place; `pattern` does not look at
amounts.

## Extrapolation

To p = 64, and 8 times the cells of the largest run where the time suffices. Mean relative errors of all
required metrics; functions of reuse distances by the mean absolute difference (*distances*). *Runs*: training
runs that have the class. A class in fewer runs than another has the terms of the class that is in the most.
Rules of models were chosen while looking at the other cases, but not at adi and spmv;
that of H0branch at adi, too.

{errors}
## Terms that noise makes grow too fast

The example of Section 2: y = 100 + 10 x, ten values of x from 2 to 32, {data_sets} data sets per noise. A
leading term is wrong if it grows faster or slower than x; errors are those at 16 times the largest x.

{rates}"""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=DATA_SETS)
    parser.add_argument(
        "--workloads", default=",".join(w.name for w in WORKLOADS), help="none for made ones only"
    )
    parser.add_argument("--limit", type=float, default=180.0, help="seconds per workload")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(argv)
    words = sys.argv[1:] if argv is None else argv
    command = " ".join(("python -m bench.extrapolation", *words))
    text = document(options.data_sets, options.workloads.split(","), options.limit, command)
    if options.output is not None:
        write_text(options.output, text, force=True)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
