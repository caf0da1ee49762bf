"""Reads a page as a browser would: texts, identifiers, links, tables."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_EMPTY = frozenset({"meta", "link", "br", "img"})


@dataclass
class ReadPage(HTMLParser):
    """What a page consists of.

    Attributes:
        headings: Texts of h1 and h2.
    """

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    open_tags: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    text: str = ""
    scripts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in _EMPTY:
            self.open_tags.append(tag)
        if tag in ("h1", "h2"):
            self.headings.append("")
        for name, value in attrs:
            target = value or ""
            if name == "id":
                self.ids.append(target)
            elif name in ("href", "src", "xlink:href") and target.startswith("#"):
                self.links.append(target[1:])
            elif name in ("href", "src", "xlink:href", "srcset", "data", "action") and target[:5] != "data:":
                self.loaded.append(target)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY:
            assert self.open_tags.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open_tags:
            return
        if "script" in self.open_tags:
            self.scripts.append(data)
            return
        self.text += data
        if self.open_tags and self.open_tags[-1] in ("h1", "h2"):
            self.headings[-1] += data


def read_page(html: str) -> ReadPage:
    """The page, with every element closed and every identifier unique."""
    page = ReadPage()
    page.feed(html)
    page.close()
    assert page.open_tags == []
    assert len(page.ids) == len(set(page.ids))
    return page
