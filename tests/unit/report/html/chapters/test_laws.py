"""The chapter of laws: formulas as they are, projections by Eq. 4 with the laws' bytes and work."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from commanalyzer.foundation.errors import FitError
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.html.chapters import LawsRequest, laws_chapter
from commanalyzer.report.html.page import FurtherChapters, NamedResult, make_page, render_page
from commanalyzer.result.provenance import file_hash
from commanalyzer.scaling.laws.document import LawsDocument
from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor
from tests.samples import sample_result
from tests.unit.report.html.pages import read_page

MACHINE = MachineParameters("m", bandwidth=Parameter(1e9, "B/s"), throughput=Parameter(1e9, "Flop/s"))


def _law(metric: str, *factors: Factor, parameters: tuple[str, ...] = ("n", "p")) -> Law:
    """``metric`` = 10 times the factors; n was 10 to 100 and p 2 to 8."""
    formula = Formula("lattice", (factors,), (10.0,))
    ends = ((10.0, 2.0)[: len(parameters)], (100.0, 8.0)[: len(parameters)])
    return Law(metric, parameters, formula, (), *ends, 20, ("few",))


def _document() -> LawsDocument:
    """Bytes 10 n (p - 1), work 10 n^2."""
    traffic = _law("comm_bytes", Factor(0, "power", Fraction(1)), Factor(1, "rise", Fraction(1)))
    work = _law("work_flops", Factor(0, "power", Fraction(2)), parameters=("n",))
    return LawsDocument("/some/where/heat", (traffic, work), {})


def test_laws_and_projection_have_a_chapter() -> None:
    request = LawsRequest(_document(), {"n": 1000.0}, (1, 4, 11), weak_parameter="n")
    named = [NamedResult("x", sample_result())]
    page = read_page(render_page(make_page(named, machines=[MACHINE], further=FurtherChapters(laws=request))))
    assert page.headings[-4:] == ["Laws of heat", "Scaling laws", "Projection on m", "Columns"]
    text = " ".join(page.text.split())
    assert "10 n (p - 1)" in text
    assert "n 10 to 100, p 2 to 8" in text
    assert "comm_bytes: few." in text
    # E = 1 / (1 + C / W), C / W = (p - 1) / n
    assert "Strong scaling: at best 99.0 % on 11 nodes of m" in text


def test_the_numbers_of_the_projection_are_those_of_equation_4() -> None:
    chapter = laws_chapter(LawsRequest(_document(), {"n": 10.0}, (1, 6, 11), "n"), (MACHINE,))
    numbers = chapter.charts[1].numbers()
    assert list(numbers["scaling"]) == ["strong"] * 3 + ["weak"] * 3
    assert list(numbers["nodes"]) == [1, 6, 11] * 2
    weak = [1 / (1 + (p - 1) / round(10 * p**0.5)) for p in (1, 6, 11)]  # n grows as sqrt(p)
    assert list(numbers["efficiency"]) == pytest.approx([1.0, 1 / 1.5, 1 / 2.0, *weak])


def test_without_machine_or_problem_the_chapter_says_what_to_give() -> None:
    without = laws_chapter(LawsRequest(_document(), {"n": 10.0}, (4,)), ())
    assert "give a machine" in repr(without.sections[1])
    without = laws_chapter(LawsRequest(_document(), {}, (4,)), (MACHINE,))
    assert "--param n=4096" in repr(without.sections[1])


def test_bytes_are_drawn_beside_what_was_measured(tmp_path: Path) -> None:
    """10 n (p - 1) on 12 points, one of which lies a quarter above; the line is not moved by it."""
    path = tmp_path / "table.csv"
    points = [(n, p) for n in (10, 20, 100) for p in (2, 4, 6, 8)]
    rows = [f"{n},{p},{10 * n * (p - 1) * (1.25 if (n, p) == (20, 4) else 1)}" for n, p in points]
    path.write_text("\n".join(["n,p,comm_bytes", *rows]), encoding="utf-8")
    traffic = replace(_document().laws[0], num_points=len(points))
    document = LawsDocument("heat", (traffic,), {"input_hashes": [[str(path), file_hash(path)]]})
    (chart,) = laws_chapter(LawsRequest(document), ()).charts
    assert "at most 20.0 % from their line" in chart.text
    figure = Figure()
    chart.draw(figure)
    line, dots = figure.axes[0].lines[2:4]
    assert dots.get_xydata() == pytest.approx(np.array([[2, 200], [4, 750], [6, 1000], [8, 1400]]))
    x, y = np.asarray(line.get_xydata()).T
    assert x.max() == 16 and y == pytest.approx(200 * (x - 1))
    path.write_text("n,p,comm_bytes\n", encoding="utf-8")
    (chart,) = laws_chapter(LawsRequest(document), ()).charts
    assert "Measured points are not drawn" in chart.text


def test_a_missing_law_is_an_error() -> None:
    document = _document()
    request = LawsRequest(replace(document, laws=document.laws[:1]), {"n": 10.0}, (4,))
    with pytest.raises(FitError, match="expected a law of work_flops"):
        laws_chapter(request, (MACHINE,))
