"""Predictions of large problems from small ones, against counted bytes of MPI programs.

    python -m bench.scaling [--only heat2d,cg] [--extra-p COMMAND] [--data FILE] [-o FILE]

Run from the checkout. For every workload a law of the bytes is fitted to problems at least 64 times smaller
in volume than the one that it must predict. Small runs are analysed (the sequential program, at the blocks
of its MPI counterpart), the large ones are counted (the MPI program). ``--data`` keeps what was collected,
so that the laws can be fitted again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.run import versions
from bench.scaling_cases import CASES, ScalingCase, node_counts, workload_of
from bench.scaling_data import CaseData, collect, load_data, save_data
from bench.scaling_text import document
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.files import write_text
from commanalyzer.scaling.laws.document import second_opinion
from commanalyzer.scaling.laws.fit import fit_law
from commanalyzer.scaling.laws.law import Law

NAMES = ("p", "n")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case with its laws.

    Attributes:
        case: What was run.
        data: Its bytes.
        law: Of this package.
        extrap: Extra-P's; ``None`` without Extra-P.
    """

    case: ScalingCase
    data: CaseData
    law: Law
    extrap: Law | None

    def errors(self, law: Law) -> NDArray[np.float64]:
        """Relative error of the law at each target."""
        targets = np.array(self.data.targets, dtype=np.float64)
        predicted = law.predict(dict(zip(NAMES, targets.T, strict=True)))
        return np.asarray(predicted / np.array(self.data.counted_bytes) - 1.0)


def result_of(case: ScalingCase, data: CaseData, extra_p: str) -> CaseResult:
    """Fit both laws to the data of a case, parts of too few points left out."""
    workload = workload_of(case)
    kept = [p in node_counts(case, workload, n) for p, n in data.points]
    x = np.array(data.points, dtype=np.float64)[kept]
    y = np.array(data.comm_bytes, dtype=np.float64)[kept]
    law = fit_law(x, NAMES, y, metric="comm_bytes")
    other = second_opinion(extra_p, x, NAMES, {"comm_bytes": y})[0] if extra_p else None
    return CaseResult(case, data, law, other)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Collect, fit, write; returns the exit code: 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling")
    parser.add_argument("--only", default="", help="workloads, separated by commas")
    parser.add_argument("--extra-p", default="", help="how to start Extra-P, for its column")
    parser.add_argument("--data", type=Path, help="file that keeps what was collected")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file to write")
    options = parser.parse_args(argv)
    wanted = set(filter(None, options.only.split(",")))
    cases = [case for case in CASES if not wanted or case.name in wanted]
    known = load_data(options.data) if options.data else {}
    results: list[CaseResult] = []
    failed: list[str] = []
    for case in cases:  # one step per case
        try:
            data = known.get(case.title) or collect(case, _say)
            known[case.title] = data
            results.append(result_of(case, data, options.extra_p))
        except CommAnalyzerError as error:
            failed.append(f"{case.title}: {error}")
        if options.data:
            save_data(list(known.values()), options.data)
    text = document(results, failed, versions())
    if options.output:
        write_text(options.output, text, force=True)
    else:
        sys.stdout.write(text)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
