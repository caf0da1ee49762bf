"""Surroundings of every test."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run; `HYPOTHESIS_PROFILE=random` draws others, and keeps those that fail.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_configure(config: pytest.Config) -> None:
    """Hear interrupts even when the test run was started in the background, where shells ignore them."""
    del config
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With ``-n``, keep the tests of a file, which share what they build, in one process."""
    if config.getoption("numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False  # otherwise files with few long tests would come last


# Folders and files of tests that neither compile nor record programs, nor compile many loops.
_FAST = (
    *("unit/cli", "unit/comparison", "unit/counting", "unit/export", "unit/ir", "unit/laws", "unit/machine"),
    *("unit/report", "unit/roofline", "unit/simulation", "unit/trace", "unit/validation", "unit/bench"),
    *("unit/frontend/drivers", "unit/test_theory.py", "unit/test_files.py", "unit/test_quantities.py"),
    *("unit/test_work.py", "unit/test_heap.py", "test_architecture.py", "documentation/test_pages.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is fast by its place, so that a new test there is fast as well."""
    root = Path(__file__).parent
    fast = [root / name for name in _FAST]
    for item in items:
        if any(item.path == place or place in item.path.parents for place in fast):
            item.add_marker(pytest.mark.fast)
