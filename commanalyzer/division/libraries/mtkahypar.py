"""Mt-KaHyPar adapter: hypergraph -> partition.

Mt-KaHyPar minimises the connectivity metric, sum over nets of weight times (parts touched - 1), which is
the communication volume itself; METIS only sees an approximation. It runs on one thread with a fixed seed, so
that the same graph gets the same partition. The library is imported when it is called: often helpers call it.

Reference: L. Gottesbueren, T. Heuer, N. Maas, P. Sanders, S. Schlag, Scalable High-Quality Hypergraph
Partitioning, ACM Transactions on Algorithms 20(1), 2024.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from commanalyzer.division.budget import NO_LIMIT, Limit
from commanalyzer.division.libraries.concurrency import LibraryCaller, StoppedError
from commanalyzer.division.libraries.hypergraph import Hypergraph
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Int32, Int64
from commanalyzer.request import DEFAULT_IMBALANCE

_WORK_UNITS = 1 << 27  # total of the integer vertex weights
_MAX_NET_WEIGHT = 1 << 20
_IDLE_SHARE = 0.01  # weight of a vertex without work against the mean
_MOST_FLOW_PINS = 60_000  # where the better preset takes seconds


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
        return call(divide, limit, num_parts, *nets, *weights, seed, imbalance)
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


@cache
def _library(module: ModuleType) -> Any:
    return module.initialize(1)


def divide(
    num_parts: int,
    net_pointer: Int64,
    pin: Int64,
    vertex_weight: Int64,
    net_weight: Int64,
    seed: int,
    imbalance: float,
) -> Int32:
    """Return int32[N], parts with a small connectivity metric; any exception if Mt-KaHyPar fails.

    ``net_pointer`` is [M + 1], ``pin`` [P] the vertices of all nets; the largest part's weight may exceed the
    mean by ``imbalance``.
    """
    import mtkahypar

    mtkahypar.set_seed(seed)
    library = _library(mtkahypar)
    is_small = len(pin) <= _MOST_FLOW_PINS
    preset = "DETERMINISTIC_QUALITY" if is_small else "DETERMINISTIC"  # others differ from call to call
    context = library.context_from_preset(getattr(mtkahypar.PresetType, preset))
    context.set_partitioning_parameters(num_parts, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    pins = pin.tolist()
    nets = [pins[begin:end] for begin, end in pairwise(net_pointer.tolist())]
    sizes, weights = (len(vertex_weight), len(net_weight)), (vertex_weight.tolist(), net_weight.tolist())
    hypergraph = library.create_hypergraph(context, *sizes, nets, *weights)
    del pins, nets, weights  # their memory is the library's
    return np.array(hypergraph.partition(context).get_partition(), dtype=np.int32)
