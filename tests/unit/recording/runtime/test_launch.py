import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from commanalyzer.foundation.errors import TargetRunError
from commanalyzer.recording.runtime import FileLimit, RunLimits, TargetRun, run_target, spool_stdin

SHELL = Path("/bin/sh")
PYTHON = Path(sys.executable)
_PATIENCE_S = 120  # however busy the machine is; a child that is left alone ends later


def _shell(script: str, limits: RunLimits | None = None) -> TargetRun:
    return run_target(SHELL, ["-c", script], capture=True, limits=limits)


def test_output_status_and_environment() -> None:
    words = ["-c", 'printf "%s %s" "$1" "$CA_TEST"; exit 3', "sh", "a b"]
    run = run_target(SHELL, words, environment={"CA_TEST": "x"}, capture=True)
    assert run.stdout == b"a b x"
    assert run.exit_status == 3
    assert run.cpu_s >= 0
    assert run.peak_rss_bytes > 0


@pytest.mark.parametrize("length", [0, 1, 5, 16])
def test_arguments_of_recorded_programs_begin_at_multiples_of_16_bytes(length: int) -> None:
    script, first = "cat /proc/$$/stat; true", 48  # arg_start, proc_pid_stat(5)
    run = run_target(SHELL, ["-c", script], environment={"CA_TEST": "x" * length}, capture=True)
    start = int(run.stdout.split(b") ")[1].split()[first - 3])
    assert (start + len(f"{SHELL}") + 1) % 16 == 0


