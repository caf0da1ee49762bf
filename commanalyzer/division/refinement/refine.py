"""Refinement of partitions for the communication volume: hypergraph + owners -> owners that move fewer bytes.

Three steps, all on the connectivity metric: vertices without an owner get one (:func:`place`), parts with too
much work give some away, single moves lower the metric. Vertices may be fixed: with arrays divided as a
programmer would, only what follows them is placed.
"""

from __future__ import annotations

import math
from heapq import heapreplace

import numpy as np

from commanalyzer.division.libraries.hypergraph import Hypergraph, Incidence
from commanalyzer.division.refinement import kernels
from commanalyzer.foundation.compiled import frozen
from commanalyzer.foundation.errors import PartitionError
from commanalyzer.graph.value_graph import Bool, Float64, Int32, Int64

PASSES = 12
_CONFIDENCES = (0.5, 0.2, 0.05, 0.0)  # lead of the best part over the second, of all bytes of a vertex
_MOST_ROUNDS = 80
PATIENCE = 0.02  # of all vertices
_LEAST_PATIENCE = 200
_OUTLOOK = 3.0  # passes save less and less
_FAR = 4.0  # times the aim: no passes come so far
LEAST_GAIN = 0.0002  # of the metric, where graphs are large: passes that save less are not worth their time
MOST_COUNTS = 150_000_000  # nets times parts


def balance_weights(work_flops: Float64) -> Float64:
    """Return float64[N], what is balanced: the work, or vertices where there is no work at all."""
    return work_flops if work_flops.sum() > 0 else np.ones(len(work_flops), dtype=np.float64)


def most_work(weight: Float64, num_parts: int, imbalance: float, settled: float = 0.0) -> float:
    """Return how much work a part may have: ``1 + imbalance`` times the mean, or what grains allow.

    Where vertices are coarse (10 equal ones for 4 parts), a part has to take a whole number of them: allowed
    is what it has where each in turn, the heaviest first, is given to the part with least (R. L. Graham,
    SIAM J. Appl. Math. 17, 1969). Vertices within the imbalance fill the others up. ``settled`` is work
    beyond that of the vertices.
    """
    if not len(weight):
        return 0.0
    most = (1.0 + imbalance) * (float(weight.sum()) + settled) / num_parts
    grains = np.sort(weight[weight > imbalance / (1.0 + imbalance) * most])[::-1]
    load = [0.0] * num_parts  # a heap
    for grain in grains.tolist():
        heapreplace(load, load[0] + grain)
    return max(most, *load) * (1.0 + 1e-9)


def refine(
    hypergraph: Hypergraph,
    nets: Incidence,
    part: Int32,
    num_parts: int,
    *,
    imbalance: float,
    fixed: Bool | None = None,
    num_values: int | None = None,
    work_flops: Float64 | None = None,
    settled: Float64 | None = None,
    passes: int = PASSES,
    patience: float = PATIENCE,
    least_gain: float = 0.0,
    hopeless: float = math.inf,
) -> Int32:
    """Return owners with a smaller connectivity metric.

    Args:
        part: int32[N], part of each vertex, -1 for those to be placed.
        imbalance: Allowed excess of the largest part's work over the mean.
        fixed: bool[N], vertices that keep their part.
        num_values: Vertices from it on are terms, which are where their operands are and do not move for the
            balance; None where all may.
        work_flops: float64[N], work to be balanced; None for that of the hypergraph.
        settled: float64[p], work of each part that no vertex stands for.
        passes: Most passes of moves that lower the metric; 0 only places and balances.
        patience: Moves since the best state after which a pass ends, of all vertices.
        least_gain: Share of the metric that a pass has to save if another one is to follow.
        hopeless: What has to be within reach if another pass is to follow, over the metric at first: all of
            them are taken to save at most ``_OUTLOOK`` times what the last one saved. Without a pass if that
            is less than one ``_FAR``-th.

    Raises ``PartitionError`` if ``part`` has another length, or nets times parts exceed what fits into
    memory.
    """
    if len(part) != (n := hypergraph.num_vertices):
        raise PartitionError(f"expected a part for each of {n} vertices, found {len(part)}")
    if hypergraph.num_nets * num_parts > MOST_COUNTS:
        raise PartitionError(f"expected at most {MOST_COUNTS} nets times parts, found more")
    owner = part.astype(np.int32)
    weight = frozen(balance_weights(hypergraph.work_flops if work_flops is None else work_flops), np.float64)
    base = np.zeros(num_parts) if settled is None else settled
    divided = _tables(hypergraph, nets, owner)
    _place(divided, num_parts)
    load = np.bincount(owner, weight, num_parts) + base
    movable = np.ones(n, np.bool_) if fixed is None else ~fixed
    relieved = movable if num_values is None else movable & (np.arange(n) < num_values)
    most = _most_beside(weight, owner, ~relieved, num_parts, imbalance, float(base.sum()))
    balance = kernels.Balance(weight, load, most, *np.zeros((2, num_parts), np.int64))
    kernels.relieve(divided, balance, _queue(np.zeros(n), relieved))
    is_judged = least_gain > 0.0 or hopeless < math.inf
    metric = connectivity(hypergraph, owner, num_parts) if is_judged else 0
    aim = hopeless * metric if metric else math.inf
    moves = max(_LEAST_PATIENCE, int(patience * n))
    for _ in range(passes if metric <= _FAR * aim else 0):
        queue, history = _queue(np.zeros(n, np.int64), movable.copy()), (np.empty(n, np.int32), owner.copy())
        saved = int(kernels.improve(divided, balance, queue, moves, history))
        metric -= saved
        if saved <= least_gain * metric or metric - _OUTLOOK * saved > aim:
            break
    return owner


