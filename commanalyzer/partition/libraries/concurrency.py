"""Computations side by side: threads, and processes for libraries that hold the interpreter's lock.

METIS takes its random numbers from the process, Mt-KaHyPar its seed: only in a process of its own does a call
give the same whatever other threads do. Both also keep the lock, and cannot be interrupted: what may take
long runs where it can be ended.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, Semaphore, Timer, current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

from commanalyzer.errors import PartitionError
from commanalyzer.partition.budget import Limit
from commanalyzer.partition.libraries.helper import Helper, HelperEndedError

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")
LEAST_SECONDS = 0.3
"""What takes less by an estimate is done in this process: starting a helper takes 0.2 to 0.5 s."""


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class StoppedError(Exception):
    """Ends what nobody waits for any more; who divides goes on with what has been found."""


class CutShortError(PartitionError):
    """A call was ended because it took longer than it may."""


class Caller:
    """Calls functions of partitioning libraries in this process, one at a time.

    Attributes:
        stopped: Why :meth:`stop` was called; empty if it was not.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.stopped = ""

    @property
    def peak_bytes(self) -> int:
        """Largest resident memory of other processes, together."""
        return 0

    def call(self, function: Callable[..., Result], limit: Limit, *arguments: Any) -> Result:
        """Return ``function(*arguments)``.

        Args:
            function: Of a module, which depends on nothing but its arguments.
            limit: How long it takes.
            arguments: Arrays and numbers.

        Raises:
            RuntimeError: If the function fails in another process; with the text of its error.
            CutShortError: If it was ended in another process because it took too long.
            PartitionError: If the other process ends.
            StoppedError: After :meth:`stop` or :meth:`close`.
        """
        del limit
        self.check()
        with self._lock:
            return function(*arguments)

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``work(item)`` of all ``items``, in their order; the next item is made meanwhile.

        Args:
            work: What to do, as of :func:`side_by_side`.
            items: What for; made one at a time in the caller's thread.
        """
        return [work(item) for item in items]

    def both(self, one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
        """Return ``one()`` and ``other()``, which do not depend on each other."""
        return one(), other()

    def leave(self, cores: int) -> None:
        """Use so many cores less from now on; before any is busy."""

    @contextmanager
    def core(self) -> Iterator[None]:
        """Keep one core busy, which :meth:`each` does not use."""
        yield

    def check(self) -> None:
        """Raise :class:`StoppedError` after :meth:`stop` or :meth:`close`."""
        if self.stopped:
            raise StoppedError(self.stopped)

    def stop(self, reason: str) -> None:
        """As :meth:`close`, and remember why: what has been found so far is still wanted."""
        self.stopped = self.stopped or reason
        self.close()

    def close(self) -> None:
        """End other processes, even in the midst of a call, and the threads that ask."""


class Helpers(Caller):
    """Calls functions in other processes, as many at a time as there are callers; small problems in this one.

    Args:
        least_seconds: What takes less by an estimate is done in this process.
        cores: Threads that may work at a time.
    """

    def __init__(self, least_seconds: float = LEAST_SECONDS, cores: int = 1) -> None:
        super().__init__()
        self._least_seconds = least_seconds
        self._cores = cores
        self._free = Semaphore(cores)
        self._idle: list[Helper] = []
        self._all: list[Helper] = []
        self._changing = Lock()
        self._is_closed = False

    @property
    def peak_bytes(self) -> int:
        """See :meth:`Caller.peak_bytes`."""
        return sum(helper.peak_bytes for helper in self._all)

    def call(self, function: Callable[..., Result], limit: Limit, *arguments: Any) -> Result:
        """See :meth:`Caller.call`."""
        if limit.expected_s < self._least_seconds:
            return super().call(function, limit, *arguments)
        helper = self._take()
        try:
            result: Result = helper.call(function, arguments, limit.most_s)
        except HelperEndedError as error:
            self.check()
            if error.is_overtime:
                raise CutShortError(f"ended after {limit.most_s:.0f} s of CPU time") from error
            raise PartitionError(
                f"expected the result of a partitioner, found that its process ended: {error}",
                hint="it may have run out of memory; with --jobs 1 less is needed",
            ) from error
        with self._changing:
            self._idle.append(helper)
        return result

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See :meth:`Caller.each`; what finds no free core is done in the caller's thread."""

        def work_and_leave(item: Item) -> Result:
            try:
                return work(item)
            finally:
                self._free.release()

        with ThreadPoolExecutor() as pool:
            found: list[Future[Result]] = []
            try:
                for item in items:
                    if self._free.acquire(blocking=False):
                        found.append(pool.submit(work_and_leave, item))
                    else:
                        found.append(Future())
                        found[-1].set_result(work(item))
                return [future.result() for future in found]
            except KeyboardInterrupt:
                self.close()
                raise

    def both(self, one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
        """See :meth:`Caller.both`; side by side if a core is free."""
        if self._cores == 1 or not self._free.acquire(blocking=False):
            return one(), other()
        try:
            with ThreadPoolExecutor(1) as pool:
                second = pool.submit(other)
                return one(), second.result()
        finally:
            self._free.release()

    def leave(self, cores: int) -> None:
        """See :meth:`Caller.leave`."""
        for _ in range(cores):
            self._free.acquire()

    @contextmanager
    def core(self) -> Iterator[None]:
        """See :meth:`Caller.core`."""
        with self._free:
            yield

    def check(self) -> None:
        """See :meth:`Caller.check`."""
        super().check()
        if self._is_closed:
            raise StoppedError

    def close(self) -> None:
        """See :meth:`Caller.close`."""
        with self._changing:
            self._is_closed = True
            for helper in self._all:
                helper.end()

    def _take(self) -> Helper:
        with self._changing:
            self.check()
            if self._idle:
                return self._idle.pop()
            self._all.append(Helper())
            return self._all[-1]


def caller_of(cores: int) -> Caller:
    """Return what may use so many cores at a time; with one, helpers work while this process waits."""
    return Helpers(cores=cores)


@contextmanager
def ending_early(caller: Caller, time_limit_s: float | None) -> Iterator[None]:
    """Stop ``caller`` at an interrupt (Ctrl-C) or when the time is over; a second interrupt is an interrupt.

    Args:
        caller: What is stopped: what uses it ends with what it has found so far.
        time_limit_s: Wall-clock seconds; None for no limit.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        caller.stop("the interrupt")

    is_ours = (
        current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    timer = None
    if time_limit_s is not None:
        timer = Timer(time_limit_s, caller.stop, (f"the time limit of {time_limit_s:g} s",))
        timer.daemon = True
        timer.start()
    if is_ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if timer is not None:
            timer.cancel()


def side_by_side(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    threads: int,
    caller: Caller,
    size: Callable[[Item], float] | None = None,
) -> list[Result]:
    """Return ``work(item)`` of all ``items``, in their order.

    What is raised is what one after the other would raise, or an interrupt at once.

    Args:
        work: What to do; safe in threads, and asks :meth:`Caller.check` between its steps.
        items: What for.
        threads: Most threads; with one, everything runs in the caller's.
        caller: Closed when something was raised, so that nothing else goes on for long.
        size: How much there is to do for an item: threads begin with the largest, so that none is left with
            it in the end. None to begin with the first.
    """

    def work_on_core(item: Item) -> Result:
        with caller.core():
            return work(item)

    if min(threads, len(items)) <= 1:
        return [work_on_core(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        places = range(len(items))
        order = places if size is None else sorted(places, key=lambda i: -size(items[i]))
        futures = {i: pool.submit(work_on_core, items[i]) for i in order}
        try:
            return [futures[i].result() for i in places]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            caller.close()
            raise
