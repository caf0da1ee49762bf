"""What an analysis itself costs: CPU time of its stages, child processes included, and its largest memory.

CPU time, because points run beside each other; the program's own runs are in the recording, not here.
"""

from __future__ import annotations

import math
import resource
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.result.results import AnalysisResult

_COMPILING = ("compile", "instrument")
_GRAPH = "build the value graph"
_COUNTING = "partition and count"
_STEPS = 2  # per (nodes, model): candidates found and counted, then refined ones


@dataclass(frozen=True, slots=True)
class Spent:
    """Time that something took: on the clock and of processors, seconds."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


class StageClock:
    """Progress that takes the time of stages and of the steps of each."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, Spent] = defaultdict(Spent)
        self._steps: defaultdict[str, list[Spent]] = defaultdict(list)
        self._name = ""
        self._last = _now()

    def stage(self, name: str, steps: int = 1) -> None:
        """End the running stage, begin ``name``."""
        del steps
        self._spend()
        self._name = name

    def advance(self, steps: int = 1) -> None:
        """A step of the running stage is done."""
        del steps
        self._steps[self._name].append(self._spend())

    def finish(self) -> None:
        """End the last stage."""
        self._spend()

    def cpu_s(self, *names: str) -> float:
        """CPU time of stages, seconds."""
        return sum(self._spent[name].cpu_s for name in names)

    def steps(self, name: str) -> tuple[Spent, ...]:
        """Time of the steps of a stage."""
        return tuple(self._steps[name])

    def _spend(self) -> Spent:
        now = _now()
        spent, self._last = now - self._last, now
        self._spent[self._name] += spent
        return spent


def _now() -> Spent:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages))


def stage_costs(clock: StageClock) -> dict[str, float]:
    """``compile_s`` and ``graph_s``."""
    return {"compile_s": clock.cpu_s(*_COMPILING), "graph_s": clock.cpu_s(_GRAPH)}


def division_costs(result: AnalysisResult, clock: StageClock) -> dict[tuple[int, str], tuple[float, float]]:
    """(``partition_s``, ``count_s``) of every (nodes, model): finding candidates, and the rest.

    The stage goes through the models one after the other, each for all node counts. The CPU time of a step is
    split as its wall time is, of which each decomposition knows its own part.
    """
    pairs = [(nodes, model) for model in result.models for nodes in result.nodes]
    steps = clock.steps(_COUNTING)
    if len(steps) != _STEPS * len(pairs):
        return dict.fromkeys(pairs, (math.nan, math.nan))
    found_s: defaultdict[tuple[int, str], float] = defaultdict(float)
    for item in result.decompositions:
        found_s[item.nodes, item.model] += item.seconds
    costs = {}
    for index, pair in enumerate(pairs):
        spent = sum(steps[_STEPS * index : _STEPS * (index + 1)], Spent())
        share = min(1.0, found_s[pair] / spent.wall_s) if spent.wall_s > 0 else 0.0
        costs[pair] = (share * spent.cpu_s, (1.0 - share) * spent.cpu_s)
    return costs


def forget_peak_memory() -> None:
    """Let the peak start anew that is read afterwards: a worker analyses one point after the other."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # not allowed here: the peak is then that of the process
