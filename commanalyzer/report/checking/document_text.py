"""A document of a validation on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.checking.validation.document import Document, Section


def show_document(document: Document, console: Console, *, quiet: bool = False) -> None:
    """Print ``document``; only the tables with ``quiet``."""
    for section in document.sections:
        if quiet and not section.columns:
            continue
        if not quiet:
            for text in (*section.paragraphs, *section.items):
                console.print(Text(text.replace("**", "").replace("`", "")))
        if section.columns:
            console.print(_table(section))


def _table(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left")
    for index, name in enumerate(section.columns):
        is_text = index < section.text_columns
        table.add_column(name, justify="left" if is_text else "right", overflow="fold")
    for row in section.rows:
        table.add_row(*map(Text, row))
    return table
