"""Models of the time of a communication phase in machine files: areas with a formula each.

    [[units]]                        # neighbourhoods of the network, smallest first; the name is a metric
    name = "SW"
    nodes = 9
    meaning = "switch"

    [phase_times]
    source = "given"                 # or measured; date and note as for every parameter
    ranges = { N = [8, 128], PPN = [1, 16], S = [64, 16777216] }

    [[phase_times.areas]]            # the first whose condition holds
    name = "Ia"
    where = "S <= 4096 and NT <= 131072"
    formula = "6.6111e-6 + 5.8226e-12 * PPN * NT"       # seconds

The metrics are explained in :mod:`commanalyzer.scaling.allocations.metrics`; bytes and seconds throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.foundation.errors import MachineModelError

_CONDITION = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>)\s*([0-9.]+(?:[eE][+-]?\d+)?)\s*")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Unit:
    """A neighbourhood of nodes: a switch, a rack, a group.

    Attributes:
        name: Metric that counts those of an allocation.
        nodes: Nodes in one.
        meaning: What it is.
    """

    name: str
    nodes: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A metric at most, or above, a bound."""

    metric: str
    is_above: bool
    bound: float

    @property
    def text(self) -> str:
        """As in a machine file."""
        return f"{self.metric} {'>' if self.is_above else '<='} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class AreaFormula:
    """Formula of the phases that meet all conditions.

    Attributes:
        name: Of the area.
        where: Conditions; none for all phases.
        formula: Seconds as a sum of products of metrics.
    """

    name: str
    where: tuple[Condition, ...]
    formula: str


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Model of the time of a communication phase.

    Attributes:
        areas: In order; the first whose conditions hold is used.
        ranges: Name of a metric, least and greatest value of the training data.
        source: ``measured`` or ``given``.
        date: Of the measurement.
        note: How it was obtained.
    """

    areas: tuple[AreaFormula, ...]
    ranges: tuple[tuple[str, float, float], ...] = ()
    source: str = "given"
    date: str = ""
    note: str = ""


def parse_condition(text: str) -> tuple[Condition, ...]:
    """Conditions joined by ``and``.

    Raises:
        MachineModelError: If it is something else.
    """
    found = []
    for part in text.split(" and ") if text.strip() else []:
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise MachineModelError(
                f"expected conditions such as 'S <= 4096 and NT > 131072', found {text!r}", where="where"
            )
        found.append(Condition(match[1], match[2] == ">", float(match[3])))
    return tuple(found)


def read_units(entry: object) -> tuple[Unit, ...]:
    """Neighbourhoods of a machine file.

    Raises:
        MachineModelError: If they are not a list of tables with name and growing numbers of nodes.
    """
    found = []
    for item in _tables(entry, "units"):
        name, nodes = item.get("name"), item.get("nodes")
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise MachineModelError(f"expected a name such as SW, found {name!r}", where="units.name")
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise MachineModelError(f"expected a number of nodes, found {nodes!r}", where=f"units.{name}")
        found.append(Unit(name, nodes, str(item.get("meaning", ""))))
    sizes = [unit.nodes for unit in found]
    if sizes != sorted(set(sizes)):
        raise MachineModelError(f"expected growing numbers of nodes, found {sizes}", where="units")
    return tuple(found)


def read_phase_times(entry: object) -> PhaseTimes:
    """Model of a machine file.

    Raises:
        MachineModelError: If keys are missing or unknown, or a value cannot be read.
    """
    table = _table(entry, "phase_times")
    unknown = set(table) - {"areas", "ranges", "source", "date", "note"}
    if unknown or "areas" not in table:
        raise MachineModelError(
            f"expected areas, ranges, source, date and note, found {', '.join(sorted(table)) or 'nothing'}",
            where="phase_times",
        )
    source = table.get("source", "given")
    if source not in ("measured", "given"):
        raise MachineModelError(f"expected measured or given, found {source!r}", where="phase_times.source")
    areas = tuple(_area(item) for item in _tables(table["areas"], "phase_times.areas"))
    if not areas:
        raise MachineModelError("expected at least one area, found none", where="phase_times.areas")
    return PhaseTimes(
        areas,
        _ranges(table.get("ranges", {})),
        str(source),
        str(table.get("date", "")),
        str(table.get("note", "")),
    )


def _area(item: Mapping[str, object]) -> AreaFormula:
    name, formula, where = item.get("name", ""), item.get("formula"), item.get("where", "")
    if not isinstance(formula, str) or not isinstance(where, str) or not isinstance(name, str):
        raise MachineModelError(
            "expected name, where and formula as text, found "
            + ", ".join(f"{key} = {value!r}" for key, value in item.items()),
            where="phase_times.areas",
        )
    return AreaFormula(name, parse_condition(where), formula)


def _ranges(entry: object) -> tuple[tuple[str, float, float], ...]:
    found = []
    for name, ends in _table(entry, "phase_times.ranges").items():
        if (
            not isinstance(ends, list)
            or len(ends) != 2
            or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends)
            or not all(math.isfinite(end) for end in ends)
            or ends[0] > ends[1]
        ):
            raise MachineModelError(
                f"expected [least, greatest], found {ends!r}", where=f"phase_times.ranges.{name}"
            )
        found.append((name, float(ends[0]), float(ends[1])))
    return tuple(found)


def _table(entry: object, where: str) -> Mapping[str, object]:
    if not isinstance(entry, dict):
        raise MachineModelError(f"expected a table, found {entry!r}", where=where)
    return entry


def _tables(entry: object, where: str) -> list[Mapping[str, object]]:
    if not isinstance(entry, list):
        raise MachineModelError(f"expected a list of tables, found {entry!r}", where=where)
    return [_table(item, where) for item in entry]
