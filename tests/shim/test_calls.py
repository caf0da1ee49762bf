"""The recorder's files are layers: each uses only files that its page names further down."""

from __future__ import annotations

import re

from commanalyzer.frontend.shim import shim_directory
from commanalyzer.ir.model import Module


def test_files_call_only_files_further_down(shim_modules: dict[str, Module]) -> None:
    page = (shim_directory() / "README.md").read_text()
    rows = re.findall(r"^\|.*\|$", page.split("## What calls what\n")[1].split("\n## ")[0], re.MULTILINE)
    level = {name: number for number, row in enumerate(rows) for name in re.findall(r"`(\w+\.c)`", row)}
    assert level.keys() == shim_modules.keys()
    home, used = {}, set()
    for file, module in shim_modules.items():
        home |= {f.name: file for f in module.functions}
        home |= {g.name: file for g in module.globals if not g.is_external}
        used |= {(file, d.name) for d in module.declarations}
        used |= {(file, g.name) for g in module.globals if g.is_external}
    calls = {(file, home[name]) for file, name in used if name.startswith("@ca_") and name in home}
    assert ("rows.c", "memory.c") in calls
    upward = {(file, other) for file, other in calls if level[file] >= level[other]}
    assert upward == set(), "a file called one that is not below it: move what is called, or hand it down"
