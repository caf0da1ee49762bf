"""Runs the analysed program: limits on time and memory, and what it used.

The only module that starts the target. The target gets a session of its own, so that it and everything it
started can be ended together, and so that reading a terminal does not stop it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from commanalyzer.errors import TargetRunError
from commanalyzer.runtime.interrupts import deferred_interrupts

_FIRST_POLL_S = 0.001
_POLL_S = 0.05
_CLEARLY_ABOVE = 1.02
_GRACE_S = 2.0
_PADDING = "COMMANALYZER_PADDING"
_STACK_END_BYTES, _STACK_ALIGNMENT_BYTES = 8, 16
Stream = IO[bytes] | int | None


@dataclass(frozen=True, slots=True)
class TargetRun:
    """A finished run.

    Attributes:
        exit_status: Exit status of the program, 0 to 255.
        cpu_s: CPU time of the program and the children it waited for, user and system, seconds.
        wall_s: Elapsed time, seconds.
        peak_rss_bytes: Largest resident size of the program, bytes; sampled (so possibly low by the growth of
            the last 50 ms) when it stays below the peak of this process.
        stdout: What it printed when output was captured, otherwise empty.
    """

    exit_status: int
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int
    stdout: bytes = b""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run; ``None`` is no limit."""

    timeout_s: float | None = None
    memory_limit_bytes: int | None = None


class _Waiter(threading.Thread):
    """Waits for one child, so that its end is timed exactly while the main thread polls."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._start_s = time.perf_counter()
        self.ended = threading.Event()
        self.status = 0
        self.wall_s = 0.0
        self.sampled_peak_bytes = 0
        self.usage: resource.struct_rusage | None = None

    def run(self) -> None:
        """Wait, then publish status and usage."""
        try:
            _, self.status, self.usage = os.wait4(self._pid, 0)
        finally:
            self.wall_s = time.perf_counter() - self._start_s
            self.ended.set()


def run_target(
    executable: Path,
    arguments: Sequence[str] = (),
    *,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    environment: Mapping[str, str] | None = None,
    limits: RunLimits | None = None,
    capture: bool = False,
    label: str = "",
) -> TargetRun:
    """The finished run of ``executable``.

    A non-zero exit status is not an error (it is the program's own business and is recorded); death by a
    signal is. Limited is the memory that the whole process tree holds (resident, without pages of files,
    which the system can write out), polled: address-space limits cannot be used because shadow memory
    reserves tens of TiB of addresses.

    Args:
        executable: Program to run.
        arguments: Its arguments, without the program name.
        stdin: Stream for its standard input; inherited when ``None``.
        stdout: Stream for its standard output; inherited when ``None``, ignored with ``capture``.
        stderr: Stream for its standard error; inherited when ``None``.
        environment: Variables added to this process's environment, with one that aligns the arguments.
        limits: Limits of the run.
        capture: Return standard output instead of showing it.
        label: What to call the program in messages; the executable's path when empty.

    Raises:
        TargetRunError: If it cannot be started, dies by a signal, or exceeds a limit.
        KeyboardInterrupt: Passed on after the program and its children have been ended.
    """
    limits = limits or RunLimits()
    label = label or str(executable)
    # A file rather than a pipe: no reader thread, and a grandchild that keeps it open cannot block us.
    with tempfile.TemporaryFile() as captured:
        _flush_own_streams()
        with contextlib.ExitStack() as starting:
            starting.enter_context(deferred_interrupts())
            streams = (stdin, captured if capture else stdout, stderr)
            process = _spawn([str(executable), *arguments], streams, environment or {}, label)
            waiter = _Waiter(process.pid)
            waiter.start()
            started = starting.pop_all()
        try:
            started.close()  # interrupts from here on, and those held back, end the program
            _supervise(process.pid, waiter, limits, label)
        finally:
            # Also ends background children that the program left behind in its session.
            _end_group(process.pid, waiter)
            process.returncode = waiter.status
        captured.seek(0)
        output = captured.read() if capture else b""
    return _finished(waiter, label, output)


def _spawn(
    command: Sequence[str],
    streams: tuple[Stream, Stream, Stream],
    environment: Mapping[str, str],
    label: str,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            env=_with_padding(command, {**os.environ, **environment}) if environment else None,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise TargetRunError(f"the program cannot be started: {error}", where=label) from error


def _with_padding(command: Sequence[str], environment: dict[str, str]) -> dict[str, str]:
    """Return ``environment`` with a variable that puts the first argument at a multiple of 16 bytes.

    The words of an argument's text are sources of what is parsed from it. Which words texts share must not
    depend on the lengths of paths and variables: at the end of the stack, Linux puts the path of the program,
    before it the variables, and before these the arguments.
    """
    texts = [*command, *(f"{name}={value}" for name, value in environment.items()), f"{_PADDING}="]
    behind = _STACK_END_BYTES + sum(len(os.fsencode(text)) + 1 for text in texts)
    return {**environment, _PADDING: "-" * (-behind % _STACK_ALIGNMENT_BYTES)}


def spool_stdin(source: Path | None, directory: Path) -> Path | None:
    """A file with the program's input, so that several runs read the same; ``None`` to inherit a terminal.

    Args:
        source: File that the user named; copied from our own standard input when ``None``.
        directory: Where to put the copy.

    Raises:
        TargetRunError: If the named file cannot be read.
    """
    if source is not None:
        if not source.is_file() or not os.access(source, os.R_OK):
            raise TargetRunError("expected a readable file for standard input", where=str(source))
        return source
    stream = sys.stdin
    if stream is None or stream.closed or stream.isatty():
        return None
    copy = directory / "stdin"
    try:
        with copy.open("wb") as target:
            shutil.copyfileobj(stream.buffer, target)
    except (OSError, AttributeError, ValueError):
        # No usable standard input (a notebook, a closed descriptor): the program sees an empty one.
        copy.write_bytes(b"")
    return copy


def _flush_own_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def _supervise(pid: int, waiter: _Waiter, limits: RunLimits, label: str) -> None:
    """Return when the program has ended; raise when it exceeds a limit."""
    start_s = time.perf_counter()
    pause_s = _FIRST_POLL_S
    waiter.sampled_peak_bytes = _own_peak_bytes(pid)
    while not waiter.ended.wait(timeout=pause_s):
        pause_s = min(2.0 * pause_s, _POLL_S)
        elapsed_s = time.perf_counter() - start_s
        waiter.sampled_peak_bytes = max(waiter.sampled_peak_bytes, _own_peak_bytes(pid))
        if limits.timeout_s is not None and elapsed_s > limits.timeout_s:
            raise TargetRunError(
                f"expected the program to end in {limits.timeout_s:g} s, stopped it at {elapsed_s:.1f} s",
                where=label,
                hint="use a smaller problem, name a --region, or raise --timeout",
            )
        if limits.memory_limit_bytes is not None:
            used = _tree_held_bytes(pid)
            if used > limits.memory_limit_bytes:
                raise TargetRunError(
                    f"expected at most {limits.memory_limit_bytes / 1e6:.0f} MB of memory, "
                    f"stopped the program at {used / 1e6:.0f} MB",
                    where=label,
                    hint="use a smaller problem, name a --region, or raise --memory-limit",
                )


def _tree_held_bytes(pid: int) -> int:
    """Resident bytes of the process and its descendants without pages of files."""
    try:
        children = [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(_status_bytes(each, "RssAnon:", "RssShmem:") for each in (pid, *children))


def _own_peak_bytes(pid: int) -> int:
    """Peak resident bytes of the process so far, 0 when it is gone."""
    return _status_bytes(pid, "VmHWM:")


def _status_bytes(pid: int, *entries: str) -> int:
    """Sum of some sizes that the kernel publishes about a process, 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(entries))


