import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanalyzer.foundation.errors import PartitionError, RuntimeBuildError
from commanalyzer.scaling.sweep.executors import Engine, executor_engine
from commanalyzer.scaling.sweep.points import PointSpec, grid, parse_axis
from commanalyzer.scaling.sweep.run import Drive, SweepStatus, fit_power_law, log_sizes, needs_of, with_limit
from commanalyzer.scaling.sweep.store import PointRecord, SweepDirectory
from tests.unit.scaling.sweep.records import record, spec

Task = Callable[[PointSpec], PointRecord]


class Desk:
    """Runs sweeps over n with a task of the test; remembers which points were started and shown."""

    def __init__(self, folder: Path) -> None:
        self.directory = SweepDirectory(folder / "out")
        self.directory.create()
        self.started: list[int] = []
        self.seen: list[SweepStatus] = []

    def run(
        self,
        sizes: list[int],
        task: Task,
        *,
        slots: int = 1,
        budget_bytes: int | None = None,
        known: dict[int, PointRecord] | None = None,
        start: Callable[[], Executor] | None = None,
    ) -> dict[int, PointRecord]:
        def noted(point: PointSpec) -> PointRecord:
            self.started.append(int(point.request.arguments[0]))
            return task(point)

        engine = Engine(start or (lambda: ThreadPoolExecutor(slots)), noted, slots, is_local=True)
        specs = [spec(i, n, self.directory.path) for i, n in enumerate(sizes)]
        drive = Drive(specs, known or {}, self.directory, engine, budget_bytes, self.seen.append)
        drive.run()
        return drive.records


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def size(point: PointSpec) -> int:
    return int(point.request.arguments[0])


def cubic(point: PointSpec) -> PointRecord:
    n = size(point)
    return record(n, graph_bytes=n**3, memory_bytes=10 * n**3)


def test_small_points_come_first_and_known_ones_not_at_all(desk: Desk) -> None:
    known = {1: record(8)}
    records = desk.run([64, 8, 16, 32], cubic, known=known)
    assert desk.started == [16, 32, 64]
    assert {i: r.parameters["n"] for i, r in records.items()} == {0: "64", 1: "8", 2: "16", 3: "32"}
    assert records[1] is known[1]
    last = desk.seen[-1]
    assert (last.total, last.finished, last.failed, last.running, last.left_s) == (4, 4, 0, (), 0.0)
    assert [r.parameters["n"] for status in desk.seen for r in status.news] == ["16", "32", "64"]


def test_failures_are_recorded_and_the_rest_goes_on(desk: Desk) -> None:
    def task(point: PointSpec) -> PointRecord:
        if size(point) == 16:
            raise PartitionError("too few values", hint="more")
        return cubic(point)

    records = desk.run([8, 16, 32], task)
    error = records[1].error
    assert error is not None
    assert (error.kind, error.message, error.hint) == ("PartitionError", "too few values", "more")
    assert desk.directory.record("0016-0") == records[1]
    assert [records[i].is_finished for i in (0, 2)] == [True, True]
    assert (desk.seen[-1].finished, desk.seen[-1].failed) == (2, 1)


def test_points_run_at_once_only_where_memory_allows(desk: Desk) -> None:
    running, most, lock = set[int](), dict[frozenset[int], int](), threading.Lock()
    barrier = threading.Barrier(2)

    def task(point: PointSpec) -> PointRecord:
        with lock:
            running.add(size(point))
            most[frozenset(running)] = sum(10 * n**3 for n in running)
        if size(point) in (16, 17):
            barrier.wait(timeout=600)  # these two fit together, and must meet
        with lock:
            running.discard(size(point))
        return cubic(point)

    # 64: 1.25 * 10 * 64^3 = 3.3 MB with the safety of estimates, alone within 4 MB; two of them are not.
    records = desk.run([4, 8, 16, 17, 63, 64], task, slots=4, budget_bytes=4_000_000)
    assert all(r.is_finished for r in records.values())
    assert max(most.values()) <= 4_000_000 and frozenset((63, 64)) not in most
    assert desk.started[0] == 4


def test_the_first_point_runs_alone(desk: Desk) -> None:
    together: list[int] = []

    def task(point: PointSpec) -> PointRecord:
        together.append(len(desk.seen[-1].running) if desk.seen else 0)
        return cubic(point)

    desk.run([8, 9, 10], task, slots=3, budget_bytes=10**9)
    assert desk.seen[0].running == ("n=8",)


def test_a_point_that_would_not_fit_is_not_started(desk: Desk) -> None:
    records = desk.run([8, 16, 1000], cubic, slots=2, budget_bytes=10**8)
    assert desk.started == [8, 16]
    error = records[2].error
    assert error is not None and error.kind == "MemoryEstimate" and "--memory-budget" in error.hint
    # 10 * 1000^3 and a quarter more, less what the prior exponent of 2 draws away where two points are known.
    assert "at most 100 MB" in error.message and "needs 10.5 GB" in error.message
    assert desk.directory.record("1000-0") == records[2]


