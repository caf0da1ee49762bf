"""Mt-KaHyPar adapter: hypergraph -> partition. The only importer of mtkahypar.

Mt-KaHyPar minimises the connectivity metric, sum over nets of weight times (parts touched - 1), which is
the communication volume itself; METIS only sees an approximation. It runs in its deterministic mode with a
fixed seed, so that the same graph gets the same partition.

Reference: L. Gottesbueren, T. Heuer, N. Maas, P. Sanders, S. Schlag, Scalable High-Quality Hypergraph
Partitioning, ACM Transactions on Algorithms 20(1), 2024.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mtkahypar
import numpy as np

from commanalyzer.errors import PartitionError
from commanalyzer.partition.hypergraph import Hypergraph
from commanalyzer.partition.metis import DEFAULT_IMBALANCE, Partition
from commanalyzer.partition.quality import imbalance as imbalance_of
from commanalyzer.vcg.graph import Int32, Int64

_WORK_UNITS = 1 << 27  # total of the integer vertex weights
_MAX_NET_WEIGHT = 1 << 20
_IDLE_SHARE = 0.01  # weight of a vertex without work against the mean


@cache
def _library() -> Any:
    return mtkahypar.initialize(1)


def partition_hypergraph(
    hypergraph: Hypergraph,
    num_parts: int,
    *,
    seed: int = 1,
    imbalance: float = DEFAULT_IMBALANCE,
) -> Partition:
    """Return a balanced partition of the vertices with a small connectivity metric.

    Args:
        hypergraph: At least one net.
        num_parts: Number of parts p >= 2.
        seed: Seed, not negative.
        imbalance: Allowed excess of the largest part's work over the mean.

    Raises:
        PartitionError: If there are fewer vertices than parts or Mt-KaHyPar fails.
    """
    if not 2 <= num_parts <= hypergraph.num_vertices:
        raise PartitionError(
            f"cannot divide {hypergraph.num_vertices} vertices among {num_parts} parts",
            hint="use fewer nodes or a larger problem size",
        )
    mtkahypar.set_seed(seed)
    try:
        library = _library()
        context = library.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
        context.set_partitioning_parameters(num_parts, imbalance, mtkahypar.Objective.KM1)
        context.logging = False
        nets = np.split(hypergraph.pin, hypergraph.net_pointer[1:-1])
        divided = library.create_hypergraph(
            context,
            hypergraph.num_vertices,
            hypergraph.num_nets,
            [net.tolist() for net in nets],
            _vertex_weights(hypergraph).tolist(),
            _net_weights(hypergraph).tolist(),
        ).partition(context)
    except Exception as error:
        raise PartitionError(f"Mt-KaHyPar failed: {error}") from error
    part: Int32 = np.array(divided.get_partition(), dtype=np.int32)
    return Partition(
        part,
        num_parts,
        "mt-kahypar",
        "km1",
        seed,
        0,
        imbalance_of(hypergraph.work_flops, part, num_parts),
    )


def _vertex_weights(hypergraph: Hypergraph) -> Int64:
    """Work in integers; vertices without any get a hundredth of the mean, terms nothing to speak of."""
    work = hypergraph.work_flops
    mean = work.sum() / max(len(work), 1)
    if mean == 0:
        return np.ones(len(work), dtype=np.int64)
    padded = np.maximum(work, _IDLE_SHARE * mean)
    return np.asarray(np.maximum(np.rint(padded * (_WORK_UNITS / padded.sum())), 1).astype(np.int64))


def _net_weights(hypergraph: Hypergraph) -> Int64:
    scale = min(1.0, _MAX_NET_WEIGHT / max(int(hypergraph.net_bytes.max(initial=1)), 1))
    return np.asarray(np.maximum(np.rint(hypergraph.net_bytes * scale), 1).astype(np.int64))
