"""Mt-KaHyPar adapter: hypergraph -> partition.

Mt-KaHyPar minimises the connectivity metric, sum over nets of weight times (parts touched - 1), which is
the communication volume itself; METIS only sees an approximation. It runs on one thread with a fixed seed, so
that the same graph gets the same partition.

Reference: L. Gottesbueren, T. Heuer, N. Maas, P. Sanders, S. Schlag, Scalable High-Quality Hypergraph
Partitioning, ACM Transactions on Algorithms 20(1), 2024.
"""

from __future__ import annotations

import numpy as np

from commanalyzer.division.budget import NO_LIMIT, Limit
from commanalyzer.division.libraries import mtkahypar_call
from commanalyzer.division.libraries.concurrency import LibraryCaller, StoppedError
from commanalyzer.division.libraries.hypergraph import Hypergraph
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.request import DEFAULT_IMBALANCE

_WORK_UNITS = 1 << 27  # total of the integer vertex weights
_MAX_NET_WEIGHT = 1 << 20
_IDLE_SHARE = 0.01  # weight of a vertex without work against the mean


def partition_hypergraph(
    hypergraph: Hypergraph,
    num_parts: int,
    *,
    seed: int = 1,
    imbalance: float = DEFAULT_IMBALANCE,
    caller: LibraryCaller | None = None,
    limit: Limit = NO_LIMIT,
) -> Int32:
    """Return int32[N], a balanced partition of the vertices with a small connectivity metric.

    There are at least one net and two parts; ``imbalance`` is the allowed excess of the largest part's work
    over the mean. Raises ``PartitionError`` if there are fewer vertices than parts or Mt-KaHyPar fails.
    """
    if not 2 <= num_parts <= hypergraph.num_vertices:
        wrong = f"cannot divide {hypergraph.num_vertices} vertices among {num_parts} parts"
        raise PartitionError(wrong, hint="use fewer nodes or a larger problem size")
    scale = min(1.0, _MAX_NET_WEIGHT / max(int(hypergraph.net_bytes.max(initial=1)), 1))
    net_weights = np.maximum(np.rint(hypergraph.net_bytes * scale), 1).astype(np.int64)
    weights = _vertex_weights(hypergraph), net_weights
    nets, call = (hypergraph.net_pointer, hypergraph.pin), (caller or LibraryCaller()).call
    try:
        return call(mtkahypar_call.divide, limit, num_parts, *nets, *weights, seed, imbalance)
    except (StoppedError, PartitionError):
        raise
    except Exception as error:
        raise PartitionError(f"Mt-KaHyPar failed: {error}") from error


def _vertex_weights(hypergraph: Hypergraph) -> Int64:
    """Work in integers; vertices without any get a hundredth of the mean, terms nothing to speak of."""
    work = hypergraph.work_flops
    mean = work.sum() / max(len(work), 1)
    if mean == 0:
        return np.ones(len(work), dtype=np.int64)
    padded = np.maximum(work, _IDLE_SHARE * mean)
    return np.asarray(np.maximum(np.rint(padded * (_WORK_UNITS / padded.sum())), 1).astype(np.int64))
