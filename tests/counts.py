"""Communication of owners that a test gives, in the ``volume`` model and as the paper counts it."""

import numpy as np

from commanalyzer.communication.hpdc18 import charge_hpdc18, with_singletons
from commanalyzer.communication.matrix import Communication
from commanalyzer.communication.totals import totals_of
from commanalyzer.communication.volume import charge_volume
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Bool, Float64, Int32, UInt8


def parts(*owners: int) -> Int32:
    return np.array(owners, dtype=np.int32)


def imbalance_of_work(work: Float64, part: Int32, num_parts: int) -> float:
    """The largest part's work (float64[V] of all values) over the mean."""
    load = np.bincount(part, work, num_parts)
    return float(load.max() / load.mean()) if load.any() else 1.0


def count_volume(graph: AnyGraph, part: Int32, num_parts: int, hubs: Bool | None = None) -> Communication:
    return charge_volume(graph, part, num_parts, hubs).communication(graph, part)


def count_hpdc18(graph: AnyGraph, part: Int32, num_parts: int, singletons: UInt8) -> Communication:
    totals = totals_of(graph)
    charges = charge_hpdc18(graph, part, num_parts, singletons, totals)
    return with_singletons(charges.communication(graph, part, totals), graph, part, singletons, totals)
