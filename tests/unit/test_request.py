from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import AnalysisRequest, Model, PartitionRequest

GOOD = AnalysisRequest(sources=(Path("a.c"),))


def test_defaults_are_valid() -> None:
    assert GOOD.nodes == (2, 4, 8, 16)
    assert GOOD.models == ("volume",)


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        (lambda: replace(GOOD, sources=()), "SOURCES"),
        (lambda: replace(GOOD, nodes=()), "--nodes"),
        (lambda: replace(GOOD, nodes=(0, 2)), "--nodes"),
        (lambda: replace(GOOD, nodes=(4, 2)), "--nodes"),
        (lambda: replace(GOOD, nodes=(2_000_000,)), "--nodes"),
        (lambda: replace(GOOD, models=cast(tuple[Model, ...], ("exact",))), "--model"),
        (lambda: replace(GOOD, models=()), "--model"),
        (lambda: replace(GOOD, high=1.0), "--high"),
        (lambda: replace(GOOD, high=float("nan")), "--high"),
        (lambda: replace(GOOD, seed=-1), "--seed"),
        (lambda: replace(GOOD, timeout_s=0.0), "--timeout"),
        (lambda: replace(GOOD, memory_limit_bytes=0), "--memory-limit"),
        (lambda: PartitionRequest(nodes=(0,)), "--nodes"),
    ],
)
def test_refused(bad: object, where: str) -> None:
    assert callable(bad)
    with pytest.raises(ConfigError) as caught:
        bad()
    assert caught.value.where == where
