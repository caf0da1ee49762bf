"""Figures of classes and models: radar, communication graph, predicted against observed, trends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from commanalyzer.profiles.extrapolation.accuracy import Accuracy
from commanalyzer.profiles.extrapolation.data import TrainingData
from commanalyzer.profiles.extrapolation.models import ClassModels, Models
from commanalyzer.report.figures.chart import Chart
from commanalyzer.report.figures.style import INK, LINE, MUTED, SERIES, grid_lines
from commanalyzer.scaling.laws.terms import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMALL = (2.6, 2.6)
_WIDE = (3.6, 2.8)
_TREND_POINTS = 60
_REACH = 4.0  # times the largest value of a parameter


def color_of(number: int) -> str:
    """Colour of a class."""
    return SERIES[number % len(SERIES)]


def radar_chart(name: str, title: str, labels: Sequence[str], threads: Floats, number: int) -> Chart:
    """Metrics of one class on spokes: thin lines per thread, a thick one for the mean.

    Args:
        name: Of the figure.
        title: Its title.
        labels: Names of the spokes.
        threads: float64[T, S], metrics between 0 and 1.
        number: Of the class.
    """
    angles = np.linspace(0.0, 2 * np.pi, len(labels), endpoint=False)
    closed = np.append(angles, angles[0])

    def draw(figure: Figure) -> None:
        ax: Any = figure.add_subplot(projection="polar")
        for row in threads:
            ax.plot(closed, np.append(row, row[0]), color=color_of(number), linewidth=0.5, alpha=0.5)
        mean = threads.mean(axis=0)
        ax.plot(closed, np.append(mean, mean[0]), color=color_of(number), linewidth=2.2)
        ax.set_xticks(angles, list(labels), fontsize=6)
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.5, 1.0], ["", ""])
        ax.grid(color=LINE)

    means = threads.mean(axis=0).tolist()
    text = ", ".join(f"{label} {value:.2f}" for label, value in zip(labels, means, strict=True))
    return Chart(
        name,
        title,
        f"Mean of {len(threads)} threads, as a fraction of the largest value of the run: {text}.",
        _SMALL,
        draw,
        lambda: {"metric": list(labels), "mean": means},
    )


def graph_chart(
    name: str, title: str, received: Floats, classes: Sequence[int], names: Sequence[str]
) -> Chart:
    """Ranks on a circle; who receives from whom; coloured by class."""
    count = len(received)
    turn = 2 * np.pi * np.arange(count) / max(count, 1)
    places = np.stack((np.sin(turn), np.cos(turn)), axis=1)
    pairs = np.argwhere((received + received.T) > 0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        for a, b in pairs.tolist():  # one line per pair of ranks
            ax.plot(*places[[a, b]].T, color=MUTED, linewidth=0.6, zorder=1)
        ax.scatter(places[:, 0], places[:, 1], c=[color_of(c) for c in classes], s=60, zorder=2)
        for rank, (x, y) in enumerate(places.tolist()):
            ax.annotate(str(rank), (x, y), ha="center", va="center", fontsize=5, color="#fefefe", zorder=3)
        ax.set_aspect("equal")
        ax.set_axis_off()

    members = "; ".join(
        f"{label}: {' '.join(str(r) for r in range(count) if classes[r] == i)}"
        for i, label in enumerate(names)
        if i in set(classes)
    )
    return Chart(
        name,
        title,
        f"{len(pairs)} pairs of ranks exchange data. Classes: {members}.",
        _SMALL,
        draw,
        lambda: {"first": pairs[:, 0].tolist(), "second": pairs[:, 1].tolist()},
    )


def scatter_chart(name: str, accuracy: Accuracy) -> Chart:
    """Predicted against observed values, training and test runs, with the bisector."""

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        every = np.concatenate((accuracy.observed, accuracy.predicted, accuracy.tested))
        ends = [float(every.min()), float(every.max())]
        ax.plot(ends, ends, "--", color=MUTED, linewidth=1.0)
        ax.plot(accuracy.observed, accuracy.predicted, "o", color=INK, markersize=3, label="training")
        if len(accuracy.tested):
            ax.plot(
                accuracy.tested, accuracy.test_predicted, "s", color=SERIES[5], markersize=3, label="test"
            )
            ax.legend()
        if ends[0] > 0 and ends[1] > 10 * ends[0]:
            ax.set_xscale("log")
            ax.set_yscale("log")
        ax.set_xlabel("observed")
        ax.set_ylabel("predicted")

    return Chart(
        name,
        f"{accuracy.metric}: predicted and observed",
        f"{len(accuracy.observed)} training and {len(accuracy.tested)} test values; R2 {accuracy.r2:.3f}.",
        _WIDE,
        draw,
        lambda: {"observed": accuracy.observed.tolist(), "predicted": accuracy.predicted.tolist()},
    )


def trend_chart(
    name: str, models: Models, own: ClassModels, metric: str, data: TrainingData, axis: int
) -> Chart:
    """Predictions along one parameter, others at their largest value, with the band and the training runs."""
    parameter = models.parameters[axis]
    line = np.geomspace(models.lowest[axis], models.highest[axis] * _REACH, _TREND_POINTS)
    x = np.tile(np.array(models.highest), (_TREND_POINTS, 1))
    x[:, axis] = line
    bands = list(models.bands(own, metric, x).values())
    value, low, high = (np.sum([b[i] for b in bands], axis=0) for i in range(3))
    seen = next(c for c in data.classes if c.name == own.name)
    rest = [k for k in range(len(models.parameters)) if k != axis]
    near = (seen.scale[:, rest] == np.array(models.highest)[rest]).all(axis=1)
    observed = seen.total(metric)[near]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        ax.fill_between(line, low, high, color=SERIES[0], alpha=0.2, linewidth=0)
        ax.plot(line, value, color=SERIES[0])
        ax.plot(seen.scale[near, axis], observed, "o", color=INK, markersize=3)
        ax.axvline(models.highest[axis], color=MUTED, linewidth=0.8, linestyle=":")
        ax.set_xscale("log", base=2)
        if value.min() > 0 and value.max() > 10 * value.min():
            ax.set_yscale("log")
        ax.set_xlabel(parameter)
        ax.set_ylabel(metric)
        grid_lines(ax)

    fixed = ", ".join(f"{models.parameters[k]} = {models.highest[k]:g}" for k in rest)
    where = f" at {fixed}" if fixed else ""
    return Chart(
        name,
        f"{metric} along {parameter}",
        f"Predictions{where}; {int(near.sum())} training runs; beyond the dotted line there are none.",
        _WIDE,
        draw,
        lambda: {
            parameter: line.tolist(),
            metric: value.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
        },
    )
