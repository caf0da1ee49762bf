import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.report.figures.chart import inline_svg
from commanalyzer.report.html.chapters import allocations_chapter
from commanalyzer.report.html.page import FurtherChapters, NamedResult, make_page, render_page
from commanalyzer.report.scaling import allocations_text as shown
from commanalyzer.scaling.allocations.advice import AllocationReport
from commanalyzer.scaling.allocations.decisions import AllocationLimits, Configurations, decide
from tests.samples import sample_result
from tests.unit.report.html.pages import read_page


def _report() -> AllocationReport:
    nodes, processes = np.array([1, 2, 4]), np.array([4, 4, 4])
    found = Configurations(
        nodes, processes, np.array([40.0, 20.0, 10.0]), np.array([0.0, 1.0, 15.0]), 160.0, np.full(3, np.nan),
        np.array([False, False, True]), np.array([False, True, False]), np.array([True, False, False]),
    )  # fmt: skip
    limits = AllocationLimits(most_nodes=4, cores_per_node=8)
    return AllocationReport("jacobi", "cluster", "areas", found, limits, decide(found, limits))


def test_a_document_is_read_again(tmp_path: Path) -> None:
    report, path = _report(), tmp_path / "a.json"
    path.write_text(shown.allocations_json(report))
    assert shown.allocations_json(shown.load_allocations(path)) == path.read_text()


def test_words() -> None:
    report = _report()
    text = "\n".join(shown.decision_lines(report))
    assert "Fastest: 2 x 4" in text
    assert "Scalability breaks after 8 cores" in text
    assert "Memory that a node needs: not known" in text
    known = replace(report.found, node_bytes=np.array([8e9, 4e9, 2e9]))
    for has, refused, said in ((None, 0, "not known, it limits nothing"), (3e9, 2, "3 GB"), (1e9, 3, "1 GB")):
        limits = replace(report.limits, memory_bytes=has)
        told = replace(report, found=known, limits=limits, decision=decide(known, limits))
        assert f"2 GB to 8 GB; that the machine's nodes have: {said}" in "\n".join(shown.decision_lines(told))
        assert sum("memory" in why for why in told.decision.reasons) == refused
    assert shown.remarks_of(report, 0) == ["memory-bound"]
    assert shown.remarks_of(report, 2) == ["beyond the data"]


def test_the_chapter_has_the_front_as_a_figure() -> None:
    chapter = allocations_chapter(_report())
    (chart,) = chapter.charts
    assert "2 of them on the front" in chart.text
    assert "<svg" in inline_svg(chart)
    assert chart.numbers()["on_front"] == [1, 1, 0]


@pytest.mark.parametrize("damage", ["configurations", "limits", "decision", "serial_s"])
def test_damaged_documents_are_refused(damage: str, tmp_path: Path) -> None:
    document = json.loads(shown.allocations_json(_report()))
    del document[damage]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ArtifactError, match="damaged"):
        shown.load_allocations(path)
    path.write_text("{}")
    with pytest.raises(ArtifactError, match="schema"):
        shown.load_allocations(path)


def test_a_page_shows_allocations_and_loads_nothing() -> None:
    page = make_page([NamedResult("sample", sample_result())], further=FurtherChapters(allocations=_report()))
    text = read_page(render_page(page))
    assert "Allocations of jacobi" in text.headings
    assert "Nodes and processes to ask for" in text.headings
    assert "#SBATCH --nodes=2" in text.text
    assert text.loaded == []
