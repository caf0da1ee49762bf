"""Interrupts that arrive while a program is being started are neither lost nor early."""

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from commanalyzer.recording.runtime import build_supervisor, deferred_interrupts, run_target


def test_interrupt_takes_effect_at_the_end() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        steps.append("still inside")
    assert steps == ["still inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_to_do_outside_the_main_thread() -> None:
    seen = []

    def inside() -> None:
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_program_started_at_the_interrupt_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_supervisor()
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    started: list[int] = []
    original = subprocess.Popen

    def interrupted(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = original(*args, **options)
        started.append(process.pid)
        os.kill(os.getpid(), signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_target(program)
    assert len(started) == 1 and not psutil.pid_exists(started[0])
