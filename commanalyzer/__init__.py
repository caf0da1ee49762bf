"""CommAnalyzer: communication, efficiency bound and scaling of an MPI port, from sequential code.

>>> import commanalyzer as ca
>>> result = ca.analyze("heat2d.c", args=["256", "50"], nodes=[4, 16])  # doctest: +SKIP

Names are imported on first use, so that ``import commanalyzer`` is fast.
"""

from __future__ import annotations

import importlib

from commanalyzer.cli.interrupts import leave_at_interrupt

leave_at_interrupt()  # before what takes longer to import
from commanalyzer.foundation.moved import find_moved_modules  # noqa: E402

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from commanalyzer.api import AllocationOptions as AllocationOptions
    from commanalyzer.api import advise as advise
    from commanalyzer.api import analyze as analyze
    from commanalyzer.api import analyze_function as analyze_function
    from commanalyzer.api import analyze_sweep as analyze_sweep
    from commanalyzer.api import fit as fit
    from commanalyzer.api import load as load
    from commanalyzer.api import load_table as load_table
    from commanalyzer.api import save as save
    from commanalyzer.foundation.errors import CommAnalyzerError as CommAnalyzerError
    from commanalyzer.foundation.work import WorkWeights as WorkWeights
    from commanalyzer.graph.value_graph import ValueGraph as ValueGraph
    from commanalyzer.machine.machine_file import load_machine as load_machine
    from commanalyzer.machine.parameters import MachineParameters as MachineParameters
    from commanalyzer.machine.parameters import Parameter as Parameter
    from commanalyzer.result.causes import causes_of as causes_of
    from commanalyzer.result.comparison.difference import differences as differences
    from commanalyzer.result.results import AnalysisResult as AnalysisResult
    from commanalyzer.result.results import Decomposition as Decomposition
    from commanalyzer.scaling.sweep.table import SweepTable as SweepTable

find_moved_modules()
_NAMES = {
    "api": (
        *("advise", "analyze", "analyze_function", "analyze_sweep", "fit"),
        *("load", "load_table", "save", "AllocationOptions"),
    ),
    "result.causes": ("causes_of",),
    "result.comparison.difference": ("differences",),
    "foundation.errors": ("CommAnalyzerError",),
    "foundation.work": ("WorkWeights",),
    "machine.machine_file": ("load_machine",),
    "machine.parameters": ("MachineParameters", "Parameter"),
    "result.results": ("AnalysisResult", "Decomposition"),
    "scaling.sweep.table": ("SweepTable",),
    "graph.value_graph": ("ValueGraph",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = tuple(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
