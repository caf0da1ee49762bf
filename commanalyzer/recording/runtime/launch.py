"""Runs the analysed program: limits on time and memory, and what it used.

The only module that starts the target. The target gets a session of its own, so that reading a terminal does
not stop it, and is started by a small program (``runtime_shim/supervisor``) that watches this process, adopts
orphans, and ends it with everything that it started, also when this process is killed.

Runs of one analysis: the plain program, which is the one that is seen, and its recordings.

Input: executables and the request. Output: :class:`TargetRun`; a recording also writes its trace. What the
program prints is shown by the plain run, completely and once: a recording may end before the program does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.program.frontend.link import build_executable
from commanalyzer.program.frontend.toolchain import bundled_toolchain, shim_directory
from commanalyzer.request import AnalysisRequest

_FLAGS = ("-std=gnu11", "-g0", "-Wall", "-Wextra")
Stream = IO[bytes] | int | None
Streams = tuple[Stream, Stream, Stream]  # standard input, output, error


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: ``status`` is as wait(2) says.

    CPU time (user and system, seconds) is that of the process and the children it waited for,
    ``peak_rss_bytes`` the largest resident size of one of these.
    """

    status: int
    cpu_s: float
    peak_rss_bytes: int


class Supervised(threading.Thread):
    """A program that runs; the thread waits for what its supervisor reports.

    ``ended`` is set when the program has ended, or its supervisor. Known then: how it ended, ``None`` if its
    supervisor did not say, and the ``error`` number if it could not be started, else 0.
    """

    def __init__(
        self, command: Sequence[str], streams: Streams, environment: Mapping[str, str] | None
    ) -> None:
        """Start ``command``.

        Raises:
            OSError: If it cannot be started.
            ValueError: If a word or variable holds a NUL.
            RuntimeBuildError: If the supervisor cannot be built.
        """
        super().__init__(daemon=True)
        supervisor = build_supervisor()
        self.ended = threading.Event()
        self.end: Ended | None = None
        self.error = 0
        reading, writing = os.pipe()
        self._report = os.fdopen(reading, "rb")
        try:
            self._process = subprocess.Popen(
                [str(supervisor), str(writing), str(os.getpid()), *command],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                env=environment,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            self._report.close()
            raise
        finally:
            os.close(writing)
        self.start()

    @property
    def pid(self) -> int:
        """The supervisor, of which all processes of the program are descendants."""
        return self._process.pid

    def run(self) -> None:
        """Read the report up to its end."""
        with self._report:
            for line in self._report:
                kind, *numbers = line.split()
                if kind == b"cannot":
                    self.error = int(numbers[0])
                elif kind == b"end":
                    status, user_us, system_us, peak_kib = map(int, numbers)
                    self.end = Ended(status, (user_us + system_us) / 1e6, peak_kib * 1024)
                    self.ended.set()
        self.ended.set()

    def finish(self) -> None:
        """End the program, if it has not ended, and all that it started; return when they are gone."""
        if not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self.join()


def build_supervisor() -> Path:
    """The supervisor; compiled at first use, then cached.

    Raises RuntimeBuildError if it does not compile, ConfigError if the cache is not usable.
    """
    source = shim_directory() / "supervisor" / "supervise.c"
    return build_executable((source,), toolchain=bundled_toolchain(), link_flags=_FLAGS)


_FIRST_POLL_S = 0.001
_POLL_S = 0.05
_BLOCK_BYTES = 512  # unit of st_blocks, stat(2)
_PADDING = "COMMANALYZER_PADDING"
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_STACK_END_BYTES, _STACK_ALIGNMENT_BYTES = 8, 16


@dataclass(frozen=True, slots=True)
class TargetRun:
    """A finished run; CPU time and memory as in :class:`Ended`.

    The exit status is 0 to 255; ``stdout`` is what the program printed when output was captured, else empty.
    """

    exit_status: int
    cpu_s: float
    peak_rss_bytes: int
    stdout: bytes = b""


@dataclass(frozen=True, slots=True)
class FileLimit:
    """A file that a run writes, and bytes of the disk that it may take."""

    path: Path
    most_bytes: int

    @property
    def used_bytes(self) -> int:
        """Bytes that it takes now; holes take none."""
        try:
            return self.path.stat().st_blocks * _BLOCK_BYTES
        except OSError:
            return 0


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run; ``None`` is no limit."""

    timeout_s: float | None = None
    memory_limit_bytes: int | None = None
    trace: FileLimit | None = None


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

    Streams are inherited when ``None``. Variables of ``environment`` are added to those of this process, with
    one that aligns the arguments. With ``capture``, standard output is returned instead of shown. Messages
    call the program ``label``; the executable's path when empty.

    Raises:
        TargetRunError: If it cannot be started, dies by a signal, or exceeds a limit.
        KeyboardInterrupt: Passed on after the program and its children have been ended.
    """
    limits = limits or RunLimits()
    label = label or str(executable)
    # A file rather than a pipe: no reader thread, and a grandchild that keeps it open cannot block us.
    with tempfile.TemporaryFile() as captured:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        build_supervisor()  # the first time, before interrupts wait
        with contextlib.ExitStack() as starting:
            starting.enter_context(deferred_interrupts())
            streams = (stdin, captured if capture else stdout, stderr)
            command = [str(executable), *arguments]
            variables = _with_padding(command, {**os.environ, **environment}) if environment else None
            try:
                program = Supervised(command, streams, variables)
            except (OSError, ValueError) as error:
                raise TargetRunError(f"the program cannot be started: {error}", where=label) from error
            started = starting.pop_all()
        try:
            started.close()  # interrupts from here on, and those held back, end the program
            _supervise(program, limits, label)
        finally:
            # Also ends processes that the program left behind, in its session or out of it.
            program.finish()
        captured.seek(0)
        output = captured.read() if capture else b""
    return _finished(program, label, output)


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

    It is the one that the user named (TargetRunError if it cannot be read), or a copy of our own standard
    input in ``directory``.
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


def _supervise(program: Supervised, limits: RunLimits, label: str) -> None:
    """Return when the program has ended; raise when it exceeds a limit."""
    start_s = time.perf_counter()
    pause_s = _FIRST_POLL_S
    while not program.ended.wait(timeout=pause_s):
        pause_s = min(2.0 * pause_s, _POLL_S)
        elapsed_s = time.perf_counter() - start_s
        if limits.timeout_s is not None and elapsed_s > limits.timeout_s:
            text = f"expected the program to end in {limits.timeout_s:g} s, stopped it at {elapsed_s:.1f} s"
            raise _exceeded(text, label, "--timeout")
        if limits.trace is not None and (used := limits.trace.used_bytes) > limits.trace.most_bytes:
            text = f"expected a recording of at most {limits.trace.most_bytes / 1e9:.3g} GB"
            text += f", stopped it at {used / 1e9:.3g} GB"
            raise _exceeded(text, label, "--disk-limit (TMPDIR says which disk)")
        if limits.memory_limit_bytes is not None:
            used = _tree_held_bytes(program.pid)
            if used > limits.memory_limit_bytes:
                text = f"expected at most {limits.memory_limit_bytes / 1e6:.0f} MB of memory"
                text += f", stopped the program at {used / 1e6:.0f} MB"
                raise _exceeded(text, label, "--memory-limit")


def _exceeded(text: str, label: str, option: str) -> TargetRunError:
    return TargetRunError(
        text, where=label, hint=f"use a smaller problem, name a --region, or raise {option}"
    )


def _tree_held_bytes(pid: int) -> int:
    """Resident bytes of the descendants of a process without pages of files."""
    try:
        children = [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(_held_bytes(each) for each in children)


def _held_bytes(pid: int) -> int:
    """Resident bytes of a process without pages of files, 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    held = (line for line in status.splitlines() if line.startswith(("RssAnon:", "RssShmem:")))
    return sum(int(line.split()[1]) * 1024 for line in held)


def _finished(program: Supervised, label: str, output: bytes) -> TargetRun:
    end = program.end
    if program.error:
        raise TargetRunError(f"the program cannot be started: {os.strerror(program.error)}", where=label)
    if end is None:
        raise TargetRunError("the program's end could not be observed", where=label)
    if os.WIFSIGNALED(end.status):
        raise _signal_death(os.WTERMSIG(end.status), end.peak_rss_bytes, label)
    return TargetRun(os.WEXITSTATUS(end.status), end.cpu_s, end.peak_rss_bytes, output)


def require_success(run: TargetRun, label: str, *, allow_failure: bool) -> None:
    """Raise TargetRunError if a program ended with another status than 0, unless that is allowed.

    What it did before is not what it is for.
    """
    if run.exit_status and not allow_failure:
        raise TargetRunError(
            f"the program ended with status {run.exit_status}",
            where=label,
            hint="its arguments go behind --; if this status is no failure: --allow-failure",
        )


def _signal_death(number: int, peak_rss_bytes: int, label: str) -> TargetRunError:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "unknown signal"
    described = signal.strsignal(number) or "no description"
    hint = "check that the program runs on its own with these arguments; deep recursion needs ulimit -s 65536"
    if number == signal.SIGKILL:
        hint = f"the system may have run out of memory (the program used {peak_rss_bytes / 1e6:.0f} MB)"
    return TargetRunError(
        f"the program was ended by signal {number} ({name}, {described})", where=label, hint=hint
    )


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Interrupts that arrive inside take effect at the end: nothing is started that nobody would end.

    Only signals with a Python handler are held back, in the main thread: elsewhere Python delivers none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    previous = {n: signal.getsignal(n) for n in _INTERRUPTS if callable(signal.getsignal(n))}
    for number in previous:
        signal.signal(number, lambda received, _: arrived.append(received))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for received in arrived:
            signal.raise_signal(received)


_STANDARD_ERROR = 2  # descriptor: sys.stderr may be replaced (notebooks, test runners)
_SHARE_OF_DISK = 2  # the rest is for the graph, and for others
_RECORDER_FAILED = 113  # exit status of the shim when it cannot reserve its memory


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """Starts the program of a request, always with the same arguments and input.

    ``stdin`` is a file with its standard input; ``None`` to inherit ours.
    """

    request: AnalysisRequest
    stdin: Path | None

    @classmethod
    def of(cls, request: AnalysisRequest, directory: Path) -> ProgramRuns:
        """Runs of ``request``; its input is kept in ``directory``. TargetRunError if that cannot be read."""
        return cls(request, spool_stdin(request.stdin, directory))

    def plain(self, native: Path) -> TargetRun:
        """Run the program itself; its output goes where the request says. Errors as :func:`run_target`."""
        output = {"discard": subprocess.DEVNULL, "stderr": _STANDARD_ERROR}.get(self.request.program_output)
        return self._run(native, {}, output, None)

    def recorded(self, instrumented: Path, trace: Path, *, workspace: Path | None = None) -> TargetRun:
        """Record the program; what it prints is discarded.

        ``workspace`` lists the words whose lifetimes are named. Errors are those of :func:`run_target`, and
        TargetRunError if the recorder cannot start.
        """
        # beyond half of this memory, the recorder uses its file; the rest of what is left is for the graph
        allowed = self.request.memory_limit_bytes or psutil.virtual_memory().available // 4
        environment = {"COMMANALYZER_TRACE": str(trace), "COMMANALYZER_MEMORY": f"{allowed:020d}"}
        if workspace is not None:
            environment["COMMANALYZER_WORKSPACE"] = str(workspace)
        trace.unlink(missing_ok=True)
        room = self.request.disk_limit_bytes or shutil.disk_usage(trace.parent).free // _SHARE_OF_DISK
        limit, nowhere = FileLimit(trace, room), subprocess.DEVNULL
        run = self._run(instrumented, environment, nowhere, nowhere, limit)
        if run.exit_status == _RECORDER_FAILED and not trace.exists():
            raise TargetRunError(
                "the recorder could not reserve its address space",
                hint="allow overcommitted memory (vm.overcommit_memory 0 or 1) and unlimited address space",
            )
        return run

    def profiled(self, instrumented: Path, variables: Mapping[str, str]) -> TargetRun:
        """Run the program's profile run; what it prints is discarded. Errors as :func:`run_target`.

        ``variables`` are what it is told, by name without ``COMMANALYZER_``.
        """
        environment = {f"COMMANALYZER_{name}": value for name, value in variables.items()}
        return self._run(instrumented, environment, subprocess.DEVNULL, subprocess.DEVNULL)

    def _run(
        self,
        executable: Path,
        environment: dict[str, str],
        stdout: Stream,
        stderr: Stream,
        trace: FileLimit | None = None,
    ) -> TargetRun:
        with nullcontext() if self.stdin is None else self.stdin.open("rb") as stream:
            return run_target(
                executable,
                self.request.arguments,
                stdin=stream,
                stdout=stdout,
                stderr=stderr,
                environment=environment,
                limits=RunLimits(self.request.timeout_s, self.request.memory_limit_bytes, trace),
                label=self.request.sources[0].name,
            )
