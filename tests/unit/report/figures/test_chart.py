"""Figures as files and inside a page: text stays text, nothing is loaded, same figure, same bytes."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from commanalyzer.report.figures.chart import CSS_NAMES, Chart, inline_svg, save_chart
from commanalyzer.report.figures.matrix import draw_matrix


def _draw(figure: Figure) -> None:
    draw_matrix(figure.subplots(), np.array([[0, 5], [70, 0]], dtype=np.int64))


def _chart(name: str = "demo") -> Chart:
    return Chart(name, "A <title>", "70 B & 5 B", (3.0, 2.0), _draw, dict)


def test_an_inline_figure_is_accessible_and_keeps_its_text() -> None:
    text = inline_svg(_chart())
    assert text.startswith('<svg role="img" aria-labelledby="demo-title demo-text" viewBox="0 0 216 144"')
    assert "A &lt;title&gt;</title>" in text
    assert "70 B &amp; 5 B</desc>" in text
    assert ">70 B</text>" in text
    assert ">from node</text>" in text


def test_an_inline_figure_takes_colours_and_font_from_the_page() -> None:
    text = inline_svg(_chart())
    assert [color for color in CSS_NAMES if color in text] == []
    assert "fill: var(--ink)" in text
    assert set(re.findall(r"font-family: ([^;\"]*)", text)) == {"var(--font)"}
    assert "<style" not in text


def test_figures_in_one_page_share_no_identifiers() -> None:
    first, second = (set(re.findall(r'\bid="([^"]*)"', inline_svg(_chart(n)))) for n in ("one", "two"))
    assert first and not first & second
    text = inline_svg(_chart("one"))
    used = set(re.findall(r"url\(#([^)]*)\)", text)) | set(re.findall(r'href="#([^"]*)"', text))
    assert used and used <= first


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_the_same_figure_gives_the_same_file(tmp_path: Path, form: str) -> None:
    paths = [tmp_path / f"{n}.{form}" for n in (1, 2)]
    for path in paths:
        save_chart(_chart(), path, form)
    one, two = (path.read_bytes() for path in paths)
    assert one == two
    start = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[form]
    assert one.startswith(start)
