"""Plots of a result, for notebooks and papers, its methods: ``r.plot_matrix(16)``, ``r.plot_roofline()``.

They draw on axes of the caller, or on a new pyplot figure; nothing of the caller's settings is changed. What
draws is imported when it does: results exist where nobody draws.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.parameters import MachineParameters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from commanalyzer.result.results import AnalysisResult

Machine = MachineParameters | str | os.PathLike[str] | None


def plot_matrix(
    result: AnalysisResult, nodes: int, model: str = "", method: str = "", *, ax: Axes | None = None
) -> Axes:
    """Heat map of the bytes that the row's node sends to the column's node.

    ``model``: communication model; the leading one when empty. ``method``: decomposition; the cheapest when
    empty. ``ax``: where to; a new pyplot figure when ``None``. Raises ``ConfigError`` if there is no such
    decomposition.
    """
    from commanalyzer.report.figures.matrix import draw_matrix

    item = result.decomposition(nodes, model, method)
    ax = _axes(ax)
    draw_matrix(ax, item.communication.comm_bytes)
    return ax


def plot_network(
    result: AnalysisResult, nodes: int, model: str = "", method: str = "", *, ax: Axes | None = None
) -> Axes:
    """Who talks to whom; arguments and errors as :func:`plot_matrix`."""
    from commanalyzer.report.figures.matrix import draw_network

    item = result.decomposition(nodes, model, method)
    ax = _axes(ax)
    draw_network(ax, item.communication.comm_bytes)
    return ax


def plot_parts(result: AnalysisResult, nodes: int, model: str = "", method: str = "") -> Figure:
    """Array that moves most, coloured by the node that owns each element; slices where it is 3-D.

    Raises ``ConfigError`` if there is no such decomposition, it divides another graph than the recorded one
    (model ``hpdc18``), or no array has a shape.
    """
    from commanalyzer.report.figures import territory

    item = result.decomposition(nodes, model, method)
    if len(item.part) != result.graph.num_vertices:
        raise ConfigError("expected a decomposition of the recorded values, found one of another graph")
    alike = [d for d in result.decompositions if (d.nodes, d.model) == (item.nodes, item.model)]
    shaped = territory.choose_array(result.graph, alike, item.object_bytes)
    if shaped is None:
        raise ConfigError("expected an array with a recognised shape, found none")
    pictures = territory.array_pictures(result.graph, shaped, item.part)
    figure, axes = _figure(len(pictures), 3.0, 3.2)
    territory.draw_pictures(axes, pictures, item.nodes)
    return figure


def plot_roofline(result: AnalysisResult, machine: Machine = None, *, ax: Axes | None = None) -> Axes:
    """Best efficiency against communication intensity, a dot per analysed node count.

    ``machine``: machine, its file or the name of a published one; that of the result when ``None``.
    Parameters that it does not have are the result's. ``ax``: where to; a new pyplot figure when ``None``.
    Raises ``MachineModelError`` if bandwidth or throughput is not known, or there is no work.
    """
    from commanalyzer.report.figures.scaling import draw_roofline, roof_of

    roof = roof_of(result.bound(machine))
    ax = _axes(ax)
    draw_roofline(ax, [roof])
    return ax


def plot_scaling(result: AnalysisResult, machine: Machine = None) -> Figure:
    """Best speed-up and best efficiency over the analysed node counts, with the ideal line.

    Raises ``MachineModelError`` if bandwidth or throughput is not known, or there is no work.
    """
    from commanalyzer.report.figures.scaling import curves_of, draw_efficiency, draw_speedup

    curves = curves_of(result.bound(machine))
    figure, axes = _figure(2, 3.6, 3.4)
    draw_speedup(axes[0], curves)
    draw_efficiency(axes[1], curves)
    return figure


def _axes(ax: Axes | None) -> Axes:
    return ax if ax is not None else _figure(1, 4.8, 3.8)[1][0]


def _figure(count: int, width_in: float, height_in: float) -> tuple[Figure, list[Axes]]:
    """A new figure of pyplot, which notebooks show without being asked, and its axes side by side."""
    from matplotlib import pyplot

    size = (count * width_in, height_in)
    figure, axes = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False)
    return figure, list(axes[0])
