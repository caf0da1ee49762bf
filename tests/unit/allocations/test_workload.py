"""Where the ranks of workloads are put."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.allocations.phases import Halo
from commanalyzer.allocations.workload import HaloWorkload, ResultWorkload, Site
from commanalyzer.errors import ConfigError
from commanalyzer.result.results import AnalysisResult, WorkCounts
from commanalyzer.simulation.routes import make_network
from tests.samples import sample_decomposition, sample_result

RANKS, PAIR_BYTES = 16, 1000


def shuffled_chain() -> AnalysisResult:
    """A chain of ranks whose numbers say nothing about their place in it."""
    item = sample_decomposition(RANKS, pair_bytes=PAIR_BYTES)
    order = np.random.default_rng(3).permutation(RANKS)
    matrix = np.zeros((RANKS, RANKS), dtype=np.int64)
    matrix[order[:-1], order[1:]] = PAIR_BYTES
    traffic = replace(item.communication, comm_bytes=matrix, messages=(matrix > 0).astype(np.int64))
    return sample_result(replace(item, communication=traffic))


@pytest.mark.parametrize("topology", ["", "torus", "fat-tree"])
def test_partners_of_a_chain_share_nodes(topology: str) -> None:
    """16 ranks of a chain on 4 nodes: at least 3 of its 15 links cross."""
    workload = ResultWorkload(shuffled_chain(), 1)
    network = make_network(topology, 4) if topology else None
    near = workload.demand(4, 4, Site(network=network, order="near"))
    blocks = workload.demand(4, 4, Site(network=network))
    assert near is not None and blocks is not None
    assert near.metrics["V"].sum() == 3 * PAIR_BYTES
    assert blocks.metrics["V"].sum() > near.metrics["V"].sum()


def test_nodes_that_exchange_are_near_each_other() -> None:
    """One rank per node in a ring of 5: a chain fits with one link per message."""
    ring = make_network("torus", 5)
    item = sample_decomposition(5)
    assert ring.sides == (5,)
    matrix = item.communication.comm_bytes[:, [2, 0, 4, 1, 3]][[2, 0, 4, 1, 3]]
    traffic = replace(item.communication, comm_bytes=matrix, messages=(matrix > 0).astype(np.int64))
    workload = ResultWorkload(sample_result(replace(item, communication=traffic)), 1)
    found = workload.demand(5, 1, Site(network=ring, order="near"))
    assert found is not None
    assert found.metrics["D"].max() == 1


def test_counted_runs_have_no_work() -> None:
    with pytest.raises(ConfigError, match="operations of the program"):
        ResultWorkload(replace(sample_result(), work=WorkCounts(0, 0, 0, 0)), 1)


def test_halos_do_not_say_who_talks_to_whom() -> None:
    workload = HaloWorkload("halo", Halo((8, 8, 8)), 10, 8)
    with pytest.raises(ConfigError, match=r"expected a result \(\*\.cmz\)"):
        workload.demand(2, 2, Site(order="near"))
