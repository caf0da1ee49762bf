"""The document of the benchmarks: means over workloads, further inputs beside them."""

from __future__ import annotations

from commanalyzer.report.document_files import markdown_text
from tests.bench.cases import CASES
from tests.bench.document import performance_document
from tests.bench.measuring import Cost, Measured, Stages


def measured(case: str, *ratios: float) -> Measured:
    """A workload whose runs take 1, 2 ... seconds plainly, and so many times as long recorded."""
    costs = [Cost(case, k, k * ratio, 1, 0.0, 0, 0) for k, ratio in enumerate(ratios, 1)]
    return Measured(tuple(costs), Stages(1, 1, 1, 1.0, None, 1.0))


def text_of(*extra: Measured) -> str:
    document = performance_document(
        [measured("heat2d 9", 2.0, 1.0), measured("pic 8", 8.0)], extra, (), (), (), (), ()
    )
    return markdown_text(document)


def test_means_have_one_input_of_each_workload() -> None:
    text = text_of(measured("pic 9", 30.0, 20.0))
    assert "Geometric mean of the ratios: 4.00 of runs of 1.0 s (median); 1.00 of runs" in text
    assert "The means have one input of each workload; without pic 9 (30.00), pic 9 (20.00)." in text
    assert "| pic 9 | 2.000 | 40.00 | 20.00 |" in text
    assert "The means have one input" not in text_of()


def test_every_workload_has_one_input_in_the_means() -> None:
    counted = [case.name for case in CASES if not case.is_extra]
    assert sorted(counted) == sorted({case.name for case in CASES})
