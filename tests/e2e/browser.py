"""A headless Chromium over its debugging pipe: what a page says, requests, prints and looks like, and does.

The browser that is tested with is the one that Debian has; its protocol needs no driver and no package.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FIRST_FREE = 10  # descriptors: the browser reads 3 and writes 4
_ENABLED = ("Page", "Network", "Runtime", "Log")
_CODES = {"Enter": 13, " ": 32, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


@dataclass(slots=True)
class Browser:
    """A page that is open in a browser.

    Attributes:
        console: Messages on its console, and errors of its scripts.
        requested: Addresses that it asked a network for.
    """

    commands: IO[bytes]
    answers: IO[bytes]
    session: str = ""
    count: int = 0
    console: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Result of a command of the DevTools protocol."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        own = {"sessionId": self.session} if self.session else {}
        self.commands.write(json.dumps(message | own).encode() + b"\0")
        self.commands.flush()
        while (answer := self._read()).get("id") != self.count:
            self._note(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def open(self, page: Path) -> None:
        """Load a page, and wait until it is there."""
        self.call("Page.navigate", url=page.as_uri())
        while (answer := self._read()).get("method") != "Page.loadEventFired":
            self._note(answer)

    def run(self, expression: str) -> Any:
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def document(self) -> str:
        """The page as it is now, as HTML; works without scripts."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        return str(self.call("DOM.getOuterHTML", nodeId=root)["outerHTML"])

    def click(self, selector: str, x: float = 0.5, y: float = 0.5, *, is_hover: bool = False) -> None:
        """Move the mouse to a place (shares of width and height) of an element, and press its button."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{element}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
        box = self.run(f"{element}.getBoundingClientRect().toJSON()")
        place = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)
        for kind in () if is_hover else ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, *keys: str) -> None:
        for key in keys:
            typed = {"text": key} if len(key) == 1 else {}
            for kind, told in (("keyDown", typed), ("keyUp", {})):
                code = _CODES.get(key, 0)
                self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **told)

    def picture(self, path: Path, *, is_dark: bool, width: int, height: int = 800) -> Path:
        """Write what is seen (PNG)."""
        look = [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=look)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
        return path

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            assert byte, "the browser ended"
            text += byte
        return dict(json.loads(text))

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.console += [str(argument.get("value")) for argument in told["args"]]
            case "Runtime.exceptionThrown":
                self.console.append(str(told["exceptionDetails"]))
            case "Log.entryAdded":
                self.console.append(str(told["entry"]["text"]))
            case "Network.requestWillBeSent" if not told["request"]["url"].startswith(("file:", "data:")):
                self.requested.append(str(told["request"]["url"]))


@contextmanager
def opened(page: Path, folder: Path) -> Iterator[Browser]:
    """Load ``page`` in a browser of its own, its files in ``folder``; skips the test without one."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium")
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update")
    command = [
        *(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *quiet),
        *("--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "--window-size=1300,800"),
        "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing leaves the machine, whoever asks
    ]
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for end in (*os.pipe(), *os.pipe())]
    moved = f'exec "$@" 3<&{ends[0]} 4>&{ends[3]}'
    with subprocess.Popen(
        ["bash", "-c", moved, "bash", *command], pass_fds=(ends[0], ends[3]), stderr=subprocess.DEVNULL
    ) as process:
        os.close(ends[0])
        os.close(ends[3])
        with os.fdopen(ends[1], "wb") as commands, os.fdopen(ends[2], "rb") as answers:
            browser = Browser(commands, answers)
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
            browser.session = attached["sessionId"]
            for domain in _ENABLED:
                browser.call(f"{domain}.enable")
            try:
                browser.open(page)
                yield browser
            finally:
                browser.session = ""
                browser.call("Browser.close")
                process.wait(timeout=30)
