"""A small complete analysis result with known numbers, for tests of reports, files and commands."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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


def sample_communication(
    comm_bytes: ArrayLike, messages: ArrayLike | None = None, *collectives: Collective
) -> Communication:
    """A matrix that is known exactly; each pair sends one message if no numbers are given.

    Bytes of collectives are added to the first pair.
    """
    matrix = np.array(comm_bytes, dtype=np.int64)
    sent = np.array(np.sign(matrix) if messages is None else messages, dtype=np.int64)
    apart = matrix.copy()
    apart[:1, 1:2] += sum(item.comm_bytes for item in collectives)
    found = Communication(apart, sent, int(apart.sum()), int(apart.sum()), collectives=())
    own: dict[str, Any] = {"peer_bytes": matrix, "peer_messages": sent} if collectives else {}
    return replace(found, collectives=collectives, **own)


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
    communication = sample_communication(np.diag(np.full(nodes - 1, pair_bytes), 1))
    total = communication.total_bytes
    return results.Decomposition(
        nodes=nodes,
        model=model,
        method=method,
        best=best,
        communication=replace(
            communication, high_bytes=total + 8, collectives=None if model == "hpdc18" else ()
        ),
        owners=Owners.of(np.array([0, 1 % nodes, 1 % nodes], dtype=np.int32)),
        intensity=total / 5,
        imbalance=1.25,
        efficiency_bound=bound,
        object_bytes=np.array([total], dtype=np.int64),
    )


def offer(
    method: str, pair_bytes: int, *, imbalance: float = 1.0, bound: int = 0, **more: Any
) -> results.Decomposition:
    """A division, for four nodes if not said, that sends exactly ``pair_bytes`` from each but the last."""
    made = sample_decomposition(**{"nodes": 4, "best": False, **more}, method=method, pair_bytes=pair_bytes)
    exact, even = replace(made.communication, high_bytes=made.comm_bytes), imbalance <= 1.03
    return replace(made, communication=exact, imbalance=imbalance, lower_bound_bytes=bound, is_balanced=even)


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
