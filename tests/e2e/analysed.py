"""Analyses of small programs that tests give as texts."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import commanalyzer as ca
from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.inputs.fortran import FortranCompiler, find_fortran

HEAD = "".join(f"#include <{name}.h>\n" for name in ("math", "stdio", "stdlib", "string"))


def analyse_text(text: str, *arguments: object, suffix: str = ".c", **options: Any) -> ca.AnalysisResult:
    """Analyse a program of one file; its output is discarded, ``options`` are those of ``analyze``.

    Programs in C need not include ``math.h``, ``stdio.h``, ``stdlib.h`` and ``string.h``.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"program{suffix}"
        source.write_text((HEAD if suffix == ".c" else "") + text)
        return ca.analyze(source, [str(a) for a in arguments], program_output="discard", **options)


def flang() -> FortranCompiler:
    """The Fortran compiler; tests are skipped without one."""
    try:
        return find_fortran()
    except CompileError as error:
        pytest.skip(f"no flang: {error.message}", allow_module_level=True)
