"""Checks the built documentation: ``python -m tests.documentation.built build/docs``.

Sphinx warns of links between pages that lead nowhere, and not of markup that it shows as text. Here: no page
shows markup of its source, every command has its heading, every link within the pages and its anchor exist.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import click

from commanalyzer.cli.main import group

_MARKUP = re.compile(r"\.\. [\w-]+::|:\w+:`|^:{3,}|\]\([\w./#-]+\)|^#+ ", re.MULTILINE)


class _Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors = {""}
        self.headings: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.anchors |= {known.get("id") or "", known.get("name") or ""}
        self.links |= {known.get("href") or "", known.get("src") or ""}
        if tag in ("pre", "code", "script", "style", "h1", "h2", "h3"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if set(self._open) & {"h1", "h2", "h3"}:
            self.headings.append(data)
        elif not self._open:
            self.text.append(data)


def problems(folder: Path) -> list[str]:
    """What is wrong with the pages in a folder, one line each."""
    pages = {path: _Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        name = str(path.relative_to(folder))
        found += [f"{name}: shows markup: {m.group()!r}" for m in _MARKUP.finditer("".join(page.text))]
        for link in sorted(page.links):
            place, anchor = urldefrag(link)
            if urlsplit(place).scheme or place.startswith("//"):
                continue
            target = (path.parent / unquote(urlsplit(place).path)).resolve() if place else path
            if not target.exists() or (target in pages and unquote(anchor) not in pages[target].anchors):
                found.append(f"{name}: leads nowhere: {link}")
    headings = pages[folder / "reference" / "commands.html"].headings
    missing = set(group.list_commands(click.Context(group))) - set(headings)
    return found + [f"reference/commands.html: has no heading {name}" for name in sorted(missing)]


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]).resolve())) or None)
