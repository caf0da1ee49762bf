"""Algorithm 3: scores, kinds and the paper's size unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_parameter_sum_and_reduction() -> None:
    n = 40
    a, total, rr = n, n + 1, n + 2
    rows = [row(i, (i + 1) % n, (i - 1) % n, a, rr, accumulates=True) for i in range(n)]
    rows += [row(total, *range(n)), row(rr, *range(n))]
    g = build(n + 3, rows)
    found = singletons.find_singletons(g, high=0.85)
    # Cells: two neighbours, parameter, sum and reduction; the three others touch all 40.
    degree = singletons.count_neighbours(g)
    assert degree.tolist() == [5] * n + [40, 40, 40]
    assert singletons.degree_centroid(degree) == 5.0
    score = max(40 / 43, singletons.distance_score(degree, 5.0)[a])
    assert score == pytest.approx(max(40 / 43, 1 - 5 / 40))
    assert [bool(singletons.find_singletons(g, score + d)[a]) for d in (-1e-9, 1e-9)] == [True, False]
    assert np.flatnonzero(found).tolist() == [a, total, rr]
    assert np.bincount(found).tolist() == [n, 1, 1, 1]
    kind = singletons.SingletonKind
    assert found[[a, total, rr]].tolist() == [kind.SOURCE, kind.SINK, kind.REDUCTION]
    assert words_of(g, 0.85) == 2 * n + 2 * (2 * n + n)


def test_dense_matvec_marks_both_vectors_as_in_the_paper() -> None:
    n = 12
    rows = [row(n + i, *(x for j in range(n) for x in (j, 2 * n + i * n + j))) for i in range(n)]
    g = build(2 * n + n * n, rows)
    found = singletons.find_singletons(g)
    assert singletons.degree_centroid(singletons.count_neighbours(g)) == 1.0
    assert np.flatnonzero(found).tolist() == list(range(2 * n))
    assert found[:n].tolist() == [singletons.SingletonKind.SOURCE] * n
    assert found[n : 2 * n].tolist() == [singletons.SingletonKind.SINK] * n


def test_unconnected_values_do_not_lower_the_centroid() -> None:
    g = build(30, [row(0, 1), row(2, 3)])
    assert singletons.degree_centroid(singletons.count_neighbours(g)) == 1.0
    assert not singletons.find_singletons(g).any()


def test_threshold_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"found 1\.5"):
        singletons.find_singletons(build(1, []), high=1.5)


def test_empty_graph() -> None:
    assert not singletons.find_singletons(build(0, [])).any()
    assert words_of(build(0, [])) == 0


@given(st.lists(st.integers(0, 40) | st.integers(1000, 2000)))
@settings(max_examples=200, deadline=None)
def test_the_centroid_is_the_lesser_of_mean_and_median(degrees: list[int]) -> None:
    degree = np.array(degrees, dtype=np.int32)
    connected = [d for d in degrees if d]
    expected = min(np.mean(connected), np.median(connected)) if connected else 0.0
    assert singletons.degree_centroid(degree) == expected
