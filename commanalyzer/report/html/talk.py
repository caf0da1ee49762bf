"""Section on who talks to whom: communication matrix and network of each node count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.report.figures.chart import Chart, Values
from commanalyzer.report.figures.matrix import (
    FAINTEST,
    MOST_PARTS,
    draw_matrix,
    draw_network,
    exchanged,
    hidden_pairs,
)
from commanalyzer.report.html.blocks import Content, Figures, Folded, Head, Row, Section, Table, Words

_LARGEST_TABLE = 16
_TOP_PAIRS = 12
_MOST_POINTED = 20_000  # pairs of a matrix whose bytes the page tells where one points at them


def talk_section(
    name: str,
    matrices: Sequence[tuple[int, NDArray[np.int64], NDArray[np.float64] | None]],
    *,
    participant: str = "node",
    left_out: Sequence[int] = (),
    causes: Callable[[int], Mapping[str, object]] = lambda _: {},
) -> Section:
    """Matrix, network and largest pairs.

    ``matrices``: node count, int64[p, p] bytes, float64[p, 2] places of the nodes or ``None``; ``left_out``:
    node counts that have no picture; ``causes``: what the largest pairs send on so many nodes, as
    :func:`causes_of_pairs` says it.
    """
    blocks: list[Content] = []
    for nodes, matrix, places in matrices:
        if not matrix.any():
            blocks.append(Words((f"{nodes} {participant}s: nothing is sent.",)))
            continue
        blocks.append(Figures(_charts(name, matrix, places, participant, causes), nodes))
        blocks.append(Folded(f"{nodes} {participant}s in numbers", [_numbers(matrix, participant)], nodes))
    if not matrices:
        blocks.append(Words((f"One {participant} alone sends nothing.",)))
    if left_out:
        counts = ", ".join(map(str, left_out))
        blocks.append(Words((f"Not pictured: {counts} nodes (see commanalyzer matrix).",)))
    return Section(f"{name}-talk", "Who talks to whom", tuple(blocks))


def _charts(
    name: str,
    matrix: NDArray[np.int64],
    places: NDArray[np.float64] | None,
    participant: str,
    causes: Callable[[int], Mapping[str, object]],
) -> tuple[Chart, ...]:
    p = len(matrix)
    source, target = np.nonzero(matrix)

    def numbers() -> dict[str, Values]:
        return {"from": source.tolist(), "to": target.tolist(), "bytes": matrix[source, target].tolist()}

    def pointed() -> dict[str, object]:
        largest = np.argsort(-matrix[source, target], kind="stable")[:_MOST_POINTED]
        told = {key: np.asarray(column)[largest].tolist() for key, column in numbers().items()}
        return {"kind": "matrix", "side": p, "participant": participant, "causes": causes(p), **told}

    top = np.unravel_index(int(np.argmax(matrix)), matrix.shape)
    largest = f"{format_bytes(int(matrix.max()))} from {participant} {top[0]} to {top[1]}"
    partners = (exchanged(matrix) + exchanged(matrix).T > 0).sum(axis=1)
    few, many = int(partners.min()), int(partners.max())
    counts = str(few) if few == many else f"{few} to {many}, median {np.median(partners):g}"
    charts = [
        Chart(
            f"{name}-matrix-p{p}",
            f"Bytes between {p} {participant}s",
            f"{len(source)} of {p * (p - 1)} pairs exchange something; most is {largest}. Empty: nothing.",
            (4.7, 3.9),
            lambda figure: draw_matrix(figure.subplots(), matrix, participant=participant),
            numbers,
            pointed,
        )
    ]
    if 1 < p <= MOST_PARTS:
        hidden = hidden_pairs(matrix)
        share = f"{100.0 * FAINTEST:g} % of the largest"
        number = "1 pair" if hidden == 1 else f"{hidden} pairs"
        faint = f" Not drawn: {number} below {share}." if hidden else ""
        where = " Nodes lie where their part of the array lies." if places is not None else ""
        charts.append(
            Chart(
                f"{name}-network-p{p}",
                f"Partners of {p} {participant}s",
                f"Width: bytes in both directions. {counts} partners.{where}{faint}",
                (3.9, 3.9),
                lambda figure: draw_network(figure.subplots(), matrix, places),
                numbers,
            )
        )
    return tuple(charts)


def _numbers(matrix: NDArray[np.int64], participant: str) -> Table:
    """The whole matrix where it is small, else its largest entries."""
    p = len(matrix)
    if p <= _LARGEST_TABLE:
        columns = (Head(f"from {participant}", is_number=True), *(Head(f"to {j}") for j in range(p)))
        rows = [
            Row((str(i), *(format_bytes(v) if v else "" for v in line)))
            for i, line in enumerate(matrix.tolist())
        ]
        return Table("Sent from row to column", columns, tuple(rows))
    order = np.argsort(-matrix, axis=None, kind="stable")[:_TOP_PAIRS]
    source, target = np.unravel_index(order, matrix.shape)
    columns = (Head("from"), Head("to"), Head("bytes"))
    entries = zip(source.tolist(), target.tolist(), matrix[source, target].tolist(), strict=True)
    rows = [Row((str(i), str(j), format_bytes(v))) for i, j, v in entries if v]
    return Table(f"The {len(rows)} largest pairs", columns, tuple(rows))
