import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import ScalingBound, scaling_bound
from commanalyzer.report.figures.chart import short_name
from commanalyzer.report.figures.matrix import draw_matrix, draw_network, hidden_pairs, place_nodes
from commanalyzer.report.figures.scaling import (
    curves_of,
    draw_efficiency,
    draw_roofline,
    draw_speedup,
    eq4,
    roof_of,
)
from commanalyzer.report.figures.territory import draw_territory, map_colors, touching
from commanalyzer.report.machine import bound_text
from tests.samples import sample_communication, sample_machine, sample_result

MATRIX = np.array([[0, 2000, 0], [40, 0, 1], [0, 0, 0]], dtype=np.int64)


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


def _texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def _bound() -> ScalingBound:
    """Two and four nodes, 500 and 1500 B for 1000 flop; 1 GB/s and 1 GFlop/s: E = 1 / (1 + bytes / flop)."""
    items = []
    for nodes, pair_bytes in ((2, 250), (4, 125)):
        matrix = np.full((nodes, nodes), pair_bytes, dtype=np.int64)
        np.fill_diagonal(matrix, 0)
        items.append(("blocks", replace(sample_communication(matrix), collectives=None)))
    return scaling_bound(1000, items, sample_machine(bandwidth=1e9, throughput=1e9, latency=1e-6))


