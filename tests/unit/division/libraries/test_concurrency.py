"""Computations side by side: order, errors, interrupts, and calls in other processes."""

import ctypes
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from commanalyzer.division.budget import Limit
from commanalyzer.division.decompose import CountOptions, affordable_jobs, decompose, tiled_jobs
from commanalyzer.division.libraries import mtkahypar
from commanalyzer.division.libraries.concurrency import (
    LEAST_SECONDS,
    CutShortError,
    LibraryCaller,
    StoppedError,
    ending_early,
    side_by_side,
)
from commanalyzer.division.libraries.metis import partition
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.graph.storage.store import GraphStore, LargeGraph
from commanalyzer.request import Coarsen
from tests.graphs import build, folded, grid
from tests.unit.division.coarsening.test_tiles import jacobi
from tests.unit.division.libraries.test_metis import affinity


@pytest.fixture
def helpers() -> Iterator[LibraryCaller]:
    """Helpers for problems of every size."""
    found = LibraryCaller(3, least_seconds=0.0)
    yield found
    found.close()


def test_results_come_in_the_order_of_the_items() -> None:
    second_began = threading.Event()

    def work(item: int) -> int:
        second_began.set() if item == 2 else second_began.wait(600)
        return item * item

    assert side_by_side(work, (1, 2, 3), LibraryCaller(2)) == [1, 4, 9]


def test_the_first_error_is_raised_and_ends_the_others(helpers: LibraryCaller) -> None:
    def work(item: int) -> None:
        if item == 2:
            raise PartitionError("second")
        while True:
            helpers.check()
            time.sleep(0.001)
            if item == 1:
                raise PartitionError("first")

    with pytest.raises(PartitionError, match="first"):
        side_by_side(work, (1, 2, 3), helpers)
    with pytest.raises(StoppedError):
        helpers.check()


def test_an_interrupt_ends_calls_in_other_processes_at_once(helpers: LibraryCaller) -> None:
    began = threading.Event()

    def work(item: int) -> None:
        if item == 1:
            began.set()
            helpers.call(time.sleep, Limit(), 600)
        began.wait(600)
        helpers.call(time.sleep, Limit(), 0)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, (1, 2), helpers)


def test_errors_of_other_processes_are_told(helpers: LibraryCaller) -> None:
    assert helpers.call(operator.add, Limit(), 2, 3) == 5
    with pytest.raises(RuntimeError, match="division by zero"):
        helpers.call(operator.truediv, Limit(), 1, 0)
    with pytest.raises(MemoryError):
        helpers.call(bytearray, Limit(), 1 << 62)
    with pytest.raises(PartitionError, match="process ended: exit status 7"):
        helpers.call(os._exit, Limit(), 7)
    assert helpers.call(os.getpid, Limit()) != os.getpid()
    assert helpers.peak_bytes > 1_000_000


def _busy(seconds: float) -> float:
    while time.process_time() < seconds:
        pass
    return seconds


def test_calls_that_take_too_long_are_ended(helpers: LibraryCaller) -> None:
    with pytest.raises(CutShortError, match="ended after 1 s of CPU time"):
        helpers.call(_busy, Limit(1.0, 1.0), 600.0)
    assert helpers.call(_busy, Limit(1.0, 60.0), 0.01) == 0.01  # in another process


def _hold() -> None:
    """Keep Python's lock, as libraries do."""
    os.write(2, b"held")
    ctypes.PyDLL(None).sleep(600)


