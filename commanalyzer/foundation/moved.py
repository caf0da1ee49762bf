"""Modules by the names that they had before: found where they are now, with a warning."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType

_ROOMS = {
    "checking": ("counting",),
    "division": ("decompose", "exact", "readings", "views"),
    "foundation": ("errors",),
    "kernels": ("composition", "features", "learning", "patterns", "tasks"),
    "machine": ("roofline", "simulation"),
    "profiles": ("classification", "extrapolation"),
    "program": ("frontend", "ir"),
    "recording": ("abi", "instrument", "interpreter", "record", "runtime"),
    "result": ("causes", "comparison", "export"),
    "scaling": ("allocations", "laws", "sweep"),
}
_NOW = {name: f"{room}.{name}" for room, names in _ROOMS.items() for name in names} | {
    "composition.allocation": "kernels.composition.answer",
    "laws.pipeline": "scaling.laws.fit",
    "machine.catalog": "machine.machine_file",
    "partition": "division",
    **dict.fromkeys(("report.html.counted", "report.html.overview"), "report.html.page"),
    "vcg": "graph",
    "vcg.graph": "graph.value_graph",
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of this package that have moved."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, name = fullname.partition(".")
        known = (old for old in _NOW if f"{name}.".startswith(f"{old}."))
        if package != "commanalyzer" or not (old := max(known, key=len, default="")):
            return None
        now = f"{package}.{_NOW[old]}{name.removeprefix(old)}"
        warnings.warn(f"{fullname} has moved: write {now}", DeprecationWarning, stacklevel=2)
        return importlib.machinery.ModuleSpec(fullname, self, origin=now)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed, by its own name, which it keeps."""
        assert module.__spec__
        module.__spec__ = module.__spec__.loader_state


def find_moved_modules() -> None:
    """Let imports of names from before succeed, until version 1.0."""
    sys.meta_path.insert(0, _Finder())
