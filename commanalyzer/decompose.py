"""Value graph to decompositions: partitions for every node count and model, counted and bounded.

Input: a graph and what to count. Output: :class:`Decomposition` values, one best per (nodes, model).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.communication.charges import Charges
from commanalyzer.communication.hpdc18 import charge_hpdc18, count_hpdc18
from commanalyzer.communication.invariants import check_charges, check_matrix
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.volume import charge_volume
from commanalyzer.errors import ConfigError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.partition.affinity import Adjacency, build_affinity
from commanalyzer.partition.hypergraph import build_hypergraph
from commanalyzer.partition.metis import Objective, Partition, partition
from commanalyzer.partition.mtkahypar import partition_hypergraph
from commanalyzer.partition.owners import extend_to_hubs
from commanalyzer.partition.quality import edge_cut
from commanalyzer.progress import Progress
from commanalyzer.quantities import Bytes, Flop
from commanalyzer.request import Model
from commanalyzer.results import Decomposition, SingletonCounts
from commanalyzer.roofline import communication_intensity, machine_bound
from commanalyzer.vcg.dissolve import DEFAULT_LIMIT, dissolve_registers
from commanalyzer.vcg.graph import ValueGraph
from commanalyzer.vcg.hubs import find_hubs
from commanalyzer.vcg.invariants import check_dissolved, check_graph, check_singletons
from commanalyzer.vcg.simplify import simplified
from commanalyzer.vcg.singletons import SingletonKind, Singletons, find_singletons, vcg_words

# METIS's edge cut and volume, and the cut of the graph whose edges share the bytes of a value.
_Objective = Literal["cut", "volume", "net"]
_OBJECTIVES: tuple[_Objective, ...] = ("cut", "volume", "net")
_ATTEMPTS = 4  # seeds per objective: METIS's results differ by several per cent on small graphs
_MOST_RETRIED_EDGES = 150_000  # above it, one seed: more would take longer than recording
_MOST_PINS = 2_000_000  # above it, Mt-KaHyPar would take minutes

# how much larger the graph of the paper's model may get when it only serves to count singletons
_SIDE_GROWTH = 4
_SIDE_FLOWS = 1_000_000


@dataclass(frozen=True, slots=True)
class CountOptions:
    """What to decompose and how to count it; fields as in :class:`AnalysisRequest`."""

    nodes: tuple[int, ...]
    models: tuple[Model, ...]
    high: float
    machine: MachineParameters
    seed: int
    imbalance: float
    check: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """Decompositions of a graph and what the paper's singleton rule says about it."""

    decompositions: tuple[Decomposition, ...]
    singletons: SingletonCounts
    vcg_words: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _View:
    """A graph as one model sees it: what is left out of the partitioning, and its affinity."""

    model: Model
    graph: ValueGraph
    removed: NDArray[np.bool_]
    singletons: Singletons | None


def decompose(graph: ValueGraph, flops: int, options: CountOptions, progress: Progress) -> Counted:
    """Partition ``graph`` for every node count with every method, and count each with its model.

    Args:
        graph: Value graph as recorded.
        flops: Work W.
        options: What to count.
        progress: Told about steps.

    Raises:
        PartitionError: If a node count is impossible.
        GraphInvariantError: With ``options.check``, if a conservation law is violated.
    """
    if options.check:
        check_graph(graph)
    singletons, words, warnings = _paper_view(graph, options)
    views = [_view(model, graph, options) for model in options.models]
    progress.stage("partition and count", len(views) * len(options.nodes) * len(_OBJECTIVES))
    found: list[Decomposition] = []
    for view in views:
        found.extend(_decompose_view(view, flops, options, progress))
    order = {model: i for i, model in enumerate(options.models)}
    found.sort(key=lambda d: (d.nodes, order[_as_model(d.model)], not d.best, d.method))
    return Counted(tuple(found), singletons, words, (*warnings, *_doubts(found)))


def volume_view(graph: ValueGraph, high: float) -> tuple[ValueGraph, NDArray[np.bool_]]:
    """Graph that the ``volume`` model counts, and its hubs bool[V]; vertices keep their numbers.

    Args:
        graph: Value graph as recorded.
        high: Threshold of the singleton scores.
    """
    flat = simplified(graph)
    return flat, find_hubs(flat, high).mask


def _as_model(name: str) -> Model:
    return "hpdc18" if name == "hpdc18" else "volume"


def _paper_view(graph: ValueGraph, options: CountOptions) -> tuple[SingletonCounts, int, tuple[str, ...]]:
    """Singletons and graph size by the paper's rules, on the graph without named registers.

    Where that graph would be far larger and nobody asked for the paper's model, registers stay vertices.
    """
    warnings: tuple[str, ...] = ()
    limit = DEFAULT_LIMIT if "hpdc18" in options.models else _SIDE_GROWTH * graph.num_flows + _SIDE_FLOWS
    try:
        dissolved = dissolve_registers(graph, limit)
    except ConfigError as error:
        if "hpdc18" in options.models:
            raise
        dissolved = graph
        warnings = (f"singletons were counted with register values as vertices: {error.message}",)
    found = find_singletons(dissolved, options.high)
    if options.check:
        check_singletons(dissolved, found)
        if dissolved is not graph:
            check_dissolved(graph, dissolved)
    counts = SingletonCounts(
        found.count(SingletonKind.SOURCE),
        found.count(SingletonKind.SINK),
        found.count(SingletonKind.REDUCTION),
    )
    return counts, 0 if dissolved is graph else vcg_words(dissolved, found), warnings


