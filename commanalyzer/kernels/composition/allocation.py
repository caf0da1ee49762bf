"""Thread counts: the counts of a system that make it fastest on a number of cores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition.expressions import element_time
from commanalyzer.kernels.composition.models import BlockModel, Composed, Models, TimeTable, scaled_law
from commanalyzer.kernels.composition.systems import (
    System,
    block_names,
    count_names,
    num_threads,
    with_counts,
)

# Configurations that are all tried: 10^5 take about 10 s. Twice as many take twice as long; half as many make
# systems with four or more open counts on 64 cores greedy.
MOST_CONFIGURATIONS = 20_000


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a system on a number of cores.

    Attributes:
        counts: By name.
        threads: Threads in use.
        element_time_s: Average run time per element, seconds.
        is_exhaustive: No other counts are faster; otherwise counts grew one by one while that helped.
    """

    counts: Mapping[str, int]
    threads: int
    element_time_s: float
    is_exhaustive: bool


def best_counts(
    system: System, models: Models, values: Mapping[str, float], cores: int, divided: str = "n"
) -> Counts:
    """The open counts that give the least element time; of equally fast ones those with the fewest threads.

    Args:
        system: With names for the counts to find.
        models: Of the blocks.
        values: Parameters of the models.
        cores: Threads that may run (Section III.A: not more than the hardware has).
        divided: Parameter that ``map`` and its like divide.

    Raises:
        ConfigError: If one thread for every count is too many.
    """
    names = count_names(system)
    check_threads(with_counts(system, dict.fromkeys(names, 1)), cores)

    def threads_of(counts: Sequence[int]) -> int:
        return num_threads(with_counts(system, dict(zip(names, counts, strict=True))))

    def times_of(counts: Sequence[int]) -> list[float]:
        """Of all sums, the largest first."""
        form = element_time(with_counts(system, dict(zip(names, counts, strict=True))))
        model = Composed(form, models, divided)
        return sorted((float(model.sum_at(total, values)[0]) for total in form.sums), reverse=True)

    highest = [_highest(system, name, names, cores) for name in names]
    is_exhaustive = math.prod(highest) <= MOST_CONFIGURATIONS
    if is_exhaustive:
        every = itertools.product(*(range(1, count + 1) for count in highest))
        fitting = (counts for counts in every if threads_of(counts) <= cores)
        best = min(fitting, key=lambda counts: (times_of(counts)[0], threads_of(counts)))
    else:
        best = _grown(times_of, lambda counts: threads_of(counts) <= cores, len(names))
    return Counts(dict(zip(names, best, strict=True)), threads_of(best), times_of(best)[0], is_exhaustive)


def check_threads(system: System, cores: int) -> None:
    """Refuse more threads than cores.

    Raises:
        ConfigError: If the system keeps more threads busy than there are cores.
    """
    threads = num_threads(system)
    if threads > cores:
        raise ConfigError(
            f"expected at most {cores} threads, found {threads}",
            where=str(system),
            hint="models of patterns hold while every thread has a core of its own: reduce the counts, "
            "or give more --cores",
        )


def _highest(system: System, name: str, names: Sequence[str], cores: int) -> int:
    """The largest value of one count while all others are 1."""
    counts = dict.fromkeys(names, 1)
    low, high = 1, cores
    while low < high:
        middle = (low + high + 1) // 2
        fits = num_threads(with_counts(system, {**counts, name: middle})) <= cores
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _grown(
    times_of: Callable[[Sequence[int]], list[float]], fits: Callable[[Sequence[int]], bool], num_counts: int
) -> tuple[int, ...]:
    """One more where it helps most, until none helps, then fewer where none is missed.

    Of two equally slow parts neither helps alone: what counts is the list of all times, the largest first.
    """
    best = (1,) * num_counts
    while True:
        more = [(*best[:i], count + 1, *best[i + 1 :]) for i, count in enumerate(best)]
        found = min(filter(fits, more), key=times_of, default=best)
        if times_of(found) >= times_of(best):
            break
        best = found
    time = times_of(best)[0]
    for i in range(num_counts):
        while best[i] > 1 and times_of(fewer := (*best[:i], best[i] - 1, *best[i + 1 :]))[0] <= time:
            best = fewer
    return best


def gain_of_faster_block(
    system: System, models: Models, values: Mapping[str, float], divided: str = "n", factor: float = 2.0
) -> Mapping[str, float]:
    """How many times faster the system gets if one block alone gets ``factor`` times faster, by block."""
    form = element_time(system)
    now = float(Composed(form, models, divided).at(values)[0])
    return {
        name: now
        / float(Composed(form, {**models, name: _faster(models[name], factor)}, divided).at(values)[0])
        for name in block_names(system)
        if any(use.block == name for total in form.sums for use, _ in total.terms)
    }


def _faster(model: BlockModel, factor: float) -> BlockModel:
    if isinstance(model, TimeTable):
        return TimeTable(model.parameter, model.sizes, model.times_s / factor)
    return scaled_law(model, 1 / factor)
