"""Cases side by side: same results in the same order, failures among them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from commanalyzer.checking.validation.cases import CaseProgram, read_cases
from commanalyzer.checking.validation.run import Case, Failure, each_case
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.progress import SilentProgress

CASES = Path(__file__).resolve().parents[4] / "workloads" / "validation.toml"


def name_and_arguments(case: Case) -> Sequence[tuple[CaseProgram, str]]:
    workload, arguments = case
    if workload.name == "spmv":
        raise ConfigError("expected another workload, found spmv")
    return [(workload, word) for word in arguments]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_cases(jobs: int) -> None:
    cases = [(w, w.sizes[0]) for w in read_cases(CASES) if w.name in ("heat2d", "spmv", "matmul")]
    heat2d, matmul, spmv = (case[0] for case in cases)
    found = tuple(each_case(name_and_arguments, cases, "name", SilentProgress(), jobs))
    expected = [(heat2d, word) for word in heat2d.sizes[0]] + [(matmul, matmul.sizes[0][0])]
    assert found == (*expected, Failure(spmv, spmv.sizes[0], "expected another workload, found spmv"))
