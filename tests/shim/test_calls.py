"""The recorder's page says which file calls which."""

from __future__ import annotations

import re
from pathlib import Path

_SHIM = Path(__file__).resolve().parents[2] / "runtime_shim"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINED = re.compile(r"^(?!static|extern|return)\w[\w *()]*?\b(ca_\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
_NAMED = re.compile(r"\bca_\w+")
_ROW = re.compile(r"^\| `(\w+\.c)` \| (.*) \|$", re.MULTILINE)


def test_page_says_which_file_calls_which() -> None:
    section = (_SHIM / "README.md").read_text().split("## What calls what\n")[1].split("\n## ")[0]
    told = {name: set(re.findall(r"`(\w+\.c)`", others)) for name, others in _ROW.findall(section)}
    assert told == calls()


def calls() -> dict[str, set[str]]:
    """Per file, the files of the functions that it names."""
    texts = {path.name: _COMMENT.sub("", path.read_text()) for path in sorted((_SHIM / "src").glob("*.c"))}
    home = {function: name for name, text in texts.items() for function in _DEFINED.findall(text)}
    named = {name: {home[f] for f in set(_NAMED.findall(text)) & home.keys()} for name, text in texts.items()}
    return {name: found - {name} for name, found in named.items()}
