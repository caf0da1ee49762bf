"""Algorithm 3: scores, kinds and the paper's size unit."""

import numpy as np
import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.structure import singletons
from commanalyzer.graph.value_graph import ValueGraph
from tests.graphs import build, row


def words_of(graph: ValueGraph, high: float = singletons.HIGH) -> int:
    return singletons.paper_counts(graph, high, np.zeros(graph.num_vertices, np.bool_))[1]


def torus(n: int, around: int) -> ValueGraph:
    """Stencil on a periodic grid of n cells that reads itself and ``around`` neighbours on both sides."""
    steps = [s for s in range(-around, around + 1) if s]
    return build(n, [row(i, *((i + s) % n for s in steps), accumulates=True) for i in range(n)])


@pytest.mark.parametrize(("around", "words"), [(2, 12), (3, 16)])
def test_words_of_five_and_seven_point_stencils(around: int, words: int) -> None:
    g = torus(40, around)
    assert not singletons.find_singletons(g).any()
    assert words_of(g) == words * 40


def test_dense_matvec_marks_both_vectors_as_in_the_paper() -> None:
    n = 12
    rows = [row(n + i, *(x for j in range(n) for x in (j, 2 * n + i * n + j))) for i in range(n)]
    g = build(2 * n + n * n, rows)
    found = singletons.find_singletons(g)
    assert np.flatnonzero(found).tolist() == list(range(2 * n))
    assert found[:n].tolist() == [singletons.SingletonKind.SOURCE] * n
    assert found[n : 2 * n].tolist() == [singletons.SingletonKind.SINK] * n


def test_threshold_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"found 1\.5"):
        singletons.find_singletons(build(1, []), high=1.5)
