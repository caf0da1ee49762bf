"""Python interface: analyse, save and load, with the options of the command line as keywords."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypedDict, Unpack

from commanalyzer.artifacts import load as _load
from commanalyzer.artifacts import save as _save
from commanalyzer.machine.parameters import MachineParameters, load_machine
from commanalyzer.pipeline import analyze as _analyze
from commanalyzer.progress import Progress, SilentProgress
from commanalyzer.request import (
    DEFAULT_IMBALANCE,
    DEFAULT_NODES,
    AnalysisRequest,
    CompilerOptions,
    Model,
    ProgramOutput,
    ordered_nodes,
)
from commanalyzer.results import AnalysisResult

PathLike: TypeAlias = str | os.PathLike[str]


class Division(TypedDict, total=False):
    """How values are divided.

    Attributes:
        seed: Seed of partitioning.
        check: Verify conservation laws on the way.
        imbalance: Allowed excess of the largest part's work over the mean.
        decompose: Divisions of arrays to count as well: ``u=block2d``, ``x=block:4x4``, ``x=cyclic:16``.
        owner_map: File with the owners of array elements, to be counted as well.
    """

    seed: int
    check: bool
    imbalance: float
    decompose: str | Sequence[str]
    owner_map: PathLike


def analyze(
    sources: PathLike | Sequence[PathLike],
    args: Sequence[str | int | float] = (),
    *,
    nodes: int | Iterable[int] = DEFAULT_NODES,
    model: Model | Sequence[Model] = "volume",
    high: float = 0.9,
    regions: Sequence[str] = (),
    control_flows: bool = True,
    private_temporaries: bool = True,
    cc: str = "",
    cflags: Sequence[str] = (),
    ldflags: Sequence[str] = (),
    machine: MachineParameters | PathLike | None = None,
    stdin: PathLike | None = None,
    program_output: ProgramOutput = "inherit",
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    progress: Progress | None = None,
    **division: Unpack[Division],
) -> AnalysisResult:
    """Result of analysing a program; raises a :class:`CommAnalyzerError` that says what is wrong.

    Args:
        sources: One file or several (C, C++, LLVM IR).
        args: Arguments of the program.
        nodes: Node counts.
        model: Communication model or several; the first is the leading one.
        high: Threshold of the singleton scores.
        regions: Functions to restrict the analysis to.
        control_flows: Conditions that select between values are flows.
        private_temporaries: Workspaces are told apart from arrays (a second recording where there are any).
        cc: The user's clang; otherwise ``$CC`` or the bundled one.
        cflags: Compiler flags.
        ldflags: Linker flags.
        machine: Machine of the efficiency bound, or its file.
        stdin: File for the program's standard input.
        program_output: Where the program's standard output goes.
        timeout_s: Limit of each run, seconds.
        memory_limit_bytes: Limit of the program's resident memory, bytes.
        progress: Told about stages.
        division: See :class:`Division`.
    """
    request = AnalysisRequest(
        *_program(sources, args),
        nodes=(nodes,) if isinstance(nodes, int) else ordered_nodes(nodes),
        models=(model,) if isinstance(model, str) else tuple(model),
        high=high,
        regions=tuple(regions),
        control_flows=control_flows,
        private_temporaries=private_temporaries,
        compiler=CompilerOptions(cc, tuple(cflags), tuple(ldflags)),
        machine=_machine(machine),
        stdin=None if stdin is None else Path(stdin),
        program_output=program_output,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes,
    )
    request = _divided(request, **division)
    return _analyze(request, progress or SilentProgress())


def load(path: PathLike) -> AnalysisResult:
    """Result saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind, newer, truncated or damaged.
    """
    return _load(Path(path))


def save(result: AnalysisResult, path: PathLike, *, force: bool = False) -> None:
    """Save ``result`` to ``path`` (``*.cmz``), completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or it cannot be written.
    """
    _save(result, Path(path), force=force)


def _divided(
    request: AnalysisRequest,
    *,
    seed: int = 1,
    check: bool = False,
    imbalance: float = DEFAULT_IMBALANCE,
    decompose: str | Sequence[str] = (),
    owner_map: PathLike | None = None,
) -> AnalysisRequest:
    rules = (decompose,) if isinstance(decompose, str) else tuple(decompose)
    path = None if owner_map is None else Path(owner_map)
    return replace(request, seed=seed, check=check, imbalance=imbalance, decompose=rules, owner_map=path)


def _program(
    sources: PathLike | Sequence[PathLike], args: Sequence[str | int | float]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    files = [sources] if isinstance(sources, str | os.PathLike) else sources
    return tuple(Path(file) for file in files), tuple(str(argument) for argument in args)


def _machine(machine: MachineParameters | PathLike | None) -> MachineParameters:
    if machine is None:
        return MachineParameters()
    return machine if isinstance(machine, MachineParameters) else load_machine(Path(machine))
