import numpy as np
import pytest

from commanalyzer.scaling.sweep.points import grid, parse_axis
from commanalyzer.scaling.sweep.run import fit_power_law, log_sizes, needs_of
from tests.unit.scaling.sweep.records import record


def test_sizes_are_logarithms_of_positive_numbers() -> None:
    points = grid([parse_axis("n=1,8"), parse_axis("kind=a"), parse_axis("shift=0,1"), parse_axis("k=2")])
    assert log_sizes(points) == pytest.approx(np.log([[1, 2], [1, 2], [8, 2], [8, 2]]))


def test_a_law_is_found_where_points_decide() -> None:
    n, k = np.meshgrid([8.0, 16.0, 32.0, 64.0], [1.0, 4.0, 16.0])
    log_x = np.log(np.stack([n.ravel(), k.ravel()], axis=1))
    law = fit_power_law(log_x, 5.0 * n.ravel() ** 3 * k.ravel())
    # The prior of 2 pulls by less than 1 %.
    assert law.exponents == pytest.approx([3.0, 1.0], rel=0.01)
    assert law(np.log(np.array([[1024.0, 1.0]])))[0] == pytest.approx(5.0 * 1024.0**3, rel=0.05)


def test_with_one_point_growth_is_taken_to_be_quadratic() -> None:
    law = fit_power_law(np.log(np.array([[10.0]])), np.array([7.0]))
    assert law(np.log(np.array([[10.0], [30.0]]))) == pytest.approx([7.0, 63.0])


def test_memory_is_an_offset_and_a_multiple_of_the_graph() -> None:
    log_x = log_sizes(grid([parse_axis("n=8,16,32,1024")]))
    done = {
        i: record(n, graph_bytes=100 * n**2, memory_bytes=10**6 + 20 * 100 * n**2, wall_s=0.01 * n**2)
        for i, n in enumerate((8, 16, 32))
    }
    needs = needs_of(log_x, done)
    assert needs.is_extrapolated
    # A quarter more than what the law says, for safety.
    assert needs.memory_bytes[3] == pytest.approx(10**6 + 1.25 * 20 * 100 * 1024**2, rel=1e-3)
    assert needs.wall_s == pytest.approx(0.01 * np.array([8, 16, 32, 1024]) ** 2, rel=1e-3)


def test_small_points_do_not_hide_growth_behind_the_offset() -> None:
    log_x = log_sizes(grid([parse_axis("n=8,16,4096")]))
    done = {i: record(n, graph_bytes=100 * n**2, memory_bytes=3 * 10**8) for i, n in enumerate((8, 16))}
    assert needs_of(log_x, done).memory_bytes[2] > 6 * 100 * 4096**2


def test_nothing_is_known_at_first() -> None:
    needs = needs_of(np.zeros((2, 1)), {})
    assert np.isnan(needs.memory_bytes).all() and np.isnan(needs.wall_s).all() and not needs.is_extrapolated


def test_points_that_differ_in_words_only_are_taken_to_be_alike() -> None:
    log_x = log_sizes(grid([parse_axis("kind=a,b,c")]))
    assert log_x.shape == (3, 0)
    done = {i: record(8, graph_bytes=100, memory_bytes=10**6) for i in (0, 1)}
    needs = needs_of(log_x, done)
    assert not needs.is_extrapolated
    assert needs.memory_bytes[2] == pytest.approx(1.25e6)
    assert needs.wall_s[2] == pytest.approx(1.0)