def _queue(key: Int64 | Float64, free: Bool) -> kernels.Queue:
    """Return an empty queue."""
    heap, at, looked = np.full((3, len(key)), -1, np.int32)
    return kernels.Queue(heap, at, key, free, looked)


def _most_beside(
    weight: Float64, owner: Int32, settled: Bool, num_parts: int, imbalance: float, more: float
) -> float:
    """Return how much work a part may have: where that of ``settled`` is uneven, the rest cannot mend it."""
    given = np.bincount(owner[settled], weight[settled], num_parts).max(initial=0.0)
    slack = imbalance * (float(weight.sum()) + more) / num_parts
    return max(most_work(weight, num_parts, imbalance, more), float(given) + slack)


def _tables(hypergraph: Hypergraph, nets: Incidence, owner: Int32) -> kernels.Divided:
    """Return the hypergraph as kernels take it, with room for the parts that nets touch."""
    h = hypergraph
    state = np.zeros((h.num_nets + 1, kernels.STATES), np.int64)
    state[:, kernels.FIRST], state[:-1, kernels.BYTES] = h.net_pointer, h.net_bytes
    slot = np.empty((h.num_pins, 2), np.int32)
    return kernels.Divided(h.pin.astype(np.int32), nets.pointer, nets.net, state, slot, owner)


def placed(hypergraph: Hypergraph, nets: Incidence, part: Int32, num_parts: int) -> Int32:
    """Return ``part`` with the missing ones (-1) filled in; arguments as of :func:`refine`."""
    owner = part.copy()
    _place(_tables(hypergraph, nets, owner), num_parts)
    return owner


def _place(divided: kernels.Divided, num_parts: int) -> None:
    """Give parts to vertices without one, in place, and fill the tables.

    In each round those are placed whose best part leads the second by the most that any does, in steps, of
    all their bytes; after all have chosen, so that the order of vertices does not matter. Vertices whose nets
    have no pin with a part are laid side by side, evenly.
    """
    owner, votes, near = divided.part, np.zeros(num_parts), np.zeros(num_parts, np.int64)
    kernels.count_pins(divided, num_parts)
    waiting = np.flatnonzero(owner < 0)
    if not len(waiting):
        return
    part, lead = np.full(len(waiting), -1, np.int32), np.full(len(waiting), -1.0)
    has_new = np.ones(len(divided.state), np.bool_)
    for _ in range(_MOST_ROUNDS):
        kernels.elect(divided, waiting, has_new, votes, near, part, lead)
        reached = [c for c in _CONFIDENCES if c <= lead.max(initial=-1.0)]
        if not reached:
            break
        sure = lead >= reached[0]
        chosen = waiting[sure]
        owner[chosen] = part[sure]
        waiting, part, lead = waiting[~sure], part[~sure], lead[~sure]
        has_new[:] = False
        kernels.add_pins(divided, chosen, has_new)
    owner[waiting] = np.arange(len(waiting)) * num_parts // max(len(waiting), 1)
    kernels.count_pins(divided, num_parts)


def connectivity(hypergraph: Hypergraph, part: Int32, num_parts: int) -> int:
    """Return the connectivity metric in bytes: sum over nets of weight times (parts touched - 1)."""
    h = hypergraph
    return int(kernels.connectivity(h.net_pointer, h.pin, h.net_bytes, part, num_parts))