class Fragile(Executor):
    """Breaks, with all it holds, when it gets point 32; the first one holds everything until then."""

    def __init__(self, held_at_breaks: list[int]) -> None:
        self._held_at_breaks = held_at_breaks
        self._is_first = not held_at_breaks
        self._held: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._held.append(future)
        if size(args[0]) == 32:
            self._held_at_breaks.append(len(self._held))
            for held in self._held:
                held.set_exception(BrokenExecutor("a process was killed"))
        elif not self._is_first:
            self._held.remove(future)
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_lost_process_costs_only_the_point_that_lost_it(desk: Desk) -> None:
    breaks: list[int] = []
    records = desk.run([8, 16, 32], cubic, slots=3, start=lambda: Fragile(breaks))
    # All three were there when it broke; each is then tried alone, and the bad one breaks it again.
    assert breaks == [3, 1]
    assert sorted(desk.started) == [8, 16]
    error = records[2].error
    assert error is not None and error.kind == "ProcessEnded"
    assert records[0].is_finished and records[1].is_finished


class Broken(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise BrokenExecutor("never worked")


def test_an_executor_that_never_works_is_given_up(desk: Desk) -> None:
    started: list[Broken] = []

    def start() -> Executor:
        started.append(Broken())
        return started[-1]

    with pytest.raises(RuntimeBuildError, match="broken before it has any"):
        desk.run([8], cubic, start=start)
    assert len(started) == 4 and desk.started == []


def test_the_executor_of_a_user_is_used_and_left_alone(desk: Desk) -> None:
    with ThreadPoolExecutor(2) as mine:
        engine = replace(executor_engine(mine), task=cubic)
        points = [spec(i, n, desk.directory.path) for i, n in enumerate((8, 16))]
        drive = Drive(points, {}, desk.directory, engine, 1, desk.seen.append)
        drive.run()
        assert all(r.is_finished for r in drive.records.values())
        assert mine.submit(lambda: 7).result() == 7


def test_interrupts_end_what_runs(desk: Desk) -> None:
    abandoned: list[Executor] = []

    def interrupted(point: PointSpec) -> PointRecord:
        raise KeyboardInterrupt

    engine = Engine(lambda: ThreadPoolExecutor(1), interrupted, 1, abandon=abandoned.append)
    drive = Drive([spec(0, 8, desk.directory.path)], {}, desk.directory, engine, None, desk.seen.append)
    with pytest.raises(KeyboardInterrupt):
        drive.run()
    assert len(abandoned) == 1
    abandoned[0].shutdown()
    assert drive.records == {}


def test_programs_are_limited_by_the_budget_unless_they_have_their_own(tmp_path: Path) -> None:
    point = spec(0, 8, tmp_path)
    assert with_limit(point, 5).request.memory_limit_bytes == 5
    own = replace(point, request=replace(point.request, memory_limit_bytes=3))
    assert with_limit(own, 5).request.memory_limit_bytes == 3
    assert with_limit(point, None) is point


def test_a_law_is_found_where_points_decide() -> None:
    n, k = np.meshgrid([8.0, 16.0, 32.0, 64.0], [1.0, 4.0, 16.0])
    log_x = np.log(np.stack([n.ravel(), k.ravel()], axis=1))
    law = fit_power_law(log_x, 5.0 * n.ravel() ** 3 * k.ravel())
    # The prior of 2 pulls by less than 1 %.
    growth = law(np.eye(3, 2)) / law(np.zeros((1, 2)))  # of e times n, of e times k, of neither
    assert np.log(growth) == pytest.approx([3.0, 1.0, 0.0], rel=0.01)
    assert law(np.log(np.array([[1024.0, 1.0]])))[0] == pytest.approx(5.0 * 1024.0**3, rel=0.05)


def test_memory_is_an_offset_and_a_multiple_of_the_graph() -> None:
    log_x = log_sizes(grid([parse_axis("n=8,16,32,1024")]))
    done = {
        i: record(n, graph_bytes=100 * n**2, memory_bytes=10**6 + 20 * 100 * n**2, wall_s=0.01 * n**2)
        for i, n in enumerate((8, 16, 32))
    }
    needs = needs_of(log_x, done)
    assert needs.is_extrapolated
    # A quarter more than what the law says, for safety.
    assert needs.memory_bytes[3] == pytest.approx(10**6 + 1.25 * 20 * 100 * 1024**2, rel=1e-3)
    assert needs.wall_s == pytest.approx(0.01 * np.array([8, 16, 32, 1024]) ** 2, rel=1e-3)


def test_small_points_do_not_hide_growth_behind_the_offset() -> None:
    log_x = log_sizes(grid([parse_axis("n=8,16,4096")]))
    done = {i: record(n, graph_bytes=100 * n**2, memory_bytes=3 * 10**8) for i, n in enumerate((8, 16))}
    assert needs_of(log_x, done).memory_bytes[2] > 6 * 100 * 4096**2


def test_points_that_differ_in_words_only_are_taken_to_be_alike() -> None:
    log_x = log_sizes(grid([parse_axis("kind=a,b,c")]))
    assert log_x.shape == (3, 0)
    done = {i: record(8, graph_bytes=100, memory_bytes=10**6) for i in (0, 1)}
    needs = needs_of(log_x, done)
    assert not needs.is_extrapolated
    assert needs.memory_bytes[2] == pytest.approx(1.25e6)
    assert needs.wall_s[2] == pytest.approx(1.0)
