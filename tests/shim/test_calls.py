"""The recorder's files are layers: each uses only files that its page names further down."""

import re

from commanalyzer.program.frontend.toolchain import shim_directory
from commanalyzer.program.ir.model import Module


def test_files_call_only_files_further_down(shim_modules: dict[str, Module]) -> None:
    page = (shim_directory() / "README.md").read_text()
    rows = re.findall(r"^\|.*\|$", page.split("## What calls what\n")[1].split("\n## ")[0], re.MULTILINE)
    level = {name: number for number, row in enumerate(rows) for name in re.findall(r"`(\w+\.c)`", row)}
    assert level.keys() == shim_modules.keys()
    home: dict[str, str] = {}
    used: set[tuple[str, str]] = set()
    for file, module in shim_modules.items():
        externals = {g.name for g in module.globals if g.is_external}
        names = {f.name for f in module.functions} | {g.name for g in module.globals}
        home |= dict.fromkeys(names - externals, file)
        used |= {(file, name) for name in externals | {d.name for d in module.declarations}}
    calls = {(file, home[name]) for file, name in used if name.startswith("@ca_") and name in home}
    upward = {(file, other) for file, other in calls if level[file] >= level[other]}
    assert ("rows.c", "memory.c") in calls
    assert not upward, "a file called one that is not below it: move what is called, or hand it down"
