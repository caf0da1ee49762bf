"""Ablation: what each rule of the analysis contributes, by leaving it out.

Each variant is compared with the same counted bytes as the default, for the best decomposition that it finds
and at the decomposition of the MPI program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from commanalyzer.checking.validation.cases import CaseProgram, owners_by_blocks
from commanalyzer.checking.validation.run import (
    HIGH,
    Case,
    CaseSelection,
    Failure,
    build_mpi,
    counted_run,
    each_case,
    request_for,
    selected,
)
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.foundation.progress import Progress, SilentProgress
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.pipeline import analyze, repartition
from commanalyzer.request import Model, PartitionRequest
from commanalyzer.result.comparison.compare import accuracy
from commanalyzer.result.results import AnalysisResult

_NO_HUBS = 1.0 - 1e-12  # a score that no value reaches


@dataclass(frozen=True, slots=True)
class Variant:
    """The default, or the default without one rule."""

    name: str  # what is left out
    control_flows: bool = True  # flows through the conditions of selections are recorded
    private_temporaries: bool = True  # workspaces are recorded as values of the element that they serve
    high: float = HIGH  # threshold of the singleton scores
    folds: bool = True  # contributions to a reduction are combined
    paper: bool = False  # the paper's model instead of ``volume``


VARIANTS = (
    Variant("default"),
    Variant("no control flows", control_flows=False),
    Variant("no private temporaries", private_temporaries=False),
    Variant("no folds", folds=False),
    Variant("no hubs", high=_NO_HUBS),
    Variant("model hpdc18", paper=True),
)


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant of one case."""

    workload: CaseProgram  # its entry
    arguments: tuple[str, ...]
    nodes: int  # processes p
    variant: Variant  # what is left out
    best_accuracy: float | None  # of the best decomposition; ``None`` if the graph would be too large
    # at the MPI program's decomposition, known excesses subtracted; ``None`` without one
    own_accuracy: float | None


def ablate(
    workloads: Sequence[CaseProgram], selection: CaseSelection, progress: Progress, jobs: int = 1
) -> Iterator[AblationRow | Failure]:
    """Rows of all variants, smallest size of each selected entry; arguments and errors as of ``validate``."""
    chosen = selected(workloads, selection)
    yield from each_case(
        partial(_all_variants, selection), [(w, w.sizes[0]) for w in chosen], "ablation", progress, jobs
    )


def _all_variants(selection: CaseSelection, case: Case) -> list[AblationRow]:
    workload, arguments = case
    nodes = selection.processes(workload)
    with scratch_directory() as folder:
        program = build_mpi(workload.mpi_sources, Path(folder) / "mpi", workload.flags)
        runs = [counted_run(workload, arguments, p, program) for p in nodes]
    counted = [next(d.comm_bytes for d in run.decompositions if d.best) for run in runs]
    return [row for v in VARIANTS for row in _rows(workload, arguments, nodes, counted, v)]


def _rows(
    workload: CaseProgram,
    arguments: tuple[str, ...],
    nodes: tuple[int, ...],
    counted: Sequence[int],
    variant: Variant,
) -> Iterator[AblationRow]:
    found = _prediction(workload, arguments, nodes, variant)
    own = None
    if workload.arrays and not variant.paper:
        own = _prediction(workload, workload.own_arguments(arguments), nodes[:1], variant)
    for p, total in zip(nodes, counted, strict=True):
        best = None if found is None else accuracy(found.best(p).comm_bytes, total)
        at_own = None if own is None else _own_accuracy(workload, arguments, p, own.graph, variant, total)
        yield AblationRow(workload, arguments, p, variant, best, at_own)


def _prediction(
    workload: CaseProgram, arguments: Sequence[str], nodes: tuple[int, ...], variant: Variant
) -> AnalysisResult | None:
    """Analysis of a variant; ``None`` where the paper's graph would be too large."""
    models: tuple[Model, ...] = ("hpdc18",) if variant.paper else ("volume",)
    request = replace(
        request_for(workload, arguments, nodes),
        models=models,
        high=variant.high,
        control_flows=variant.control_flows,
        private_temporaries=variant.private_temporaries,
    )
    try:
        result = analyze(request, SilentProgress())
    except ConfigError:
        return None
    if variant.folds:
        return result
    # No contributions may be combined: every source is sent to the sink's owner.
    graph = result.graph
    rows = graph.rows._replace(row_fold=np.zeros_like(graph.rows.row_fold))
    result = replace(result, store=GraphStore.of(replace(graph, rows=rows)))
    return repartition(result, PartitionRequest(nodes), SilentProgress())


def _own_accuracy(
    workload: CaseProgram,
    arguments: Sequence[str],
    nodes: int,
    graph: ValueGraph,
    variant: Variant,
    counted: int,
) -> float | None:
    flat, hubs = volume_view(graph, variant.high)
    values = workload.values(arguments, nodes)
    owners = owners_by_blocks(flat, hubs, workload, workload.extents(nodes), values)
    predicted = charge_volume(flat, owners, nodes, hubs).communication(flat, owners).total_bytes
    for item, amount in workload.excess_bytes(arguments, nodes).items():
        if item.side == "predicted":
            predicted -= amount
        else:
            counted -= amount
    return accuracy(predicted, counted)