def test_streams(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("hello")
    with source.open("rb") as stdin, target.open("wb") as stdout:
        run = run_target(Path("/bin/cat"), stdin=stdin, stdout=stdout)
    assert run.stdout == b""
    assert target.read_text() == "hello"


def test_cpu_time_is_counted() -> None:
    spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    run = run_target(PYTHON, ["-c", spin])
    assert run.cpu_s >= 0.3


def test_peak_memory_is_the_programs_own_when_it_is_larger() -> None:
    # ru_maxrss is exact above the peak of this process; the program touches 400 MB more than that.
    own = int(psutil.Process().memory_info().rss)
    size = own + 400_000_000
    run = run_target(PYTHON, ["-c", f"b = bytearray({size})"])
    assert run.peak_rss_bytes >= size


def test_killed_program_hints_at_memory() -> None:
    with pytest.raises(TargetRunError, match=r"^mine: .*SIGKILL") as caught:
        run_target(SHELL, ["-c", "kill -KILL $$"], label="mine")
    assert "memory" in caught.value.hint


def _alive(pid: int) -> bool:
    try:
        return str(psutil.Process(pid).status()) != "zombie"
    except psutil.NoSuchProcess:
        return False


def _gone(pid: int) -> bool:
    end_s = time.monotonic() + _PATIENCE_S
    while _alive(pid) and time.monotonic() < end_s:
        time.sleep(0.05)
    return not _alive(pid)


def test_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    for timeout_s in (0.5, 5.0, 50.0):  # a busy machine may need more to start the shell
        with pytest.raises(TargetRunError, match=rf"end in {timeout_s:g} s") as caught:
            _shell(f"sleep 600 & echo $! > {note}; wait", RunLimits(timeout_s=timeout_s))
        assert "--timeout" in caught.value.hint
        if note.exists() and note.read_text().endswith("\n"):
            break
    assert _gone(int(note.read_text()))


def test_background_child_does_not_outlive_the_program(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    run = _shell(f"sleep 600 & echo $! > {note}; echo done")
    assert run.stdout == b"done\n"
    assert _gone(int(note.read_text()))


def test_memory_limit_counts_children() -> None:
    hog = "b = bytearray(400_000_000)\nimport time\ntime.sleep(600)"
    script = f'"{sys.executable}" -c "{hog}"; true'
    for limit, shown in ((200_000_000, "200 MB"), (1_000, "1 kB")):
        with pytest.raises(TargetRunError, match=rf"at most {shown} of memory, stopped .* at \d") as caught:
            _shell(script, RunLimits(timeout_s=600, memory_limit_bytes=limit))
        assert "--memory-limit" in caught.value.hint


def test_memory_limit_leaves_out_pages_of_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    script = (
        "import mmap, time\n"
        f"file = open({str(path)!r}, 'w+b')\n"
        "file.truncate(400_000_000)\n"
        "pages = mmap.mmap(file.fileno(), 0)\n"
        "pages[::4096] = bytes(len(pages) // 4096 + 1)\n"
        "time.sleep(0.3)\n"  # several polls
    )
    limits = RunLimits(timeout_s=600, memory_limit_bytes=200_000_000)
    run = run_target(PYTHON, ["-c", script], limits=limits)
    assert run.exit_status == 0
    assert run.peak_rss_bytes > 400_000_000


@pytest.mark.parametrize("mode", [0o644, None])
def test_cannot_start(tmp_path: Path, mode: int | None) -> None:
    program = tmp_path / "program"
    if mode is not None:
        program.write_text("#!/bin/sh\n")
        program.chmod(mode)
    with pytest.raises(TargetRunError, match="cannot be started"):
        run_target(program)


def test_spool_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "in"
    named.write_text("x")
    assert spool_stdin(named, tmp_path) == named
    with pytest.raises(TargetRunError, match="readable"):
        spool_stdin(tmp_path / "none", tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 2 3")))
    copy = spool_stdin(None, tmp_path)
    assert copy is not None
    assert copy.read_bytes() == b"1 2 3"


_STARTER = """
import signal
import sys
from pathlib import Path
for name in ('SIGHUP', 'SIGQUIT'):  # ignored under nohup, or in the background of a shell
    signal.signal(signal.Signals[name], signal.SIG_DFL)
from commanalyzer.cli.main import _on_terminate
from commanalyzer.recording.runtime import run_target
_on_terminate()
try:
    run_target(Path("/bin/sh"), ["-c", sys.argv[1]])
except KeyboardInterrupt:
    sys.exit(130)
"""


def _interrupted(number: signal.Signals, script: str, note: Path, count: int) -> tuple[int, list[int]]:
    """Exit status of a process that ran a script and got a signal, and the processes of the script."""
    process = subprocess.Popen([sys.executable, "-c", _STARTER, script])
    while not (note.exists() and note.read_text().count("\n") >= count):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    return process.wait(), [int(line) for line in note.read_text().split()]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_nothing_outlives_the_tool(tmp_path: Path, name: str) -> None:
    note = tmp_path / "pids"
    daemon = f"setsid sh -c 'echo $$ >> {note}; exec sleep 60' >/dev/null 2>&1"
    script = f"({daemon} &); sleep 60 & echo $! >> {note}; echo $$ >> {note}; wait"
    status, processes = _interrupted(signal.Signals[name], script, note, 3)
    assert status == (-signal.SIGKILL if name == "SIGKILL" else 130)
    assert len(processes) == 3 and all(_gone(each) for each in processes)


def test_programs_that_ignore_being_asked_are_ended(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    script = f"trap '' TERM HUP; echo $$ > {note}; while true; do sleep 0.1; done"
    _, (process,) = _interrupted(signal.SIGTERM, script, note, 1)
    assert _gone(process)


def test_processes_that_left_the_session_do_not_outlive_the_program(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    run = _shell(f"(setsid sh -c 'echo $$ > {note}; exec sleep 60' &); while ! test -s {note}; do :; done")
    assert run.exit_status == 0
    assert _gone(int(note.read_text()))


def test_a_file_that_grows_too_large_ends_the_run(tmp_path: Path) -> None:
    trace = FileLimit(tmp_path / "trace", 2_000_000)
    script = f"head -c 1000000 /dev/zero > {trace.path}; truncate -s 1T {trace.path}; echo small"
    assert _shell(script, RunLimits(trace=trace)).exit_status == 0
    with pytest.raises(TargetRunError, match=r"at most 2 MB, stopped it at \d\S* MB") as caught:
        _shell(f"head -c 3000000 /dev/zero > {trace.path}; sleep 60", RunLimits(timeout_s=60, trace=trace))
    assert "--disk-limit" in caught.value.hint
