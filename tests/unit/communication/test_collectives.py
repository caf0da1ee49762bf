from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.communication.collectives import with_collectives
from commanalyzer.communication.matrix import Collective, Communication
from commanalyzer.communication.volume import charge_volume
from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.foundation.flows import Fold
from commanalyzer.graph.value_graph import HomeKind, HomeObject, Site, ValueGraph
from tests.graphs import build, homed, plain_rows

PARTS = np.array([0, 0, 1, 1, 2, 2, 3, 3, 0], dtype=np.int32)
SUM = 8


def _sum_of_eight(rounds: int) -> ValueGraph:
    """x[0..7] and s: ``rounds`` times, s = x[0] + ... + x[7], then each x[i] from s; x[2] also from x[0]."""
    reads = [[SUM], [SUM], [SUM, 0], *([SUM] for _ in range(5))]
    source = [*range(8), *(value for row in reads for value in row)]
    terms = np.cumsum([0, 8, *map(len, reads)])
    pointers, fold = (terms, np.arange(len(source) + 1)), [int(Fold.SUM)] + [0] * 8
    rows = plain_rows([SUM, *range(8)], source, pointers, count=rounds, site=[0] + [1] * 8, fold=fold)
    objects = HomeObject(HomeKind.GLOBAL, "x"), HomeObject(HomeKind.GLOBAL, "s")
    bare = build(9, [], versions=dict.fromkeys(range(9), rounds))
    graph = homed(bare, [0] * 8 + [1], [*range(0, 64, 8), 0], objects)
    sites = Site("main", "a.c", 1, "store", 8, Fold.SUM, 1), Site("main", "a.c", 2, "store", 8)
    return replace(graph, producer_site=np.array([1] * 8 + [0], dtype=np.int32), rows=rows, sites=sites)


def test_hubs_are_told_apart_and_all_others_are_peers() -> None:
    graph = _sum_of_eight(5)
    hubs, none = np.arange(9) == SUM, np.zeros(9, dtype=np.bool_)
    charges = charge_volume(graph, PARTS, 4, hubs)
    plain = charges.communication(graph, PARTS)
    found = with_collectives(plain, charges, charges.exchanges(graph, PARTS, hubs=hubs), graph, hubs)
    assert found.collectives == (
        Collective("bcast", "s", root=0, partners=3, rounds=5, comm_bytes=120),
        Collective("reduce", "s", root=0, partners=3, rounds=5, comm_bytes=120),
    )
    assert [c.round_bytes for c in found.collectives] == [8.0, 8.0]
    # what is left: x[0] goes to part 1 each time
    assert found.peer_bytes is not None
    assert found.peer_messages is not None
    assert found.peer_bytes.tolist() == [[0, 40, 0, 0], [0] * 4, [0] * 4, [0] * 4]
    assert found.peer_messages.tolist() == [[0, 5, 0, 0], [0] * 4, [0] * 4, [0] * 4]
    assert found.comm_bytes.tolist() == plain.comm_bytes.tolist()
    assert found.total_bytes == 280
    charges = charge_volume(graph, PARTS, 4, none)
    exchanges = charges.exchanges(graph, PARTS, hubs=none)
    found = with_collectives(charges.communication(graph, PARTS), charges, exchanges, graph, none)
    assert found.collectives == ()
    assert found.peer_bytes is None


def test_sums_must_agree() -> None:
    matrix, none = np.array([[0, 8], [0, 0]]), np.zeros((2, 2), dtype=np.int64)
    item = Collective("bcast", "s", 0, 1, 1, 4)
    with pytest.raises(GraphInvariantError, match="add up"):
        Communication(matrix, matrix // 8, 8, 8, collectives=(item,), peer_bytes=none, peer_messages=none)
    with pytest.raises(GraphInvariantError, match="need the peer"):
        Communication(matrix, matrix // 8, 8, 8, collectives=(item,))
    with pytest.raises(GraphInvariantError, match="need the peer"):
        Communication(matrix, matrix // 8, 8, 8, collectives=(), peer_bytes=matrix)
