"""Says where a test run spends processor time: ``python -m pytest -p tests.cpu_time``.

Seconds on the clock depend on what else the machine does; processor seconds hardly do. Counted are this
process, its ended children, and every descendant that still lives (what forks commands, helpers of
partitioners) with its own ended children.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import psutil
import pytest

_SHOWN_TESTS = 20
_PROPERTY = "cpu_s"


def pytest_configure(config: pytest.Config) -> None:
    """Count in every process, show in the one that prints."""
    config.pluginmanager.register(_CpuTime())


def cpu_seconds() -> float:
    """User and system time of this process and all its descendants, seconds."""
    total = sum(os.times()[:4])
    for process in psutil.Process().children(recursive=True):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue  # has just ended: counted with its parent from now on
    return total


class _CpuTime:
    def __init__(self) -> None:
        self._begin_s = 0.0
        self._tests: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._begin_s = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        end_s = cpu_seconds()
        report.user_properties.append((_PROPERTY, end_s - self._begin_s))
        self._begin_s = end_s
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Each phase's report has the properties of the test, to which its own seconds were added.
        self._tests[report.nodeid] += sum(
            v for k, v in report.user_properties if k == _PROPERTY and isinstance(v, float)
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        files: dict[str, float] = defaultdict(float)
        for test, seconds in self._tests.items():
            files[test.partition("::")[0]] += seconds
        terminalreporter.section(f"processor seconds: {sum(files.values()):.1f}")
        for name, seconds in [*_largest(files), *_largest(self._tests)[:_SHOWN_TESTS]]:
            terminalreporter.write_line(f"{seconds:9.2f} {name}")


def _largest(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])
