"""A document of a validation on the terminal, as Markdown and as HTML."""

from __future__ import annotations

import re
from html import escape
from operator import itemgetter

from rich.console import Console
from rich.text import Text

from commanalyzer.checking.validation.document import Document, Section
from commanalyzer.report.tables import Field, terminal_table


def show_document(document: Document, console: Console, *, quiet: bool = False) -> None:
    """Print ``document``; only the tables with ``quiet``."""
    for section in document.sections:
        if quiet and not section.columns:
            continue
        if not quiet:
            for text in (*section.paragraphs, *section.items):
                console.print(Text(text.replace("**", "").replace("`", "")))
        if section.columns:
            fields = [
                Field(name, itemgetter(i), i >= section.text_columns, "", {"overflow": "fold"})
                for i, name in enumerate(section.columns)
            ]
            console.print(terminal_table(section.rows, fields, section.title))


_STYLE = (
    "body{font:15px/1.5 sans-serif;margin:2em auto;max-width:80em;padding:0 1em}"
    "table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}"
    "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}.n{text-align:right}"
)


def markdown_text(document: Document) -> str:
    """Markdown with one table per section."""
    parts = [f"# {document.title}", *(_markdown(section) for section in document.sections)]
    return "\n\n".join(parts) + "\n"


def _markdown(section: Section) -> str:
    blocks = [f"## {section.title}", *section.paragraphs]
    if section.columns:
        marks = ["---" if i < section.text_columns else "---:" for i in range(len(section.columns))]
        lines = [section.columns, marks, *section.rows]
        blocks.append("\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines))
    if section.items:
        blocks.append("\n".join(f"* {item}" for item in section.items))
    return "\n\n".join(blocks)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def html_text(document: Document) -> str:
    """One HTML page that needs nothing else."""
    title = escape(document.title)
    body = "".join(_html(section) for section in document.sections)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    )


def _html(section: Section) -> str:
    text = [f"<h2>{escape(section.title)}</h2>", *(f"<p>{_inline(p)}</p>" for p in section.paragraphs)]
    if section.columns:
        lines = [_line(section, section.columns, "th"), *(_line(section, row, "td") for row in section.rows)]
        text.append(f"<table>{''.join(lines)}</table>")
    if section.items:
        text.append(f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in section.items)}</ul>")
    return "".join(text)


def _line(section: Section, cells: tuple[str, ...], tag: str) -> str:
    kinds = ["" if i < section.text_columns else ' class="n"' for i in range(len(cells))]
    return f"<tr>{''.join(f'<{tag}{k}>{_inline(c)}</{tag}>' for k, c in zip(kinds, cells, strict=True))}</tr>"


def _inline(text: str) -> str:
    """Bold and code as in Markdown, everything else plain."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)
