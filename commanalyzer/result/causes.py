"""Why nodes exchange bytes: a saved division -> the variables, values and source lines behind it.

All of a division, or one pair of nodes. The values are charged again, as they were when the division was
counted; their bytes are checked against the saved ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from commanalyzer.communication.attribution import LineTraffic, traffic_of_lines
from commanalyzer.communication.charges import Charges
from commanalyzer.communication.messages.transfers import Transfers
from commanalyzer.communication.volume import charge_volume
from commanalyzer.division.selection import is_written
from commanalyzer.division.views import volume_view
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.foundation.quantities import format_bytes
from commanalyzer.graph.structure.singletons import HIGH
from commanalyzer.graph.value_graph import Bool, HomeObject, ValueGraph
from commanalyzer.program.ir.names.addresses import source_name
from commanalyzer.result.loops import Places, kind_of, loops_of
from commanalyzer.result.results import AnalysisResult, Decomposition, data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

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

    Args:
        result: An analysis.
        nodes: Node count; the largest analysed one if None.
        pair: Sender and receiver; None for all pairs.
        method: Decomposition; the best if empty.
        high: Threshold of hubs that the result was counted with.

    Raises:
        ConfigError: If there is no such division or pair, the result was counted from an MPI run, or it was
            counted with another threshold.
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
    others: dict[str, Places] = {}
    for d in _others(result, item) if pair is None else ():
        its = traffic_of_lines(graph, d.part, charge_volume(graph, d.part, d.nodes, hubs), by_loop=True)
        others[d.method] = {(t.file, t.line): t.needed_bytes for t in its}
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
    charges = charge_volume(graph, item.part, item.nodes, hubs)
    if charges.comm_bytes != item.comm_bytes and not item.is_replayed:
        raise ConfigError(
            f"expected values that add up to {item.comm_bytes} bytes, found {charges.comm_bytes}",
            hint="the result was made with another --high or by another version: analyse again",
        )
    return graph, hubs, charges


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
    element = graph.home_offset[value] // graph.width_bytes[value]
    found = []
    for number in np.unique(home).tolist():  # few: one step per variable
        mine = home == number
        first, last = int(element[mine].min()), int(element[mine].max())
        values = len(np.unique(value[mine]))
        found.append(VariableTraffic(graph.objects[number], int(size[mine].sum()), values, first, last))
    return tuple(sorted(found, key=lambda v: (-v.comm_bytes, v.variable.name, v.first)))
