from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from commanalyzer.errors import EXIT_TARGET_FAILED, TargetRunError
from commanalyzer.runtime.launch import RunLimits, TargetRun, run_target, spool_stdin

SHELL = Path("/bin/sh")
PYTHON = Path(sys.executable)
_PATIENCE_S = 120  # however busy the machine is; a child that is left alone ends later


def _shell(script: str, limits: RunLimits | None = None) -> TargetRun:
    return run_target(SHELL, ["-c", script], capture=True, limits=limits)


def test_output_status_and_environment() -> None:
    run = run_target(
        SHELL,
        ["-c", 'printf "%s %s" "$1" "$CA_TEST"; exit 3', "sh", "a b"],
        environment={"CA_TEST": "x"},
        capture=True,
    )
    assert run.stdout == b"a b x"
    assert run.exit_status == 3
    assert run.wall_s > 0
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


def test_death_by_signal() -> None:
    with pytest.raises(TargetRunError, match="signal 11 \\(SIGSEGV") as caught:
        _shell("kill -SEGV $$")
    assert caught.value.exit_code == EXIT_TARGET_FAILED


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
    with pytest.raises(TargetRunError, match="at most 200 MB") as caught:
        _shell(script, RunLimits(timeout_s=600, memory_limit_bytes=200_000_000))
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
    run = run_target(
        Path(sys.executable), ["-c", script], limits=RunLimits(timeout_s=600, memory_limit_bytes=200_000_000)
    )
    assert run.exit_status == 0
    assert run.peak_rss_bytes > 400_000_000


def test_interrupt_ends_the_program_and_is_passed_on(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def interrupt() -> None:
        while not (note.exists() and note.read_text().endswith("\n")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        _shell(f"echo $$ > {note}; exec sleep 60")
    thread.join()
    assert _gone(int(note.read_text()))


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
