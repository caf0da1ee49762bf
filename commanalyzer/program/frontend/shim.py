"""Sources and headers of the runtime shim."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from commanalyzer.foundation.errors import RuntimeBuildError


def shim_directory() -> Path:
    """Sources and headers of the shim: inside an installed package, or beside it in a checkout."""
    packaged = Path(str(importlib.resources.files("commanalyzer"))) / "_runtime_shim"
    beside = Path(__file__).resolve().parents[3] / "runtime_shim"
    for path in (packaged, beside):
        if (path / "include" / "comm_shim.h").is_file():
            return path
    raise RuntimeBuildError(
        "the sources of the runtime shim are missing from the installation",
        where=str(packaged),
        hint="reinstall commanalyzer",
    )


def include_directory() -> Path:
    """Directory of ``commanalyzer.h``, for the user's own build."""
    return shim_directory() / "include"
