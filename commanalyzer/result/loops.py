"""Which loop to change: what the stores of each loop need, and what would help.

Only what follows from the flows that cross nodes, and from the other divisions of the result, is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from commanalyzer.communication.attribution import LineTraffic, traffic_of_lines
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.messages.transfers import pairs
from commanalyzer.foundation.flows import Fold
from commanalyzer.foundation.quantities import format_percent
from commanalyzer.graph.value_graph import Bool, Int32, Int64, ValueGraph, sink_of_source

_MOST_DISTANCES = 16  # of a stencil; a row of a sparse matrix has others
_REPEATS = 4  # values that are read from each of these distances, at least
_WORTH = 0.95  # of a loop's bytes: another division that moves more of them is not mentioned
_HALO = "reads neighbours of {}: halo"
_FOLDS = {Fold.SUM: "sum", Fold.PRODUCT: "product", Fold.MIN: "minimum", Fold.MAX: "maximum"}
Places = Mapping[tuple[str, int], float]


def kind_of(method: str) -> str:
    """What kind of division a name is of: ``blocks``, ``slabs``, a partitioner."""
    return method.partition(" ")[0]


def loops_of(
    graph: ValueGraph, part: Int32, charges: Charges, method: str, others: Mapping[str, Places]
) -> tuple[LineTraffic, ...]:
    """Loops by the bytes that they need, with advice; nothing where the recording did not tell loops.

    Args:
        graph: The graph that was charged.
        part: int32[V], owner of each vertex.
        charges: Transfers between the parts.
        method: What this division is called.
        others: Bytes needed by the loops that begin at a file and line, in other divisions.
    """
    if not any(s.loop.line for s in graph.sites):
        return ()
    flows = _Flows(graph, part, charges)
    found = traffic_of_lines(graph, part, charges, by_loop=True)
    return tuple(
        replace(t, advice=(*flows.advice(t), *_instead(t, method, others)) if t.line else ())
        for t in found
        if t.needed_bytes
    )


def _instead(loop: LineTraffic, method: str, others: Mapping[str, Places]) -> Iterator[str]:
    needed = {other: places.get((loop.file, loop.line), 0.0) for other, places in others.items()}
    best = min(needed, key=lambda other: needed[other], default="")
    if best and needed[best] < _WORTH * loop.needed_bytes:
        yield f"{best} instead of {method} move {format_percent(needed[best] / loop.needed_bytes)} of it"
    slabs = next((other for other in needed if kind_of(other) == "slabs"), "")
    if slabs and kind_of(method) == "blocks" and loop.needed_bytes < _WORTH * needed[slabs]:
        yield f"{method} instead of {slabs} move {format_percent(loop.needed_bytes / needed[slabs])} of it"


class _Flows:
    """Flows that cause transfers: values read elsewhere, and terms combined elsewhere."""

    def __init__(self, graph: ValueGraph, part: Int32, charges: Charges) -> None:
        self._graph, self._part, self._fold = graph, part, charges.fold
        self._parts = p = charges.num_parts
        source, sink = graph.rows.source, sink_of_source(graph.rows)
        crossing = np.flatnonzero(part[source] != part[sink])
        self._row = graph.rows.row_of_source()[crossing]
        self._source, self._sink = source[crossing].astype(np.int64), sink[crossing].astype(np.int64)
        sent = pairs(charges.expand.value, charges.expand.receiver, p)
        combined = pairs(charges.fold.value, charges.fold.sender, p)
        self._is_combined = np.isin(pairs(self._sink, part[self._source], p), combined)
        self._is_read = np.isin(pairs(self._source, part[self._sink], p), sent) & ~self._is_combined
        self._names = np.unique([home.name for home in graph.objects], return_inverse=True)

    def advice(self, loop: LineTraffic) -> list[str]:
        """What the flows of a loop have in common, with the variables of which that is true."""
        is_its = [(s.loop.file, s.loop.line) == (loop.file, loop.line) for s in self._graph.sites]
        mine = np.array(is_its)[self._graph.rows.row_site[self._row]]
        found: dict[str, list[str]] = {}
        for name, flows in self._by_name(mine & self._is_combined, self._sink):
            found.setdefault(self._combining(flows), []).append(name)
        for name, flows in self._by_name(mine & self._is_read, self._source):
            found.setdefault(self._reading(self._source[flows], self._sink[flows]), []).append(name)
        found.pop("", None)
        return [text.format(", ".join(names)) for text, names in found.items()]

    def _by_name(self, chosen: Bool, value: Int64) -> Iterator[tuple[str, Int64]]:
        flows, (names, of_object) = np.flatnonzero(chosen), self._names
        called = of_object[self._graph.home_object[value[flows]]]
        for number in np.unique(called).tolist():  # few: one step per variable
            yield str(names[number]), flows[called == number]

    def _combining(self, flows: Int64) -> str:
        its = self._fold.value[np.isin(self._fold.value, self._sink[flows])]
        word = _FOLDS.get(Fold(int(self._graph.rows.row_fold[self._row[flows[0]]])), "")
        if self._parts < 3 or not word or (np.unique(its, return_counts=True)[1] < self._parts - 1).any():
            return ""
        return f"{word} over all nodes ({{}}): combine on each node, then once per {word}"

    def _reading(self, source: Int64, sink: Int64) -> str:
        graph, readers = self._graph, np.unique(pairs(source, self._part[sink], self._parts)) // self._parts
        values, nodes = np.unique(readers, return_counts=True)
        if self._parts > 2 and (nodes == self._parts - 1).all():
            return "all nodes read {}: one broadcast each time it changes"
        home, element = graph.home_object, graph.home_offset // graph.width_bytes
        size = np.array([home.size_bytes for home in graph.objects])
        distance = np.unique(element[source] - element[sink])
        is_fixed = len(distance) <= _MOST_DISTANCES and len(values) >= _REPEATS * len(distance)
        is_alike = size[home[source]] == size[home[sink]]
        if not distance.min() < 0 < distance.max():
            is_alike &= home[source] != home[sink]  # else a chain through one array
        if not is_fixed or not is_alike.all():
            return ""
        return _HALO if distance.any() else "reads {} of the same index: divide it like what is stored"
