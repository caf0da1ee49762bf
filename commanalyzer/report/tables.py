"""One description of a table, what each column shows of an item: for a terminal, and for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.table import Table
from rich.text import Text

from commanalyzer.report.html import blocks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A column: head, what it shows of an item, its meaning (for a page), more for rich's ``add_column``."""

    name: str
    cell: Callable[[T], str]
    is_number: bool
    meaning: str
    look: Mapping[str, Any]


def worded(name: str, cell: Callable[[T], str], meaning: str = "", **look: Any) -> Field[T]:
    """Column of words."""
    return Field(name, cell, False, meaning, look)


def numeric(name: str, cell: Callable[[T], str], meaning: str = "", **look: Any) -> Field[T]:
    """Column of numbers, on the right."""
    return Field(name, cell, True, meaning, look)


def terminal_table(items: Iterable[T], fields: Sequence[Field[T]], title: str = "", **look: Any) -> Table:
    """Table for a terminal, its title on the left; ``look`` is what else rich is told of it."""
    table = Table(title=title or None, **{"title_justify": "left", **look})
    for column in fields:
        table.add_column(column.name, justify="right" if column.is_number else "left", **column.look)
    for item in items:
        table.add_row(*(Text(column.cell(item)) for column in fields))
    return table


def page_table(
    caption: str,
    items: Iterable[T],
    fields: Sequence[Field[T]],
    *,
    share: Callable[[T], float | None] = lambda _: None,
    is_marked: Callable[[T], bool] = lambda _: False,
) -> blocks.Table:
    """Table for a page; ``share`` of an item is drawn as a bar, marked items stand out."""
    heads = tuple(blocks.Column(column.name, column.is_number, column.meaning) for column in fields)
    rows = [
        blocks.Row(tuple(column.cell(item) for column in fields), is_marked(item), share(item))
        for item in items
    ]
    return blocks.Table(caption, heads, tuple(rows))