def _view(model: Model, graph: ValueGraph, options: CountOptions) -> _View:
    if model == "volume":
        return _View(model, *volume_view(graph, options.high), None)
    dissolved = dissolve_registers(graph)
    singletons = find_singletons(dissolved, options.high)
    return _View(model, dissolved, singletons.mask, singletons)


def _decompose_view(
    view: _View, flops: int, options: CountOptions, progress: Progress
) -> Sequence[Decomposition]:
    most = max(options.nodes)
    affinity = build_affinity(view.graph, view.removed, most_parts=most)
    shared = build_affinity(view.graph, view.removed, shared=True, most_parts=most)
    hypergraph = build_hypergraph(view.graph, affinity) if view.singletons is None else None
    result: list[Decomposition] = []
    for nodes in options.nodes:
        candidates = []
        for objective in _OBJECTIVES:
            weighted = shared if objective == "net" else affinity
            for core in _attempts(weighted.adjacency, nodes, objective, options):
                known = replace(core, objective=objective, edge_cut=edge_cut(affinity.adjacency, core.part))
                owners = extend_to_hubs(view.graph, view.removed, affinity, known)
                candidates.append(_count(view, owners, flops, options))
            progress.advance()
        if hypergraph is not None and nodes > 1 and 0 < hypergraph.num_pins <= _MOST_PINS:
            core = partition_hypergraph(hypergraph, nodes, seed=options.seed, imbalance=options.imbalance)
            part = core.part[: affinity.adjacency.num_vertices].copy()
            known = replace(core, part=part, edge_cut=edge_cut(affinity.adjacency, part))
            owners = extend_to_hubs(view.graph, view.removed, affinity, known)
            candidates.append(_count(view, owners, flops, options))
        best = min(range(len(candidates)), key=lambda i: candidates[i].comm_bytes)
        result += [replace(c, best=i == best) for i, c in enumerate(candidates)]
    return result


def _attempts(
    adjacency: Adjacency, nodes: int, objective: _Objective, options: CountOptions
) -> Iterator[Partition]:
    """Distinct partitions by METIS from the seed and its successors."""
    minimised: Objective = "volume" if objective == "volume" else "cut"
    retried = nodes > 1 and adjacency.num_edges <= _MOST_RETRIED_EDGES
    seen: set[bytes] = set()
    for seed in range(options.seed, options.seed + (_ATTEMPTS if retried else 1)):
        core = partition(adjacency, nodes, objective=minimised, seed=seed, imbalance=options.imbalance)
        key = core.part.tobytes()
        if key not in seen:
            seen.add(key)
            yield core


def _method(owners: Partition, first_seed: int) -> str:
    """Name of what made a partition; unique among the candidates of a node count."""
    name = f"{owners.method} {owners.objective}"
    return name if owners.seed == first_seed else f"{name} seed {owners.seed}"


def _count(view: _View, owners: Partition, flops: int, options: CountOptions) -> Decomposition:
    charges, communication = _charge(view, owners)
    if options.check:
        check_charges(view.graph, owners.part, charges, view.removed if view.singletons else None)
        check_matrix(charges, communication)
    intensity = communication_intensity(Bytes(communication.total_bytes), Flop(flops))
    per_value = charges.bytes_per_value(view.graph.num_vertices)
    objects = np.bincount(view.graph.home_object, weights=per_value, minlength=len(view.graph.objects))
    return Decomposition(
        nodes=owners.num_parts,
        model=view.model,
        method=_method(owners, options.seed),
        best=False,
        communication=communication,
        part=owners.part,
        intensity=intensity,
        imbalance=owners.imbalance,
        efficiency_bound=machine_bound(intensity, options.machine),
        object_bytes=objects.astype(np.int64),
    )


def _charge(view: _View, owners: Partition) -> tuple[Charges, Communication]:
    p = owners.num_parts
    if view.singletons is None:
        charges = charge_volume(view.graph, owners.part, p, view.removed)
        return charges, charges.communication(view.graph)
    charges = charge_hpdc18(view.graph, owners.part, p, view.singletons)
    return charges, count_hpdc18(view.graph, owners.part, p, view.singletons)


def _doubts(found: Sequence[Decomposition]) -> list[str]:
    """Sentences about brackets that are not tight and work that is not balanced."""
    result = []
    best = [d for d in found if d.best]
    open_brackets = [d for d in best if d.communication.high_bytes > 1.01 * d.communication.low_bytes]
    if open_brackets:
        worst = max(
            open_brackets, key=lambda d: d.communication.high_bytes / max(1, d.communication.low_bytes)
        )
        c = worst.communication
        result.append(
            "how often values cross is not certain where their readers change over time: "
            f"at {worst.nodes} nodes between {c.low_bytes} and {c.high_bytes} bytes ({worst.model}); "
            "the lower end is reported"
        )
    uneven = [d for d in best if d.imbalance > 1.1]
    if uneven:
        nodes = ", ".join(str(d.nodes) for d in uneven)
        result.append(f"work is not balanced at {nodes} nodes (largest part over mean above 1.1)")
    return result
