"""OpenMP's run-time functions for one thread, as an object file: for programs that do not take our header."""

from __future__ import annotations

import re
from pathlib import Path

from commanalyzer.program.frontend.link import build_object
from commanalyzer.program.frontend.toolchain import bundled_toolchain

_FOLDER = Path(__file__).resolve().parent
_DECLARED = re.compile(r"^declare .*@omp_\w+\(", re.MULTILINE)


def sequential_openmp() -> Path:
    """The object, compiled once.

    Raises:
        RuntimeBuildError: If the bundled compiler is missing or fails.
        ConfigError: If the cache is not usable.
    """
    source = _FOLDER / "openmp" / "sequential.c"
    header = _FOLDER / "include" / "omp.h"
    return build_object(source, toolchain=bundled_toolchain(), flags=("-fPIC",), depends_on=(header,))


def needs_openmp(ir_text: str) -> bool:
    """The module calls functions ``omp_...`` that it does not define."""
    return _DECLARED.search(ir_text) is not None
