"""Surroundings of every test."""

import os
import signal
from collections import Counter

import pytest
from hypothesis import settings

from tests.tiers import CPLUSPLUS, EXTENDED, FAST, SAMPLED

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put every test into its tier, by its name: a new test of a file is where the others are."""
    number: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name.startswith(FAST) and not name.startswith(EXTENDED):
            item.add_marker(pytest.mark.fast)
        if item.get_closest_marker("slow") or item.get_closest_marker("extended"):
            continue
        test = name.partition("[")[0]
        every = next((n for start, n in SAMPLED.items() if name.startswith(start)), 1)
        is_cplusplus = name.startswith("e2e/") and any(workload in name for workload in CPLUSPLUS)
        if is_cplusplus or name.startswith(EXTENDED) or number[test] % every:
            item.add_marker(pytest.mark.extended)
        number[test] += not is_cplusplus
