import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.frontend.link import BuildTimeoutError, build_object
from commanalyzer.program.frontend.toolchain import shim_directory
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording import runtime
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.record import record
from commanalyzer.recording.runtime import build_instrumented, shim_headers
from commanalyzer.request import AnalysisRequest
from tests.graphs import assert_same_graph


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


@pytest.mark.parametrize(("speed", "limit_s"), [(1e30, 1e-9), (1e30, 60.0), (0.0, 60.0)])
def test_what_is_late_or_short_is_built_cheaply_and_records_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speed: float, limit_s: float
) -> None:
    """Planning or code generation are late, or the run does not pay for the latter."""
    monkeypatch.setattr(runtime, "_LINES_PER_S", 1e30)
    source = tmp_path / "sums.c"
    source.write_text(
        "int main(int c, char **v) {\n  static double a[90], b[90];\n  for (int t = 0; t < 5; t++)\n"
        "    for (int i = 1; i < 89; i++) { a[i] = b[i - 1] + c; b[i] = a[i] * a[i + 1]; }\n"
        "  return !(a[1] + b[2]) + !v;\n}\n"
    )
    request = AnalysisRequest((source,), program_output="discard", allow_failure=True)
    usual = record(request, SilentProgress())
    assert not any("--plan-timeout" in text for text in usual.recording.warnings)
    built: list[str] = []

    def build_slowly(path: Path, *, flags: tuple[str, ...], **options: Any) -> Path:
        if path.name == "program.ll" and "-fno-unroll-loops" in flags:
            raise BuildTimeoutError("late")
        built.extend(flags)
        return build_object(path, flags=flags, **options)

    monkeypatch.setattr(runtime, "build_object", build_slowly)
    monkeypatch.setattr(runtime, "_LINES_PER_S", speed)
    late = record(replace(request, plan_timeout_s=limit_s), SilentProgress())
    assert "-O0" in built
    assert_same_graph(late.store.graph(), usual.store.graph())
    assert late.work == usual.work
    assert sum("--plan-timeout" in text for text in late.recording.warnings) == (speed > 0)
