"""Python functions compiled by Numba: work and communication by theory, arrays under their Python names."""

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import HomeKind

pytest.importorskip("numba")
N, STEPS, PARTS = 64, 6, 4


def heat(u, v, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.25 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u


def dot(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] * y[i, j]
    return total


def test_heat_moves_a_halo_and_counts_its_work() -> None:
    u = np.linspace(0.0, 1.0, N) ** 2
    before = u.copy()
    result = ca.analyze_function(heat, [u, u.copy(), STEPS], nodes=[PARTS], check=True)
    assert result.work.flops == 5 * (N - 2) * STEPS
    arrays = {o.name for o in result.graph.objects if o.kind is HomeKind.HEAP}
    assert arrays == {"u", "v"}
    best = result.best(PARTS)
    moved = sum(
        int(b) for b, o in zip(best.object_bytes, result.graph.objects, strict=True) if o.name in arrays
    )
    assert moved == 8 * 2 * (PARTS - 1) * STEPS
    assert np.array_equal(u, before)


def test_dot_product_of_matrices_has_every_element_as_term() -> None:
    x, y = np.ones((5, 7)), np.full((5, 7), 2.0)
    result = ca.analyze_function(dot, [x, y], nodes=[2], check=True)
    assert result.work.flops == 2 * 5 * 7
    read = {
        (result.graph.objects[result.graph.home_object[s]].name, int(result.graph.home_offset[s]))
        for s in result.graph.rows.source
        if result.graph.objects[result.graph.home_object[s]].kind is HomeKind.HEAP
    }
    assert read == {(name, 8 * k) for name in ("x", "y") for k in range(35)}


def test_arguments_that_cannot_be_passed_are_named() -> None:
    with pytest.raises(ConfigError, match="complex128") as caught:
        ca.analyze_function(dot, [np.ones((2, 2), complex), np.ones((2, 2))])
    assert caught.value.where == "x"
