"""One figure of a report: how to draw it, what it says in words, and its numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commanalyzer.report.figures.style import CSS_NAMES, new_figure, report_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
Values: TypeAlias = Sequence[int] | Sequence[float] | Sequence[str]
# Nothing that differs from run to run, and no addresses of other documents.
_NO_METADATA = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate", "Creator", "Producer")}
_POINTS_PER_INCH = 72.0
_PIXELS_PER_INCH = 100.0  # in a page: 9 point text is 12.5 pixels high


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure that can be drawn anywhere.

    Attributes:
        name: Name of its files, without ending: letters, digits and hyphens.
        title: What it shows, a few words.
        text: What it says, for readers who do not see it.
        size_in: Width and height, inches.
        draw: Draws on an empty figure.
        numbers: Makes its numbers: names with units, columns of equal length.
    """

    name: str
    title: str
    text: str
    size_in: tuple[float, float]
    draw: Callable[[Figure], None]
    numbers: Callable[[], Mapping[str, Values]]

    @property
    def width_px(self) -> int:
        """Width in a page, CSS pixels."""
        return round(self.size_in[0] * _PIXELS_PER_INCH)


def save_chart(chart: Chart, path: Path, form: str) -> None:
    """Write ``chart`` as ``svg``, ``pdf`` or ``png``; the same figure gives the same bytes."""
    path.write_bytes(_rendered(chart, form))


def inline_svg(chart: Chart) -> str:
    """Return the figure for use inside a page: colours and font of the page, named for screen readers."""
    text = _rendered(chart, "svg").decode()
    text = text[text.index("<svg") :]
    text = _with_own_names(text, chart.name)
    for color, name in CSS_NAMES.items():
        text = text.replace(color, f"var({name})")
    text = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", text)
    text = re.sub(
        r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL
    )  # of all elements
    width, height = chart.size_in
    box = f"0 0 {width * _POINTS_PER_INCH:g} {height * _POINTS_PER_INCH:g}"
    start = (
        f'<svg role="img" aria-labelledby="{chart.name}-title {chart.name}-text" viewBox="{box}" '
        f'xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink"><title id="{chart.name}-title">{escape(chart.title)}'
        f'</title><desc id="{chart.name}-text">{escape(chart.text)}</desc>'
    )
    return re.sub(r"<svg[^>]*>", lambda _: start, text, count=1)


def _rendered(chart: Chart, form: str) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with report_style(), mpl.rc_context({"svg.hashsalt": chart.name}):
        figure = new_figure(*chart.size_in)
        chart.draw(figure)
        nothing = dict.fromkeys(_NO_METADATA.get(form, ()))
        figure.savefig(buffer, format=form, transparent=False, metadata=nothing or None)
    return buffer.getvalue()


def _with_own_names(text: str, name: str) -> str:
    """Several figures in one page must not share identifiers."""
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    return re.sub(r'(xlink:)?href="#', f'href="#{name}-', text)
