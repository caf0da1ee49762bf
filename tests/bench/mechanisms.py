"""What each mechanism of recording gains: CPU time without it over that with all of them.

    python -m tests.bench.mechanisms [--only heat2d,life] [--repeat N] [--names renamings,probes]

Workloads run for about 0.6 s, foreign programs as in their short runs. With and without take turns. A
mechanism
that leaves the instrumented program as it is, and is none of the recorder's, is not measured on it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from math import exp, log

from commanalyzer.heap import keep_freed_memory
from commanalyzer.instrument.mechanisms import EVERY, Mechanisms, names, without
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.progress import SilentProgress
from commanalyzer.record import compile_request, record
from commanalyzer.request import AnalysisRequest
from tests.bench.cases import CASES, request_of
from tests.bench.foreign.cases import CASES as FOREIGN

_LONGER = 5.0  # times the short run: about 0.6 s in the mean
_FOREIGN = ("blocked_tiles", "particles", "smith_waterman", "life", "neighbours")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print, one line per program and mechanism, then means."""
    parser = argparse.ArgumentParser("python -m tests.bench.mechanisms", description=__doc__)
    parser.add_argument("--only", default="", help="comma-separated programs")
    parser.add_argument("--names", default=",".join(names()), help="comma-separated mechanisms")
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args(argv)
    wanted = set(options.only.split(",")) if options.only else set()
    ratios: dict[str, list[float]] = {name: [] for name in options.names.split(",")}
    count = 0
    for name, request in _programs():
        if wanted and name not in wanted:
            continue
        count += 1
        for mechanism, ratio in _measured(request, list(ratios), options.repeat, name):
            ratios[mechanism].append(ratio)
    for mechanism, found in ratios.items():
        mean = exp(sum(map(log, found)) / max(count, 1))
        _say(f"{mechanism}: {mean:.3f} in the geometric mean of {count}, {len(found)} of them measured")
    return 0


def _programs() -> Iterator[tuple[str, AnalysisRequest]]:
    for case in CASES:
        yield " ".join((case.name, *("extra",) * case.is_extra)), request_of(case.name, case.command(_LONGER))
    for foreign in FOREIGN:
        if foreign.name in _FOREIGN:
            yield foreign.name, foreign.request(is_long=False)


def _measured(
    request: AnalysisRequest, mechanisms: Sequence[str], repeat: int, program: str
) -> Iterator[tuple[str, float]]:
    """Ratio of CPU times per mechanism that may matter; 1 for the others."""
    usual = _instrumented(request, EVERY)
    concerned = {m: off for m in mechanisms if _instrumented(request, off := without([m])) != usual}
    if "early_end" in mechanisms:
        concerned["early_end"] = without(["early_end"])
    seconds: dict[str, list[tuple[float, float]]] = {m: [] for m in ("", *concerned)}
    for _ in range(repeat):
        for mechanism in seconds:
            run = record(request, SilentProgress(), mechanisms=concerned.get(mechanism, EVERY)).recording
            seconds[mechanism].append((run.instrumented_s, run.native_s or 0.0))
    with_all = statistics.median(s for s, _ in seconds[""])
    plain = statistics.median(s for found in seconds.values() for _, s in found)
    for mechanism in concerned:
        ratio = statistics.median(s for s, _ in seconds[mechanism]) / with_all
        _say(f"{program}: {mechanism} {ratio:.2f} ({with_all / plain:.2f} times {plain:.2f} s with all)")
        yield mechanism, ratio


def _instrumented(request: AnalysisRequest, mechanisms: Mechanisms) -> str:
    frontend, module = compile_request(request)
    options = PlanOptions(request.control_flows, frontend.region_functions, mechanisms=mechanisms)
    return rewrite(module, plan_module(module, options))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    keep_freed_memory()  # as the commands do
    raise SystemExit(main())
