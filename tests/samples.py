"""A small complete analysis result with known numbers, for tests of reports, files and commands."""

from dataclasses import replace

import numpy as np

from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import HomeKind, HomeObject, Site, ValueGraph
from commanalyzer.machine.parameters import KINDS, MachineParameters, Parameter
from commanalyzer.result import results
from tests.graphs import plain_rows


def sample_machine(name: str = "m", **values: float) -> MachineParameters:
    """A machine with these numbers, in SI units."""
    found = {key: Parameter(value, KINDS[key].unit) for key, value in values.items()}
    return MachineParameters(name).updated(**found)


def sample_graph() -> ValueGraph:
    """Three doubles of one array; u[1] = u[0] + u[2], five times."""
    return ValueGraph(
        home_object=np.zeros(3, dtype=np.int32),
        home_offset=np.array([0, 8, 16], dtype=np.int64),
        width_bytes=np.full(3, 8, dtype=np.uint8),
        versions=np.array([1, 5, 1], dtype=np.int64),
        is_temporary=np.zeros(3, dtype=np.bool_),
        is_input=np.array([True, False, True]),
        producer_site=np.array([-1, 0, -1], dtype=np.int32),
        work_flops=np.array([0.0, 5.0, 0.0]),
        rows=plain_rows([1], [0, 2], ([0, 2], [0, 1, 2]), count=5, site=[0], fold=Fold.SUM),
        objects=(HomeObject(HomeKind.GLOBAL, "u", file="größe.c", line=3, size_bytes=24, strides=(16, 8)),),
        sites=(Site("main", "größe.c", 7, "store", 8, Fold.SUM, 5),),
    )


def sample_decomposition(
    nodes: int = 2,
    *,
    model: str = "volume",
    method: str = "metis cut",
    best: bool = True,
    pair_bytes: int = 40,
    bound: float | None = None,
) -> results.Decomposition:
    """Every node sends ``pair_bytes`` to the next one, in one message; work is 5 flops."""
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    index = np.arange(nodes - 1)
    matrix[index, index + 1] = pair_bytes
    total = int(matrix.sum())
    return results.Decomposition(
        nodes=nodes,
        model=model,
        method=method,
        best=best,
        communication=Communication(
            matrix,
            (matrix > 0).astype(np.int64),
            total,
            total + 8,
            collectives=None if model == "hpdc18" else (),
        ),
        owners=Owners.of(np.array([0, 1 % nodes, 1 % nodes], dtype=np.int32)),
        intensity=total / 5,
        imbalance=1.25,
        efficiency_bound=bound,
        object_bytes=np.array([total], dtype=np.int64),
    )


def with_hub(item: results.Decomposition) -> results.Decomposition:
    """The decomposition with 8 bytes of its first pair known to be those of a hub value."""
    peers = item.communication.comm_bytes.copy()
    peers[0, 1] -= 8
    return replace(
        item,
        communication=replace(
            item.communication,
            collectives=(Collective("bcast", "u", 0, 1, 1, 8),),
            peer_bytes=peers,
            peer_messages=item.communication.messages.copy(),
        ),
    )


def sample_result(
    *decompositions: results.Decomposition,
    machine: MachineParameters | None = None,
    warnings: tuple[str, ...] = (),
    unmodelled: tuple[tuple[str, int], ...] = (),
) -> results.AnalysisResult:
    """Result with the given decompositions (one for two nodes if none are given)."""
    return results.AnalysisResult(
        program="größe.c",
        command=("größe.c", "12", "a b"),
        provenance=results.Provenance(
            tool_version="0.1.0",
            git_revision="abc",
            created="2026-01-31T12:00:00+00:00",
            host_class="Linux x86_64",
            compiler="clang version 22.1.8",
            flags=("-DN=3",),
            input_hashes=(("größe.c", "00ff"),),
            seed=7,
        ),
        work=results.WorkCounts(flops=5, loads=10, stores=5, instructions=60),
        recording=results.Recording(
            native_s=0.5, instrumented_s=1.0, peak_rss_bytes=2_000_000, unmodelled_calls=unmodelled
        ),
        store=GraphStore.of(sample_graph()),
        singletons=results.SingletonCounts(source=1, sink=0, reduction=2),
        vcg_words=10,
        machine=machine or MachineParameters(),
        decompositions=decompositions or (sample_decomposition(),),
        regions=("sweep",),
        warnings=warnings,
    )