def _peak_bytes(waiter: _Waiter, usage: resource.struct_rusage) -> int:
    # Linux carries the peak of the process that forked across exec, so ru_maxrss is never below our own.
    # Above it, it is exact; otherwise the samples are closer (they miss growth since the last one).
    own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Both counters lag behind by some pages.
    if usage.ru_maxrss > _CLEARLY_ABOVE * own_kib or not waiter.sampled_peak_bytes:
        return int(usage.ru_maxrss) * 1024
    return waiter.sampled_peak_bytes


def _end_group(pid: int, waiter: _Waiter) -> None:
    """End every process of the target's session; returns after the target itself is gone."""
    if not waiter.ended.is_set():
        _signal_group(pid, signal.SIGTERM)
        waiter.ended.wait(_GRACE_S)
    _signal_group(pid, signal.SIGKILL)
    waiter.ended.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _finished(waiter: _Waiter, label: str, output: bytes) -> TargetRun:
    usage = waiter.usage
    if usage is None:
        raise TargetRunError("the program's end could not be observed", where=label)
    if os.WIFSIGNALED(waiter.status):
        raise _signal_death(os.WTERMSIG(waiter.status), _peak_bytes(waiter, usage), label)
    return TargetRun(
        exit_status=os.WEXITSTATUS(waiter.status),
        cpu_s=usage.ru_utime + usage.ru_stime,
        wall_s=waiter.wall_s,
        peak_rss_bytes=_peak_bytes(waiter, usage),
        stdout=output,
    )


def _signal_death(number: int, peak_rss_bytes: int, label: str) -> TargetRunError:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown signal"
    described = signal.strsignal(number) or "no description"
    hint = "check that the program runs on its own with these arguments"
    if number == signal.SIGKILL:
        hint = f"the system may have run out of memory (the program used {peak_rss_bytes / 1e6:.0f} MB)"
    return TargetRunError(
        f"the program was ended by signal {number} ({name}, {described})", where=label, hint=hint
    )
