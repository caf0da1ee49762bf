"""What a page consists of: sections of words, numbers, tables, figures and source code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from commanalyzer.report.figures.chart import Chart


@dataclass(frozen=True, slots=True)
class Words:
    """Paragraphs."""

    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences, one point each; ``is_warning`` marks what the reader must know."""

    sentences: tuple[str, ...]
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that stands out: what, how much, and a remark."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Numbers that stand out."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """Head of a column: name, whether it holds numbers, and what it means."""

    name: str
    is_number: bool = True
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a line; it stands out if marked. ``share`` (0 to 1) is drawn as a bar in the first cell."""

    cells: tuple[str, ...]
    is_marked: bool = False
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names the line; ``ValueError`` if a row has not one cell per column."""

    caption: str
    columns: tuple[Head, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} cells in {self.caption!r}, found {row.cells}")


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures side by side, each with its title and text below; ``nodes`` where all are of one node count."""

    charts: tuple[Chart, ...]
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A source line: number, text, what it needs and makes (empty when nothing)."""

    number: int
    text: str
    needed: str = ""
    made: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of one source file."""

    file: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that are shown on demand (and in print); ``nodes`` where all are of one node count."""

    title: str
    blocks: Sequence[Content]
    nodes: int = 0


Content: TypeAlias = Words | Points | Tiles | Table | Figures | Code | Facts | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page; ``name`` is unique in the page, letters, digits and hyphens."""

    name: str
    title: str
    blocks: tuple[Content, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Everything about one result."""

    name: str
    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All figures, in order."""
        blocks = (block for section in self.sections for block in unfolded(section.blocks))
        return tuple(c for block in blocks if isinstance(block, Figures) for c in block.charts)


def unfolded(blocks: Sequence[Content]) -> Iterator[Content]:
    """All ``blocks``, those of folds instead of folds."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from unfolded(block.blocks)
        else:
            yield block


def explained(sections: Sequence[Section]) -> Section | None:
    """Return a section that says what the columns of all tables mean; ``None`` if nothing needs it."""
    blocks = (block for section in sections for block in unfolded(section.blocks))
    columns = [c for block in blocks if isinstance(block, Table) for c in block.columns]
    pairs = dict.fromkeys((c.name, f"{c.meaning[:1].upper()}{c.meaning[1:]}.") for c in columns if c.meaning)
    if not pairs:
        return None
    name = sections[0].name.rpartition("-")[0]
    return Section(f"{name}-columns", "Columns", (Folded("What the columns mean", [Facts(tuple(pairs))]),))
