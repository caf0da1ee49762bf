"""Runs cases, several at a time if wanted; a case that fails does not end the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeAlias, TypeVar

from commanalyzer.checking.validation.cases import Workload
from commanalyzer.foundation.errors import CommAnalyzerError
from commanalyzer.foundation.progress import Progress

T = TypeVar("T")
Case: TypeAlias = tuple[Workload, tuple[str, ...]]  # with its arguments


@dataclass(frozen=True, slots=True)
class Failure:
    """Runs that could not be compared, and why."""

    workload: Workload
    arguments: tuple[str, ...]
    reason: str


def each_case(
    run: Callable[[Case], Sequence[T]], cases: Sequence[Case], name: str, progress: Progress, jobs: int
) -> Iterator[T | Failure]:
    """Results of ``run`` in the order of ``cases``, as they are ready.

    Args:
        run: What to do; can be pickled if ``jobs`` is more than one.
        cases: Input.
        name: Of the stage.
        progress: Receives one step per case.
        jobs: Processes that run cases side by side.
    """
    progress.stage(f"{name}: {len(cases)} cases", len(cases))
    guarded = partial(_guarded, run)
    if jobs == 1:
        for case in cases:
            yield from guarded(case)
            progress.advance()
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for results in pool.map(guarded, cases):
            yield from results
            progress.advance()


def _guarded(run: Callable[[Case], Sequence[T]], case: Case) -> list[T | Failure]:
    try:
        return list(run(case))
    except CommAnalyzerError as error:
        return [Failure(*case, str(error))]
