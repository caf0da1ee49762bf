"""Why nodes exchange bytes: a saved division -> the variables, values and source lines behind it.

All of a division, or one pair of nodes. The values are charged again, as they were when the division was
counted; their bytes are checked against the saved ones.

Of loops, what their stores need, and what would help: only what follows from the flows that cross nodes, and
from the other divisions of the result, is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.communication.attribution import LineTraffic, traffic_of_lines
from commanalyzer.communication.charges import Charges, charges_of
from commanalyzer.communication.messages.transfers import Transfers, pairs
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.selection import is_written
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.flows import Fold
from commanalyzer.foundation.quantities import format_bytes, format_percent
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.graph.value_graph import Bool, HomeObject, Int32, Int64, ValueGraph, sink_of_source
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.result.results import AnalysisResult, Decomposition, data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

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

    ``others``: bytes needed by the loops that begin at a file and line, in other divisions, over those here.
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
    share = {other: places.get((loop.file, loop.line), 1.0) for other, places in others.items()}
    best = min(share, key=lambda other: share[other], default="")
    if best and share[best] < _WORTH:
        yield f"{best} instead of {method} move {format_percent(share[best])} of it"
    slabs = next((other for other in share if kind_of(other) == "slabs"), "")
    if slabs and kind_of(method) == "blocks" and _WORTH * share[slabs] > 1:
        yield f"{method} instead of {slabs} move {format_percent(1 / share[slabs])} of it"


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


_FIRST = 2  # variables and lines of a short representation
ATTRIBUTED_FLOWS = 20_000_000  # of all divisions that are explained together


@dataclass(frozen=True, slots=True)
class VariableTraffic:
    """What is sent of one variable.

    Attributes:
        variable: The variable, array or scalar.
        comm_bytes: Bytes, most likely.
        values: Distinct values.
        first: Least element number, counted in values from its start; 0 for scalars.
        last: Largest element number.
    """

    variable: HomeObject
    comm_bytes: int
    values: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Causes:
    """What causes the communication of a division, or of one pair of its nodes.

    Attributes:
        decomposition: The division.
        pair: Sender and receiver; None for all of them.
        comm_bytes: Bytes, most likely.
        variables: Variables, those of which most is sent first.
        lines: Source lines, those that need most first.
        loops: Loops, likewise, and what would help; empty where the result does not tell loops.
    """

    decomposition: Decomposition
    pair: tuple[int, int] | None
    comm_bytes: int
    variables: tuple[VariableTraffic, ...]
    lines: tuple[LineTraffic, ...]
    loops: tuple[LineTraffic, ...] = ()

    def frame(self, *, loops: bool = False) -> DataFrame:
        """The lines as a pandas table; ``path`` is function and line, the bytes needed add up to all.

        Of ``loops``, the loops, with ``advice``.
        """
        if loops:
            found = [(*path_of(x), x.needed_bytes, "; ".join(x.advice)) for x in self.loops]
            return data_frame(found, ["function", "loop", "needed_bytes", "advice"])
        columns = ["path", "function", "file", "line", "needed_bytes", "made_bytes"]
        rows = [
            ("->".join(path_of(t)), path_of(t)[0], t.file, t.line, t.needed_bytes, t.made_bytes)
            for t in self.lines
        ]
        return data_frame(rows, columns)

    def __repr__(self) -> str:
        names = [f"{v.variable.name} {format_bytes(v.comm_bytes)}" for v in self.variables[:_FIRST]]
        lines = [f"{t.file}:{t.line} {format_bytes(t.needed_bytes)}" for t in self.lines[:_FIRST] if t.file]
        pair = "" if self.pair is None else f", {self.pair[0]} to {self.pair[1]}"
        where = f"p={self.decomposition.nodes}, {self.decomposition.method}{pair}"
        return f"Causes({where}, {format_bytes(self.comm_bytes)}: {', '.join(names + lines)})"


def path_of(item: LineTraffic) -> tuple[str, str]:
    """Function and line; who called the function is not recorded."""
    function = ", ".join(dict.fromkeys(map(source_name, item.functions)))
    return function or "unknown", f"{item.file}:{item.line}" if item.file else "input or unknown"


def causes_of(
    result: AnalysisResult,
    nodes: int | str | None = None,
    pair: tuple[int, int] | None = None,
    *,
    method: str = "",
    high: float = HIGH,
) -> Causes:
    """Variables, values and lines behind a division, in the ``volume`` model.

    Of the best division on the largest node count, unless another ``method`` or count is asked for. A
    ``pair`` is sender and receiver. ``high`` is the threshold of hubs that the result was counted with. A
    :class:`ConfigError` if it is another, if there is no such division or pair, or for a counted MPI run.
    """
    if result.counted is not None:
        raise ConfigError("expected an analysis, found a counted MPI run, whose values are not known")
    if not result.decompositions:
        raise ConfigError("expected a result with divisions, found none")
    item = result.decomposition(result.nodes[-1] if nodes is None else nodes, "volume", method)
    if pair is not None and (max(pair) >= item.nodes or min(pair) < 0 or pair[0] == pair[1]):
        raise ConfigError(
            f"expected two different nodes of 0 to {item.nodes - 1}, found {pair[0]} and {pair[1]}"
        )
    graph, hubs, charges = _charged(result, item, high)
    if pair is not None:
        charges = _between(charges, *pair)
    if not charges.comm_bytes:
        return Causes(item, pair, 0, (), ())
    lines = traffic_of_lines(graph, item.part, charges)

    def needed(d: Decomposition, other: Decomposition) -> Places:  # both replayed, or both counted by rows
        alike = d if other.is_replayed else replace(d, transfers=None)
        its = traffic_of_lines(graph, d.part, _charges(graph, hubs, alike), by_loop=True)
        return {(t.file, t.line): t.needed_bytes for t in its if t.needed_bytes}

    others: dict[str, Places] = {}
    for d in _others(result, item) if pair is None else ():
        theirs, here = needed(d, item), needed(item, d)
        others[d.method] = {place: theirs.get(place, 0.0) / here[place] for place in here}
    loops = loops_of(graph, item.part, charges, item.method, others)
    return Causes(item, pair, charges.comm_bytes, _variables(graph, charges), lines, loops)


def lines_of(result: AnalysisResult, item: Decomposition) -> tuple[LineTraffic, ...]:
    """Only the lines of :func:`causes_of`; none where values are not known, or do not add up."""
    try:
        graph, _, charges = _charged(result, item, HIGH)
    except ConfigError:
        return ()
    return traffic_of_lines(graph, item.part, charges)


def _charged(result: AnalysisResult, item: Decomposition, high: float) -> tuple[ValueGraph, Bool, Charges]:
    """What is divided, its hubs, and the transfers of a division."""
    if result.counted is not None or item.model != "volume":
        raise ConfigError("expected an analysis in the model volume, found another result")
    graph, hubs = volume_view(result.graph, high)
    charges = _charges(graph, hubs, item)
    if charges.comm_bytes != item.comm_bytes and not is_by_rows(item):
        raise ConfigError(
            f"expected values that add up to {item.comm_bytes} bytes, found {charges.comm_bytes}",
            hint="the result was made with another --high or by another version: analyse again",
        )
    return graph, hubs, charges


def _charges(graph: ValueGraph, hubs: Bool, item: Decomposition) -> Charges:
    if item.transfers is None:
        return charge_volume(graph, item.part, item.nodes, hubs)
    return charges_of(graph, item.part, item.nodes, item.transfers)


def is_by_rows(item: Decomposition) -> bool:
    """Whether only the sum of what was replayed is known, as in files of older versions."""
    return item.is_replayed and item.transfers is None


def _others(result: AnalysisResult, item: Decomposition) -> Iterable[Decomposition]:
    """The cheapest division of each other kind that can be written, on as many nodes; not of large graphs."""
    found: dict[str, Decomposition] = {}
    for d in sorted(result.decompositions, key=lambda d: -d.comm_bytes):
        if (d.nodes, d.model) == (item.nodes, item.model) and d.is_balanced and is_written(d):
            found[kind_of(d.method)] = d
    found.pop(kind_of(item.method), None)
    return found.values() if result.store.num_flows < ATTRIBUTED_FLOWS else ()


def _between(charges: Charges, sender: int, receiver: int) -> Charges:
    def kept(items: Transfers) -> Transfers:
        wanted = (items.sender == sender) & (items.receiver == receiver)
        return Transfers(*(getattr(items, f.name)[wanted] for f in fields(items)))

    return replace(charges, expand=kept(charges.expand), fold=kept(charges.fold))


def _variables(graph: ValueGraph, charges: Charges) -> tuple[VariableTraffic, ...]:
    sent = (charges.expand, charges.fold)
    value = np.concatenate([item.value for item in sent]).astype(np.int64)
    size = np.concatenate([item.item_bytes for item in sent])
    value, size = value[size > 0], size[size > 0]
    home = graph.home_object[value]
    element = np.where(graph.is_register[value], 0, graph.home_offset[value] // graph.width_bytes[value])
    found = []
    for number in np.unique(home).tolist():  # few: one step per variable
        mine = home == number
        first, last = int(element[mine].min()), int(element[mine].max())
        values = len(np.unique(value[mine]))
        found.append(VariableTraffic(graph.objects[number], int(size[mine].sum()), values, first, last))
    return tuple(sorted(found, key=lambda v: (-v.comm_bytes, v.variable.name, v.first)))
