"""A headless Chromium, as far as tests need it: what a page says, requests, prints and looks like."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_ITSELF = "not an origin"
_SCHEMES = ("http:", "https:", "ws:", "ftp:")


@dataclass(frozen=True, slots=True)
class Visit:
    """What a browser did with a page.

    Attributes:
        document: The page after it was loaded, as HTML.
        console: Messages on its console.
        requested: Addresses that it asked a network for.
    """

    document: str
    console: tuple[str, ...]
    requested: tuple[str, ...]


def find_browser() -> str:
    """Path of the browser; skips the test without one."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium")
    return found


def visit(page: Path, folder: Path, *, is_dark: bool, width: int = 1300) -> Visit:
    """Load ``page`` in light or dark and say what happened."""
    log = folder / "net.json"
    done = _browse(folder, is_dark, width, f"--log-net-log={log}", "--dump-dom", page.as_uri())
    console = tuple(re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr))
    return Visit(done.stdout, console, _requests(log))


def screenshot(page: Path, folder: Path, *, is_dark: bool, width: int) -> Path:
    """Picture (PNG) of the first 800 pixels of ``page``."""
    path = folder / f"shot-{'dark' if is_dark else 'light'}-{width}.png"
    _browse(folder, is_dark, width, f"--screenshot={path}", page.as_uri())
    return path


def print_pdf(page: Path, folder: Path) -> bytes:
    """The page as PDF."""
    path = folder / "page.pdf"
    _browse(folder, False, 1300, f"--print-to-pdf={path}", page.as_uri())
    return path.read_bytes()


def _browse(folder: Path, is_dark: bool, width: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    scheme = "0" if is_dark else "1"
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update")
    command = [
        find_browser(),
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *quiet),
        "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing leaves the machine, whoever asks
        *(f"--user-data-dir={folder / 'profile'}", f"--window-size={width},800"),
        *("--enable-logging=stderr", f"--blink-settings=preferredColorScheme={scheme}"),
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def _requests(log: Path) -> tuple[str, ...]:
    """Addresses of a network that the page asked for; what the browser asks for itself has no origin."""
    events = json.loads(log.read_text())["events"]
    found = [event.get("params", {}) for event in events]
    asked = [p for p in found if p.get("initiator", _ITSELF) != _ITSELF]
    pages = [p for p in asked if str(p.get("url", "")).startswith(_SCHEMES)]
    return tuple(sorted({str(p["url"]) for p in pages}))
