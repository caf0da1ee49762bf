"""Parts of a division split into more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from commanalyzer.decompose import CountOptions, decompose
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.partition.budget import Limit
from commanalyzer.partition.coarsening.coarse import build_by_value
from commanalyzer.partition.libraries.concurrency import Caller
from commanalyzer.partition.portfolio import Candidate, Portfolio
from commanalyzer.partition.splitting import split_parts, usual_growth
from commanalyzer.request import Coarsen
from commanalyzer.vcg.storage.store import GraphStore
from tests.unit.partition.coarsening.test_tiles import jacobi


def test_every_piece_lies_in_one_part_and_has_its_share() -> None:
    graph = jacobi(24)
    adjacency = build_by_value(graph, np.zeros(graph.num_vertices, np.bool_)).adjacency
    n = adjacency.num_vertices
    halves = (np.arange(n) % 2).astype(np.int32)  # every second vertex: no part is connected
    found = split_parts(adjacency, halves, 2, 3, seed=1, imbalance=0.03, caller=Caller(), limit=Limit(1.0))
    assert (found // 3 == halves).all()
    assert np.bincount(found).min() >= 0.9 * n / 6


@pytest.mark.parametrize(("fewer", "more", "times"), [(4, 16, 3.0), (9, 36, 2.5)])
def test_squares_are_what_is_usual(fewer: int, more: int, times: float) -> None:
    assert usual_growth(fewer, more) == pytest.approx(times)  # 2 (sqrt p - 1) lines


@pytest.mark.parametrize("coarsen", ["never", 64])
def test_a_search_that_fails_among_more_nodes_is_mended_by_what_fewer_found(
    coarsen: Coarsen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight nodes are only offered every eighth value: all is sent; halves of four quarters send far less."""
    search = Portfolio.candidates

    def candidates(self: Portfolio, num_parts: int) -> Iterator[Candidate]:
        if num_parts == 8:
            yield Candidate("dealt", (np.arange(graph.num_vertices) % 8).astype(np.int32), 0.0)
        else:
            yield from search(self, num_parts)

    def unrefined(*_: object) -> Iterator[Candidate]:
        yield from ()

    monkeypatch.setattr(Portfolio, "candidates", candidates)
    monkeypatch.setattr(Portfolio, "refined", unrefined)
    graph = jacobi(24)
    options = CountOptions((4, 8), ("volume",), 0.9, MachineParameters(), 1, 0.03, True, coarsen=coarsen)
    counted = decompose(GraphStore.of(graph), 1152, options, SilentProgress())
    four, eight = (d for d in counted.decompositions if d.best)
    assert "split from 4" in eight.method
    assert eight.comm_bytes <= 3 * four.comm_bytes
