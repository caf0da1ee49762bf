"""Imports the whole package and loads compiled kernels from the disk: processes forked later have them."""

import importlib
import sys
from pathlib import Path
from typing import Any

from numba.core.registry import CPUDispatcher

import commanalyzer

_PACKAGE = Path(commanalyzer.__file__).parent
_LATE = ("matplotlib.figure", "matplotlib.backends.backend_svg", "sklearn.linear_model", "statsmodels.api")


class LoadedKernels:
    """Machine code in this process; nothing is compiled or run."""

    def __init__(self) -> None:
        paths = sorted(p for p in _PACKAGE.rglob("*.py") if p.name != "__main__.py")
        names = [".".join(p.relative_to(_PACKAGE.parent).with_suffix("").parts) for p in paths]
        for name in (*names, *_LATE):  # commands import late what not all of them need
            importlib.import_module(name)
        modules = [module for name, module in sys.modules.items() if name.startswith("commanalyzer")]
        found = {id(k): k for module in modules for k in vars(module).values() if _is_called(k)}
        self._kernels = list(found.values())
        self._seen: dict[int, float] = {}

    def load(self) -> int:
        """Load what has been compiled since the last call, by any process; returns the number of kernels."""
        changed = [k for k in self._kernels if _changed_s(k) > self._seen.get(id(k), 0.0)]
        for kernel in changed:
            self._seen[id(kernel)] = _changed_s(kernel)
            for key in kernel._cache._cache_file._load_index():
                if key == kernel._cache._index_key(key[0], kernel.targetctx.codegen()):
                    kernel.compile(key[0])
        return len(changed)


def _is_called(value: Any) -> bool:
    """It is a kernel that Python calls; the code of others is part of theirs."""
    return type(value) is CPUDispatcher and hasattr(getattr(value, "_cache", None), "_cache_file")


def _changed_s(kernel: Any) -> float:
    path = Path(kernel._cache._cache_file._index_path)
    return path.stat().st_mtime if path.exists() else 0.0
