"""One description of a table, what each column shows of an item: for a terminal, and for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar, Unpack

from rich.box import Box
from rich.console import Console, ConsoleOptions, JustifyMethod, OverflowMethod, RenderResult
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text

from commanalyzer.report.html import blocks

T = TypeVar("T")


class ColumnLook(TypedDict, total=False):
    """What rich's ``add_column`` is told besides head and side."""

    no_wrap: bool
    overflow: OverflowMethod
    style: str
    min_width: int | None


class TableLook(TypedDict, total=False):
    """What rich's ``Table`` is told besides its title."""

    title_justify: JustifyMethod
    box: Box | None
    padding: PaddingDimensions
    pad_edge: bool
    show_header: bool


PLAIN: TableLook = {"box": None, "padding": (0, 2, 0, 0)}


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    """A column: head, what it shows of an item, its meaning (for a page), its look (for a terminal)."""

    name: str
    cell: Callable[[T], str]
    is_number: bool
    meaning: str
    look: ColumnLook


def worded(name: str, cell: Callable[[T], str], meaning: str = "", **look: Unpack[ColumnLook]) -> Field[T]:
    """Column of words."""
    return Field(name, cell, False, meaning, look)


def numeric(name: str, cell: Callable[[T], str], meaning: str = "", **look: Unpack[ColumnLook]) -> Field[T]:
    """Column of numbers, on the right."""
    return Field(name, cell, True, meaning, look)


def across(
    names: Iterable[str],
    cell: Callable[[T, int], str],
    **look: Unpack[ColumnLook],
) -> list[Field[T]]:
    """Columns of numbers of one kind: ``cell`` shows an item's value in the k-th of them."""

    def of(place: int) -> Callable[[T], str]:
        return lambda item: cell(item, place)

    return [numeric(name, of(place), **look) for place, name in enumerate(names)]


class _Whole(Table):
    """A table that is folded where the terminal has no room for it: no digit is left out."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options).minimum >= options.max_width:
            for column in self.columns:
                column.no_wrap = False
        return super().__rich_console__(console, options)


def terminal_table(
    items: Iterable[T], fields: Iterable[Field[T]], title: str = "", **look: Unpack[TableLook]
) -> Table:
    """Table for a terminal, its title on the left unless its ``look`` says otherwise."""
    shown = list(fields)
    look.setdefault("title_justify", "left")
    table = _Whole(title=title or None, **look)
    for column in shown:
        folded: ColumnLook = {"overflow": "fold", **column.look}
        table.add_column(column.name, justify="right" if column.is_number else "left", **folded)
    for item in items:
        table.add_row(*(Text(column.cell(item)) for column in shown))
    return table


def print_lines(console: Console, lines: Iterable[str], *, is_wide: bool = False) -> None:
    """Print each line as it is; wide ones, such as those of matrices, are not folded."""
    for line in lines:
        if is_wide:
            console.print(Text(line), no_wrap=True, overflow="ignore", crop=False)
        else:
            console.print(Text(line))


def page_table(
    caption: str,
    items: Iterable[T],
    fields: Sequence[Field[T]],
    *,
    share: Callable[[T], float | None] = lambda _: None,
    is_marked: Callable[[T], bool] = lambda _: False,
) -> blocks.Table:
    """Table for a page; ``share`` of an item is drawn as a bar, marked items stand out."""
    heads = tuple(blocks.Head(column.name, column.is_number, column.meaning) for column in fields)
    rows = [
        blocks.Row(tuple(column.cell(item) for column in fields), is_marked(item), share(item))
        for item in items
    ]
    return blocks.Table(caption, heads, tuple(rows))
