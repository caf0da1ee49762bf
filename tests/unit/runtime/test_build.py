"""What an instrumented executable contains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commanalyzer.frontend.compile import compile_sources
from commanalyzer.frontend.shim import shim_directory
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.instrument.rewrite import rewrite
from commanalyzer.ir.parsing.parser import parse_module
from commanalyzer.runtime.build import build_instrumented, shim_headers


@pytest.mark.parametrize("scans", [False, True])
def test_hooks_that_are_not_called_are_left_out(tmp_path: Path, scans: bool) -> None:
    """They would be compiled again with every program, which takes longer than all the rest."""
    source = tmp_path / "program.c"
    call = 'sscanf(v[0], "%d", &n)' if scans else "n = c"
    source.write_text(
        f"#include <stdio.h>\nint main(int c, char **v) {{ int n = 0; {call}; return n + !v; }}\n"
    )
    frontend = compile_sources([source])
    module = parse_module(frontend.ir_text)
    program = build_instrumented(rewrite(module, plan_module(module, PlanOptions())), frontend).read_bytes()
    assert (b"ca_scanned" in program) is scans  # the executable has its symbols' names
    assert b"ca_va_start" not in program


def test_every_included_file_decides_what_is_cached() -> None:
    """A change of any of them must compile the recorder again."""
    folder = shim_directory() / "src"
    included = {
        name for path in folder.iterdir() for name in re.findall(r'#include "([^"]+)"', path.read_text())
    }
    assert {Path(name).name for name in included} <= {path.name for path in shim_headers()}
