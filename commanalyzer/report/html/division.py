"""Section on the division of the data: arrays coloured by owner, and all candidate decompositions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.regular.shapes import Shaped
from commanalyzer.foundation.quantities import format_bytes, format_count, format_seconds
from commanalyzer.graph.value_graph import ValueGraph
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.territory import (
    LARGEST_SIDE,
    Picture,
    array_pictures,
    centres,
    choose_array,
    draw_pictures,
    thinned,
)
from commanalyzer.report.html.blocks import Content, Figures, Folded, Section, Table, Words
from commanalyzer.report.html.subject import Subject, count_nodes, counted_graph
from commanalyzer.report.tables import Field, numeric, page_table, worded
from commanalyzer.result.results import Decomposition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PARTS = 1024
_MOST_RUNS = 20_000  # of elements of one owner in a picture that the page tells where one points at them


def shape_of(subject: Subject) -> tuple[ValueGraph, Shaped] | None:
    """Return the array to show and its graph; ``None`` where no array has a shape."""
    item = subject.largest
    graph = counted_graph(subject.result, item)
    shaped = choose_array(graph, subject.candidates(item), item.object_bytes)
    return None if shaped is None else (graph, shaped)


def places_of(shape: tuple[ValueGraph, Shaped] | None, item: Decomposition) -> NDArray[np.float64] | None:
    """Return where the parts of the shown array lie, so that the network looks like it."""
    return None if shape is None else centres(shape[1], item.part, item.nodes)


def division_section(subject: Subject, shape: tuple[ValueGraph, Shaped] | None) -> Section:
    """Pictures of the divisions and the table of all candidates, per node count."""
    blocks: list[Content] = []
    if shape is None:
        blocks.append(Words(("No picture: no array of the program has a recognised shape.",)))
    for item in subject.pictured:
        charts = _charts(subject, shape, item) if shape is not None else ()
        if charts:
            blocks.append(Figures(charts, item.nodes))
    blocks += [_table(subject, item) for item in subject.bests[-1:]]
    rest: list[Content] = [_table(subject, item) for item in subject.bests[:-1]]
    known, leading = subject.result.decompositions, subject.largest.model
    rest += [_table(subject, item) for item in known if item.best and item.model != leading]
    if rest:
        blocks.append(Folded("Candidates for the other node counts and models", rest))
    return Section(f"{subject.name}-division", "How the data is divided", tuple(blocks))


def _charts(subject: Subject, shape: tuple[ValueGraph, Shaped], item: Decomposition) -> tuple[Chart, ...]:
    if not 1 < item.nodes <= _MOST_PARTS:
        return ()
    best = next(d for d in subject.candidates(item) if d.best)
    shown = [item] if best is item or len(shape[1].extents) != 2 else [item, best]
    return tuple(_chart(subject, shape, d, is_headline=d is item) for d in shown)


def _chart(
    subject: Subject, shape: tuple[ValueGraph, Shaped], item: Decomposition, *, is_headline: bool
) -> Chart:
    graph, shaped = shape
    pictures = array_pictures(graph, shaped, item.part)
    name = graph.objects[shaped.array.number].name
    size = " x ".join(map(str, shaped.extents))
    kind = "to be programmed" if is_headline else "least found"

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(pictures), squeeze=False)[0]
        draw_pictures(axes, pictures, item.nodes)
        if len(pictures) == 1:
            axes[0].set_title("")  # that of the chart is enough

    height, width = pictures[0].owner.shape
    side = 3.9 if len(pictures) == 1 else 2.3
    tall = min(max(side * height / width, 0.5), 1.6 * side)
    slug = "".join(c if c.isalnum() else "-" for c in item.method).strip("-")
    return Chart(
        f"{subject.name}-parts-p{item.nodes}-{slug}",
        f"{name} on {item.nodes} nodes: {item.method}",
        f"{kind.capitalize()}, {format_bytes(item.comm_bytes)}. {name} has {size} elements; colours "
        "only tell neighbouring parts apart.",
        (side * len(pictures), tall + (0.3 if len(pictures) > 1 else 0.0)),
        draw,
        lambda: _numbers(pictures),
        lambda: _pointed(pictures, shaped.extents),
    )


def _pointed(pictures: Sequence[Picture], extents: Sequence[int]) -> dict[str, object]:
    """Owners of each picture as runs: owner, length, owner, ... row after row; none where they are many."""
    told: list[Mapping[str, object]] = []
    for picture in pictures:
        shown = picture.owner[:1] if len(extents) == 1 else thinned(picture.owner)
        step = -(-max(extents[-2:]) // LARGEST_SIDE)
        ends = np.append(np.flatnonzero(np.diff(shown.ravel())) + 1, shown.size)
        runs = np.stack([shown.ravel()[ends - 1], np.diff(ends, prepend=0)], axis=1).ravel()
        kept = runs.tolist() if len(runs) <= _MOST_RUNS else []
        told.append({"name": picture.name, "shape": shown.shape, "step": step, "runs": kept})
    return {"kind": "map", "pictures": told, "dimensions": len(extents)}


def _numbers(pictures: Sequence[Picture]) -> dict[str, Values]:
    """Row, column and owner of every element in the pictures that has one."""
    places = [np.nonzero(p.owner >= 0) for p in pictures]
    lengths = [len(row) for row, _ in places]
    return {
        "slice": np.repeat([p.name for p in pictures], lengths).tolist(),
        "row": np.concatenate([row for row, _ in places]).tolist(),
        "column": np.concatenate([column for _, column in places]).tolist(),
        "node": np.concatenate([p.owner[at] for p, at in zip(pictures, places, strict=True)]).tolist(),
    }


def _table(subject: Subject, best: Decomposition) -> Table:
    candidates = sorted(subject.candidates(best), key=lambda d: (d.comm_bytes, d.method))
    most = max((d.comm_bytes for d in candidates), default=0)
    model = f", model {best.model}" if len(subject.result.models) > 1 else ""
    fields: tuple[Field[Decomposition], ...] = (
        worded("decomposition", lambda d: d.method, "how the values were divided"),
        numeric("bytes", lambda d: format_bytes(d.comm_bytes), "all bytes sent between nodes"),
        numeric("over best", lambda d: _over(d, best), "bytes over those of the best"),
        numeric(
            "messages",
            lambda d: format_count(d.communication.total_messages),
            "one per pair of nodes and round",
        ),
        numeric(
            "partners",
            lambda d: f"{d.neighbours.mean():.1f}, {d.neighbours.max()}",
            "nodes that a node exchanges something with: mean, most",
        ),
        numeric("imbalance", lambda d: f"{d.imbalance:.3f}", "work of the most loaded node over the mean"),
        numeric("found in", lambda d: format_seconds(d.seconds), "time that it took"),
    )
    return page_table(
        f"All {len(candidates)} candidates on {count_nodes(best.nodes)}{model}, the best marked",
        candidates,
        fields,
        share=lambda d: d.comm_bytes / most if most else None,
        is_marked=lambda d: d.best,
    )


def _over(item: Decomposition, best: Decomposition) -> str:
    return f"{item.comm_bytes / best.comm_bytes:.2f}" if best.comm_bytes else ""
