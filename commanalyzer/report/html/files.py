"""Figures of a report as files: SVG, PDF and PNG, their numbers as CSV and JSON, and an index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from commanalyzer.foundation.documents import csv_text
from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import write_atomically, write_text
from commanalyzer.report.figures.chart import FORMATS, Chart, save_chart

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
            _write_picture(chart, folder / f"{chart.name}.{form}", form)
        numbers = chart.numbers()
        document = {"schema": SCHEMA, "name": chart.name, "title": chart.title, "columns": dict(numbers)}
        text = json.dumps(document, indent=1, ensure_ascii=False)
        write_text(folder / f"{chart.name}.json", text + "\n", force=True)
        rows = list(zip(*numbers.values(), strict=True))
        write_text(folder / f"{chart.name}.csv", csv_text([tuple(numbers), *rows]), force=True)
    index = [("name", "title", "text"), *((c.name, c.title, c.text) for c in charts)]
    write_text(folder / "index.csv", csv_text(index), force=True)


def _write_picture(chart: Chart, path: Path, form: str) -> None:
    write_atomically(path, lambda draft: save_chart(chart, draft, form), force=True)
