"""What each mechanism of recording gains: CPU time without it over that with all of them.

    python -m bench.mechanisms [--only heat2d,life] [--repeat N] [--names inspectors,outcomes]

CPU time of one recording of a whole run, in which private temporaries are not told apart. Workloads run for
about 0.6 s, foreign programs as in their short runs; with and without take turns. A mechanism that leaves the
instrumented program as it is was not used in it. `--only` measures some: all take long.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from math import exp, log
from pathlib import Path

from bench.cases import CASES, request_of
from bench.foreign.cases import CASES as FOREIGN
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.abi import EVERY, Mechanisms
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.record import compile_request
from commanalyzer.recording.runtime import ProgramRuns, build_instrumented, build_native
from commanalyzer.request import AnalysisRequest

NAMES = tuple(f.name for f in fields(Mechanisms))
_LONGER = 5.0  # times the short run: about 0.6 s in the mean


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print, one line per program and mechanism, then means."""
    parser = argparse.ArgumentParser("python -m bench.mechanisms", description=__doc__)
    parser.add_argument("--only", default="", help="comma-separated programs")
    parser.add_argument("--names", default=",".join(NAMES), help="comma-separated mechanisms")
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


def without(switched_off: Iterable[str]) -> Mechanisms:
    """All mechanisms but those; ConfigError if there is no such mechanism."""
    wanted = dict.fromkeys(switched_off, False)
    for name in wanted.keys() - set(NAMES):
        raise ConfigError(f"no mechanism is called '{name}'", hint="one of " + ", ".join(NAMES))
    return replace(EVERY, **wanted)


def _programs() -> Iterator[tuple[str, AnalysisRequest]]:
    for case in CASES:
        if not case.is_extra:
            yield case.name, request_of(case.name, case.command(_LONGER))
    for foreign in FOREIGN:
        yield foreign.name, foreign.request(is_long=False)


def _measured(
    request: AnalysisRequest, mechanisms: Sequence[str], repeat: int, program: str
) -> Iterator[tuple[str, float]]:
    """Ratio of CPU times per mechanism that may matter; those of the recorder always may."""
    frontend, module = compile_request(request)
    texts = {name: _instrumented(module, without([name] if name else ())) for name in ("", *mechanisms)}
    concerned = {name: text for name, text in texts.items() if not name or text != texts[""]}
    programs = {name: build_instrumented(text, frontend) for name, text in concerned.items()}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    with scratch_directory() as folder:
        runs, trace = ProgramRuns.of(request, Path(folder)), Path(folder) / "trace"
        plain = runs.plain(build_native(frontend)).cpu_s
        for _ in range(repeat):
            for name, built in programs.items():
                seconds[name].append(runs.recorded(built, trace).cpu_s)
                trace.unlink()
    with_all = statistics.median(seconds[""])
    _say(f"{program}: {plain:.2f} s plain, {with_all / plain:.2f} times that recorded")
    for name in (name for name in concerned if name):
        ratio = statistics.median(seconds[name]) / with_all
        _say(f"{program}: without {name} {ratio:.2f}")
        yield name, ratio


def _instrumented(module: Module, mechanisms: Mechanisms) -> str:
    return rewrite(module, plan_module(module, PlanOptions(mechanisms=mechanisms)))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
