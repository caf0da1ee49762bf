"""Loads libraries and compiled kernels, so that the first point of a process does not pay for them."""

from __future__ import annotations

from functools import cache

import numpy as np

from commanalyzer.division.libraries.hypergraph import Hypergraph, incidence
from commanalyzer.division.libraries.mtkahypar import partition_hypergraph
from commanalyzer.division.refinement.refine import connectivity, refine


@cache
def warm_up() -> int:
    """Divide a path of four values; once per process. Returns the metric, 1."""
    path = Hypergraph(
        np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 3]), np.ones(3, dtype=np.int64), np.ones(4)
    )
    found = partition_hypergraph(path, 2, imbalance=0.5)
    owner = refine(path, incidence(path), found, 2, imbalance=0.5)
    return connectivity(path, owner, 2)