def test_a_call_ends_with_the_process_that_asks_even_if_that_is_killed() -> None:
    code = (
        f"from {__name__} import *; from {__name__} import _hold; LibraryCaller(1, 0.0).call(_hold, Limit())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stderr is not None
        assert process.stderr.read(4) == b"held"
        process.kill()
        assert process.communicate(timeout=60)[1] == b""  # nothing else holds the pipe


def test_an_interrupt_stops_dividing_and_a_second_one_everything(helpers: LibraryCaller) -> None:
    with ending_early(helpers, None):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(StoppedError, match="the interrupt"):
            helpers.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_the_end_of_the_time_ends_calls_in_other_processes(helpers: LibraryCaller) -> None:
    with ending_early(helpers, 0.5), pytest.raises(StoppedError, match=r"time limit of 0\.5 s"):
        helpers.call(time.sleep, Limit(), 600)


def test_small_problems_are_solved_here() -> None:
    assert LibraryCaller(least_seconds=10).call(os.getpid, Limit(9)) == os.getpid()


def test_partitioners_give_the_same_in_another_process(helpers: LibraryCaller) -> None:
    adjacency = affinity(grid(24))
    for seed in (1, 2):
        here = partition(adjacency, 4, seed=seed)
        there = partition(adjacency, 4, seed=seed, caller=helpers)
        np.testing.assert_array_equal(here, there)
    path = np.arange(0, 40, 2), np.repeat(np.arange(20), 2)[1:-1]
    arguments = 4, *path, np.ones(20, np.int64), np.ones(19, np.int64), 1, 0.03
    ours, theirs = mtkahypar.divide(*arguments), helpers.call(mtkahypar.divide, Limit(), *arguments)
    np.testing.assert_array_equal(ours, theirs)


def test_pieces_are_done_on_free_cores_and_the_rest_here() -> None:
    both = threading.Barrier(2, timeout=600)
    here, threads = threading.get_ident(), []

    def work(item: int) -> int:
        threads.append(threading.get_ident())
        if item < 2:
            both.wait()
        return item * item

    helpers = LibraryCaller(cores=2)
    with helpers.core():
        assert helpers.each(work, iter((0, 1))) == [0, 1]  # at the same time, or the barrier breaks
        assert len(set(threads)) == 2
        assert here in threads
        with helpers.core():
            assert helpers.each(work, (2, 3, 4)) == [4, 9, 16]
    assert threads[2:] == [here] * 3


@pytest.mark.parametrize("cores", [1, 2])
def test_both_are_done_side_by_side_if_a_core_is_free(cores: int) -> None:
    caller = LibraryCaller(cores, LEAST_SECONDS)
    here = threading.get_ident()
    for _ in range(2):  # an error leaves all cores free
        one, other = caller.both(threading.get_ident, threading.get_ident)
        assert (one, other == here) == (here, cores == 1)
        with pytest.raises(ZeroDivisionError):
            caller.both(lambda: here, lambda: 1 // 0)


def test_both_are_done_here_while_cores_are_busy() -> None:
    caller, here = LibraryCaller(2, LEAST_SECONDS), threading.get_ident()
    with caller.core(), caller.core():
        assert caller.both(threading.get_ident, threading.get_ident) == (here, here)


def test_cores_that_are_left_are_not_used() -> None:
    here, threads = threading.get_ident(), []
    helpers = LibraryCaller(cores=3)
    helpers.leave(2)
    with helpers.core():
        helpers.each(lambda _: threads.append(threading.get_ident()), (1, 2))
    assert threads == [here] * 2


def test_an_error_in_a_piece_leaves_all_cores_free() -> None:
    helpers = LibraryCaller(cores=2)
    with pytest.raises(ZeroDivisionError):
        helpers.each(lambda item: 1 // item, (1, 0, 1, 0))
    both = threading.Barrier(2, timeout=600)
    helpers.each(lambda _: both.wait(), (1, 2))
    assert helpers.call(operator.add, Limit(), 2, 3) == 5


@pytest.mark.parametrize("coarsen", ["never", 36])
def test_what_is_stopped_at_once_still_gives_a_balanced_division(coarsen: Coarsen) -> None:
    options = CountOptions((4,), check=True, coarsen=coarsen, time_limit_s=1e-9, jobs=2)
    counted = decompose(GraphStore.of(jacobi(12)), 288, options, SilentProgress())
    (best,) = [d for d in counted.decompositions if d.best]
    # slabs of all values, or what a method found before the clock was looked at
    assert best.imbalance <= 1.03
    assert any("dividing ended at the time limit" in warning for warning in counted.warnings)


@pytest.mark.parametrize("nodes", [(2, 3, 4), (4,)])
@pytest.mark.parametrize("coarsen", ["never", 36])
def test_cores_change_nothing(coarsen: Coarsen, nodes: tuple[int, ...]) -> None:
    store = GraphStore.of(jacobi(12))

    def found(jobs: int) -> list[tuple[int, str, int, bool, bytes]]:
        options = CountOptions(nodes, check=True, coarsen=coarsen, jobs=jobs)
        counted = decompose(store, 288, options, SilentProgress())
        return [(d.nodes, d.method, d.comm_bytes, d.best, d.part.tobytes()) for d in counted.decompositions]

    assert found(3) == found(1)


@pytest.mark.parametrize("is_tiled", [False, True])
def test_jobs_are_as_many_as_memory_has_room_for(is_tiled: bool) -> None:
    graph = LargeGraph(GraphStore.of(jacobi(12)))
    limits = [1 << n for n in range(34)]
    jobs = [affordable_jobs(graph, limit, 4, is_tiled=is_tiled) for limit in limits]
    assert jobs == sorted(jobs)
    assert (jobs[0], jobs[-1]) == (1, affordable_jobs(graph, None, 4, is_tiled=is_tiled)) == (1, 4)
    lean, rich = (
        sum(affordable_jobs(graph, n, 4, is_tiled=True, fold_bytes=f) for n in limits) for f in (1 << 30, 0)
    )
    assert lean < rich  # what sums need


def test_more_divisions_at_a_time_where_few_rows_fold_between_coarse_vertices() -> None:
    graph = build(4, [folded(sink, [1], [2]) for sink in (0, 3)] * 50)
    limit = (1 << 28) + 66 * 4 + 2 * 85 * 4
    assert tiled_jobs(graph, limit, 2, np.zeros(4, np.int32)) == 2
    assert tiled_jobs(graph, limit, 2, np.arange(4, dtype=np.int32)) == 1
    assert tiled_jobs(graph, None, 2, np.arange(4, dtype=np.int32)) == 2
