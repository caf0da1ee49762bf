"""Throughput R: measured from the plain run of the whole program, and only then."""

from pathlib import Path

import pytest

from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.pipeline import with_throughput
from commanalyzer.request import AnalysisRequest
from commanalyzer.result.results import Recording, WorkCounts

WORK = WorkCounts(flops=3_000_000, loads=1, stores=1, instructions=1)
SOURCE = (Path("a.c"),)


def recording(native_s: float | None) -> Recording:
    return Recording(native_s, 1.0, 1)


def test_work_over_time_of_the_plain_run() -> None:
    found = with_throughput(AnalysisRequest(SOURCE), recording(1.5), WORK).throughput
    assert found is not None
    assert (found.value, found.unit, found.source) == (2e6, "Flop/s", "measured")


@pytest.mark.parametrize(("native_s", "regions"), [(None, ()), (0.001, ()), (1.5, ("kernel",))])
def test_too_short_not_run_or_a_region(native_s: float | None, regions: tuple[str, ...]) -> None:
    request = AnalysisRequest(SOURCE, regions=regions)
    assert with_throughput(request, recording(native_s), WORK).throughput is None


def test_given_throughput_stays() -> None:
    given = Parameter(7e6, "Flop/s", "given")
    request = AnalysisRequest(SOURCE, machine=MachineParameters(throughput=given), regions=("kernel",))
    assert with_throughput(request, recording(1.5), WORK).throughput == given
