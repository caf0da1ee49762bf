"""One figure of a report: how to draw it, what it says in words, and its numbers.

Look of all figures: colours that can become CSS variables, text as text, one rhythm of lines and sizes.

The colours of text, lines and series are those of the light page. A figure inside a page has them replaced by
the variables of the style sheet (:data:`CSS_NAMES`), so that it follows the reader's light or dark scheme.
Amounts are coloured from light to dark in one hue, parts by samples of *viridis*: both keep their order of
lightness for every kind of colour vision and in grey.

Figures as files: SVG, PDF and PNG, their numbers as CSV and JSON, and an index.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commanalyzer.foundation.documents import csv_text
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import write_atomically, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType


INK = "#1d2126"
MUTED = "#5b6470"
LINE = "#dadfe4"
PAPER = "#fefefe"
SERIES = ("#0b6a8f", "#b4540a", "#3d7a3f", "#7a4fa3", "#8a6d00", "#a63d57")
CSS_NAMES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    PAPER: "--paper",
    **{color: f"--series-{number}" for number, color in enumerate(SERIES)},
}
AMOUNTS = ("#c9e0ea", SERIES[0], "#06293a")  # light to dark; the style sheet inverts pictures for dark pages
FONT_SIZE = 9.0
MARKERS = "osD^vP"
_LEGEND_WIDTH = 24

_SETTINGS: dict[RcKeyType, object] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": FONT_SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": FONT_SIZE + 1.0,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "normal",
    "axes.grid": False,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": FONT_SIZE - 0.5,
    "ytick.labelsize": FONT_SIZE - 0.5,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.frameon": False,
    "legend.fontsize": FONT_SIZE - 0.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": FONT_SIZE,
    "mathtext.default": "regular",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "image.interpolation": "none",
    "savefig.dpi": 160,
}


@contextmanager
def report_style() -> Iterator[None]:
    """Use the settings of the reports while figures are made and saved; the user's own return afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        yield


def new_figure(width_in: float, height_in: float) -> Figure:
    """Return a figure of its own: no window, no global state, laid out without overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def short_name(name: str) -> str:
    """What of a machine's name fits a legend: up to comma, colon or bracket, at most 24 characters."""
    short = re.split(r"[,:(]", name, maxsplit=1)[0].strip() or name
    return short if len(short) <= _LEGEND_WIDTH else f"{short[: _LEGEND_WIDTH - 1].rstrip()}…"


def grid_lines(ax: Axes) -> None:
    """Draw faint lines at the major ticks, below the data."""
    ax.grid(visible=True)
    ax.set_axisbelow(True)


FORMATS = ("svg", "pdf", "png")
Values: TypeAlias = Sequence[int] | Sequence[float] | Sequence[str]
# Nothing that differs from run to run, and no addresses of other documents.
_NO_METADATA = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate", "Creator", "Producer")}
_POINTS_PER_INCH = 72.0


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure that can be drawn anywhere."""

    name: str  # name of its files, without ending: letters, digits and hyphens
    title: str  # what it shows, a few words
    text: str  # what it says, for readers who do not see it
    size_in: tuple[float, float]  # width and height, inches; a page shows 100 CSS pixels per inch
    draw: Callable[[Figure], None]  # draws on an empty figure
    # Makes its numbers: names with units, columns of equal length
    numbers: Callable[[], Mapping[str, Values]]
    # Makes what ``report.js`` tells of the cells of its pictures; ``None`` where it tells nothing
    pointed: Callable[[], Mapping[str, object]] | None = None


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


SCHEMA = "commanalyzer.figure/1"


def figure_paths(charts: Sequence[Chart], folder: Path) -> tuple[Path, ...]:
    """Return every file that :func:`write_figures` writes."""
    endings = (*FORMATS, "csv", "json")
    return (*(folder / f"{c.name}.{e}" for c in charts for e in endings), folder / "index.csv")


def require_folder(folder: Path) -> None:
    """Make the directory of the figures if needed; ``ArtifactError`` if it is a file or cannot be made."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ArtifactError(
            f"expected a directory for the figures or a place to make it, found: {error.strerror}",
            where=str(folder),
        ) from error


def require_new(charts: Sequence[Chart], folder: Path, force: bool) -> None:
    """``ArtifactError`` if a file of a figure exists without ``force``; called before anything is written."""
    present = [path for path in figure_paths(charts, folder) if path.exists()]
    if present and not force:
        raise ArtifactError(
            f"expected new files, found {len(present)} existing ones",
            where=str(present[0]),
            hint="overwrite them with --force",
        )


def write_figures(charts: Sequence[Chart], folder: Path) -> None:
    """Write all figures and ``index.csv`` (name, title, text) into ``folder``, replacing files.

    Raises ``ArtifactError`` if a file cannot be written.
    """
    for chart in charts:
        for form in FORMATS:
            write_atomically(
                folder / f"{chart.name}.{form}", partial(save_chart, chart, form=form), force=True
            )
        numbers = chart.numbers()
        document = {"schema": SCHEMA, "name": chart.name, "title": chart.title, "columns": dict(numbers)}
        text = json.dumps(document, indent=1, ensure_ascii=False)
        write_text(folder / f"{chart.name}.json", text + "\n", force=True)
        rows = list(zip(*numbers.values(), strict=True))
        write_text(folder / f"{chart.name}.csv", csv_text([tuple(numbers), *rows]), force=True)
    index = [("name", "title", "text"), *((c.name, c.title, c.text) for c in charts)]
    write_text(folder / "index.csv", csv_text(index), force=True)
