"""Documents of measurements: sections with tables and sentences, on the terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from rich.console import Console
from rich.text import Text

from commanalyzer.report.tables import Field, terminal_table


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document."""

    title: str
    paragraphs: tuple[str, ...] = ()  # sentences before the table
    columns: tuple[str, ...] = ()  # titles of the table; empty for none
    rows: tuple[tuple[str, ...], ...] = ()  # cells
    text_columns: int = 1  # leading columns that are text, not numbers
    items: tuple[str, ...] = ()  # list after the table


@dataclass(frozen=True, slots=True)
class Document:
    """Title and sections."""

    title: str
    sections: tuple[Passage, ...]


def show_document(document: Document, console: Console) -> None:
    """Print ``document``."""
    for section in document.sections:
        for text in (*section.paragraphs, *section.items):
            console.print(Text(text.replace("**", "").replace("`", "")))
        if section.columns:
            fields = [
                Field(name, itemgetter(i), i >= section.text_columns, "", {"overflow": "fold"})
                for i, name in enumerate(section.columns)
            ]
            console.print(terminal_table(section.rows, fields, section.title))


def markdown_text(document: Document) -> str:
    """Markdown with one table per section."""
    parts = [f"# {document.title}", *(_markdown(section) for section in document.sections)]
    return "\n\n".join(parts) + "\n"


def _markdown(section: Passage) -> str:
    blocks = [f"## {section.title}", *section.paragraphs]
    if section.columns:
        marks = ["---" if i < section.text_columns else "---:" for i in range(len(section.columns))]
        lines = [section.columns, marks, *section.rows]
        blocks.append(
            "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        )
    if section.items:
        blocks.append("\n".join(f"* {item}" for item in section.items))
    return "\n\n".join(blocks)
