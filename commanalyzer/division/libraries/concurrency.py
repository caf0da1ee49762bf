"""Computations side by side: threads, and processes for libraries that hold the interpreter's lock.

METIS takes its random numbers from the process, Mt-KaHyPar its seed: only in a process of its own does a call
give the same whatever other threads do. Both also keep the lock, and cannot be interrupted: what may take
long runs where it can be ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, RLock, Semaphore, Timer, current_thread, main_thread
from types import FrameType
from typing import TypeVar

from commanalyzer.division.budget import Limit
from commanalyzer.foundation.errors import PartitionError

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")
LEAST_SECONDS = 0.3  # what takes less by an estimate is done here: starting a helper takes 0.2 to 0.5 s
_HELPER = "commanalyzer.division.libraries.helper"


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class StoppedError(Exception):
    """Ends what nobody waits for any more; who divides goes on with what has been found."""


class CutShortError(PartitionError):
    """A call was ended because it took longer than it may."""


class _Helper:
    """The other end of :mod:`.helper`: starts the process and talks to it."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", _HELPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            process_group=0,  # a terminal's interrupt is for the one who asks, who then ends this process
        )

    def call(self, function: Callable[..., Result], most_s: float, arguments: tuple[object, ...]) -> Result:
        """See :meth:`LibraryCaller.call`; after an error of the process, it is of no use any more."""
        request, answer = self._process.stdin, self._process.stdout
        assert request is not None and answer is not None
        result: Result
        try:
            pickle.dump((function, arguments, most_s), request, protocol=5)
            request.flush()
            result, error, self.peak_bytes = pickle.load(answer)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as broken:
            self.end()
            if self._process.returncode == -signal.SIGXCPU:
                raise CutShortError(f"ended after {most_s:.0f} s of CPU time") from broken
            raise PartitionError(
                "expected the result of a partitioner, found that its process ended: "
                f"exit status {self._process.returncode}",
                hint="it may have run out of memory; with --jobs 1 less is needed",
            ) from broken
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """End the process, even in the midst of a call."""
        self._process.kill()
        self._process.wait()


class LibraryCaller:
    """Calls functions of partitioning libraries, and works side by side where cores are free.

    So many ``cores`` may work at a time. What takes less than ``least_seconds`` by an estimate is called in
    this process, one at a time; the rest in other processes, as many at a time as there are callers. None to
    call everything here. ``stopped`` is why :meth:`stop` was called; empty if it was not.
    """

    def __init__(self, cores: int = 1, least_seconds: float | None = None) -> None:
        self.cores, self._free = cores, Semaphore(cores)
        self._least_seconds = least_seconds
        self._idle: list[_Helper] = []
        self._all: list[_Helper] = []
        self._lock, self._changing = Lock(), RLock()  # an interrupt's handler changes, too
        self._is_closed = False
        self.stopped = ""

    @property
    def peak_bytes(self) -> int:
        """Largest resident memory of other processes, together."""
        return sum(helper.peak_bytes for helper in self._all)

    def call(self, function: Callable[..., Result], limit: Limit, *arguments: object) -> Result:
        """Return ``function(*arguments)``, of a module and dependent on nothing but its arguments.

        Only another process ends it at its limit, after whole seconds, rounded up.

        Raises:
            RuntimeError: If the function fails in another process; with the text of its error.
            MemoryError: Likewise, for want of memory.
            CutShortError: If it was ended in another process because it took too long.
            PartitionError: If the other process ends.
            StoppedError: After :meth:`stop` or :meth:`close`.
        """
        if self._least_seconds is None or limit.expected_s < self._least_seconds:
            self.check()
            with self._lock:
                return function(*arguments)
        with self._changing:
            self.check()
            if not self._idle:
                self._idle.append(_Helper())
                self._all.append(self._idle[-1])
            self.check()
            helper = self._idle.pop()
        try:
            result = helper.call(function, limit.most_s, arguments)
        except PartitionError:
            self.check()
            raise
        with self._changing:
            self._idle.append(helper)
        return result

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``work(item)`` of all ``items``, in their order; the next item is made meanwhile.

        Items are made in the caller's thread, where ``work`` is done as well if it finds no free core.
        """

        def work_and_leave(item: Item) -> Result:
            try:
                return work(item)
            finally:
                self._free.release()

        with ThreadPoolExecutor() as pool:
            found: list[Future[Result]] = []
            try:
                for item in items:
                    if self._take_core():
                        found.append(pool.submit(work_and_leave, item))
                    else:
                        found.append(Future())
                        found[-1].set_result(work(item))
                return [future.result() for future in found]
            except KeyboardInterrupt:
                self.close()
                raise

    def both(self, one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
        """Return ``one()`` and ``other()``, independent of each other; side by side if a core is free."""
        if not self._take_core():
            return one(), other()
        try:
            with ThreadPoolExecutor(1) as pool:
                second = pool.submit(other)
                return one(), second.result()
        finally:
            self._free.release()

    def leave(self, cores: int) -> None:
        """Use so many cores less from now on; before any is busy."""
        for _ in range(cores):
            self._free.acquire()

    @contextmanager
    def core(self) -> Iterator[None]:
        """Keep one core busy, which :meth:`each` does not use."""
        with self._free:
            yield

    def check(self) -> None:
        """Raise :class:`StoppedError` after :meth:`stop` or :meth:`close`."""
        if self._is_closed:
            raise StoppedError(self.stopped)

    def stop(self, reason: str) -> None:
        """As :meth:`close`, and remember why: what has been found so far is still wanted."""
        self.stopped = self.stopped or reason
        self.close()

    def close(self) -> None:
        """End other processes, even in the midst of a call, and the threads that ask."""
        with self._changing:
            self._is_closed = True
            for helper in self._all:
                helper.end()

    def _take_core(self) -> bool:
        return self.cores > 1 and self._free.acquire(blocking=False)


@contextmanager
def ending_early(caller: LibraryCaller, time_limit_s: float | None) -> Iterator[None]:
    """Stop ``caller`` at an interrupt (Ctrl-C) or when the time is over; a second interrupt is an interrupt.

    What uses it ends with what it has found so far. The limit is wall-clock seconds; None for none.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        caller.stop("the interrupt")

    is_ours = (
        current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    timer = Timer(time_limit_s or 0.0, lambda: caller.stop(f"the time limit of {time_limit_s:g} s"))
    timer.daemon = True
    if time_limit_s is not None:
        timer.start()
    if is_ours:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        timer.cancel()


def side_by_side(work: Callable[[int], Result], counts: Sequence[int], caller: LibraryCaller) -> list[Result]:
    """Return ``work(count)`` of all ``counts``, in their order, on the cores of ``caller``.

    What is raised is what one after the other would raise, or an interrupt at once; ``caller`` is closed
    then, so that nothing else goes on for long. ``work`` is safe in threads, and asks
    :meth:`LibraryCaller.check` between its steps. The largest node counts begin, so that no thread is left
    with them in the end. With one core, everything runs in the caller's thread.
    """

    def work_on_core(count: int) -> Result:
        with caller.core():
            return work(count)

    if min(caller.cores, len(counts)) <= 1:
        return [work_on_core(count) for count in counts]
    with ThreadPoolExecutor(min(caller.cores, len(counts))) as pool:
        futures = {count: pool.submit(work_on_core, count) for count in sorted(counts, reverse=True)}
        try:
            return [futures[count].result() for count in counts]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            caller.close()
            raise
