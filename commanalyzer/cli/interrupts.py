"""Ctrl-C before a command can answer it: while its modules are imported, which have nothing to clean up.

Imports nothing that takes time. In Python's own start, some 20 ms, nobody can answer yet.
"""

from __future__ import annotations

import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

_COMMANDS = ("commanalyzer", "commanalyzer-cc", "commanalyzer-c++", "commanalyzer-fc")


def leave_at_interrupt() -> None:
    """End this process at Ctrl-C if it is one of our commands: no program that imports us, and no worker."""
    words, program = sys.orig_argv, sys.argv[0] if sys.argv else ""
    is_command = program.rpartition("/")[2] in _COMMANDS or (program == "-m" and "commanalyzer" in words)
    if program in words and is_command and getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, _leave)


def raise_at_interrupt() -> None:
    """From now on Ctrl-C is an exception, which cleans up, if it was not."""
    if getsignal(SIGINT) is _leave:
        signal(SIGINT, default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)  # EXIT_INTERRUPTED of the errors, whose module imports more than this one