def test_the_heat_map_is_the_matrix_without_zeros(ax: Axes) -> None:
    draw_matrix(ax, MATRIX, participant="rank")
    image = ax.images[0]
    shown: np.ma.MaskedArray = np.ma.asarray(image.get_array())
    assert np.array_equal(shown.filled(0), MATRIX)
    assert image.get_clim() == (1, 2000)
    assert sorted(_texts(ax)) == ["1 B", "2 kB", "40 B"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("to rank", "from rank")


@pytest.mark.parametrize("amount", [0, 7])
def test_a_heat_map_of_equal_amounts_has_a_scale(ax: Axes, amount: int) -> None:
    draw_matrix(ax, np.array([[0, amount], [amount, 0]], dtype=np.int64))
    assert ax.images[0].get_clim() == (0, max(amount, 1))


def test_close_amounts_have_close_colours(ax: Axes) -> None:
    draw_matrix(ax, np.array([[0, 516], [520, 0]], dtype=np.int64))
    image, bar = ax.images[0], ax.figure.axes[1]
    low, high = np.asarray(image.to_rgba(np.array([516.0, 520.0])))
    assert np.abs(high - low).max() < 0.02 and high[:3].sum() < low[:3].sum()  # more is darker
    assert bar.get_ylabel() == "bytes sent"


def test_the_network_leaves_out_faint_pairs_and_counts_them(ax: Axes) -> None:
    assert hidden_pairs(MATRIX) == 1  # 1 B of 2040 B
    draw_network(ax, MATRIX, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    lines = ax.collections[0].get_segments()  # type: ignore[attr-defined]
    assert [line.tolist() for line in lines] == [[[0.0, 0.0], [1.0, 0.0]]]
    assert _texts(ax) == ["0", "1", "2"]


def test_nodes_of_a_chain_lie_in_its_order() -> None:
    chain = np.diag(np.full(4, 100), 1) + np.diag(np.full(4, 100), -1)
    place = place_nodes(chain.astype(np.int64))
    along = place @ (place[-1] - place[0])
    assert np.argsort(along).tolist() == [0, 1, 2, 3, 4]


def test_nodes_without_partners_have_places() -> None:
    assert np.isfinite(place_nodes(MATRIX)).all()
    assert place_nodes(np.zeros((1, 1), np.int64)).shape == (1, 2)
    assert place_nodes(np.zeros((3, 3), np.int64)).shape == (3, 2)


def test_parts_touch_along_edges_and_corners() -> None:
    owner = np.array([[0, 0, 1], [0, 2, 1], [3, 3, -1]], dtype=np.int32)
    near = touching([owner], 4)
    pairs = {(i, j) for i, j in zip(*np.nonzero(np.triu(near)), strict=True)}
    assert pairs == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_parts_that_touch_have_different_colours() -> None:
    owner = np.kron(np.arange(16).reshape(4, 4), np.ones((3, 3))).astype(np.int32)
    near = touching([owner], 16)
    colors = map_colors(near)
    same = (colors[:, None] == colors[None, :]).all(axis=2)
    assert not (same & near).any()
    assert len(np.unique(colors, axis=0)) == 4  # king's graph of a board


def test_a_territory_shows_colours_borders_and_numbers(ax: Axes) -> None:
    owner = np.array([[0, 0, 1, 1], [0, 0, 1, -1]], dtype=np.int32)
    colors = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
    draw_territory(ax, owner, colors)
    pixels = np.asarray(ax.images[0].get_array())
    assert np.array_equal(pixels[0, :3], colors[[0, 0, 1]])
    assert pixels[1, 3, 3] == 0.0  # transparent where the program keeps nothing
    border = np.asarray(ax.patches[0].get_path().vertices).reshape(-1, 2, 2)
    lengths = np.abs(border[:, 1] - border[:, 0]).sum(axis=1)
    # Between 0 and 1: two rows; around the hole: two sides.
    assert sorted(lengths.tolist()) == [1.0, 1.0, 2.0]
    assert sorted(_texts(ax)) == ["0", "1"]


def test_the_roof_is_equation_4_and_its_dots_lie_on_it(ax: Axes) -> None:
    roof = roof_of(_bound())
    assert roof.nodes == (2, 4)
    assert roof.intensity.tolist() == [[0.5, 1.5]] * 2
    assert roof.efficiency[0] == pytest.approx([1 / 1.5, 1 / 2.5])
    draw_roofline(ax, [roof])
    line, dots, hollow = ax.lines[1:4]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert y == pytest.approx(1.0 / (1.0 + x))
    assert np.asarray(dots.get_ydata()) == pytest.approx([1 / 1.5, 1 / 2.5])
    assert np.asarray(hollow.get_ydata()) == pytest.approx(roof.efficiency[1])
    assert _texts(ax) == ["2", "4"]
    assert eq4(MachineParameters(), 1.0, 2) != eq4(MachineParameters(), 1.0, 2)  # NaN: nothing is known


def test_a_dot_is_one_division(ax: Axes) -> None:
    """E = 1 / (1 + I) by Eq. 4 of "many"; a stream each way: r = 1 or 250 latencies of 1 us beside S / B.

    W = 1 ms on 2 nodes. "many": 2 x 100 kB, T_o = 2 (250 + 100) us; "few": 2 x 200 kB, T_o = 2 (1 + 200) us.
    """
    items = []
    for name, pair_bytes, messages in (("few", 200_000, 1), ("many", 100_000, 250)):
        off = 1 - np.eye(2, dtype=np.int64)
        sent = sample_communication(off * pair_bytes, off * messages)
        items.append((name, replace(sent, collectives=None)))
    bound = scaling_bound(1_000_000, items, _bound().machine)
    roof = roof_of(bound)
    assert roof.intensity[:, 0].tolist() == pytest.approx([0.2, 0.4])
    assert roof.efficiency[:, 0].tolist() == pytest.approx([1 / 1.2, 1 / 1.402])
    draw_roofline(ax, [roof])
    point = json.loads(bound_text(bound, sample_result(), 0.8))["points"][-1]
    for line, kind, method in zip(ax.lines[2:4], ("eq4", "latency_aware"), ("many", "few"), strict=True):
        (dot,), told = np.asarray(line.get_xydata()).tolist(), point[kind]
        assert (method, *dot) == (told["method"], told["comm_bytes"] / 1e6, told["efficiency"])


def test_curves_show_both_bounds_and_the_ideal(ax: Axes) -> None:
    bound = _bound()
    aware, paper = curves_of(bound)
    assert aware.nodes.tolist() == [1.0, 2.0, 4.0]
    assert paper.efficiency == pytest.approx([1.0, 1 / 1.5, 1 / 2.5])
    assert aware.efficiency == pytest.approx([p.efficiency for p in bound.points])
    draw_speedup(ax, [aware, paper])
    assert np.asarray(ax.lines[1].get_ydata()) == pytest.approx([1.0, 2 / 1.5, 4 / 2.5])
    assert np.array_equal(ax.lines[2].get_xdata(), ax.lines[2].get_ydata())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert labels == ["with latency", "Eq. 4", "ideal"]


def test_several_machines_are_told_apart_by_short_names(ax: Axes) -> None:
    bound = _bound()
    long_name = "Some cluster with a long name, of which nobody knows the end (2018)"
    other = replace(bound, machine=replace(bound.machine, name=long_name))
    draw_roofline(ax, [roof_of(bound), roof_of(other)])
    legend = ax.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["m", "hollow: with latency", "Some cluster with a lon…"]
    curves = [*curves_of(bound, is_only=False), *curves_of(other, 1, is_only=False)]
    assert [c.name for c in curves] == ["m", "dashed: Eq. 4", "Some cluster with a lon…", "dashed: Eq. 4"]
    assert short_name("Tofu: interconnect") == "Tofu"


def test_efficiency_is_drawn_from_zero(ax: Axes) -> None:
    draw_efficiency(ax, curves_of(_bound()))
    assert ax.get_ylim()[0] == 0.0
    assert np.asarray(ax.lines[1].get_ydata()) == pytest.approx([1.0, 1 / 1.5, 1 / 2.5])
