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
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

import msgspec

from commanalyzer.foundation.documents import Count, typed
from commanalyzer.foundation.errors import MachineModelError

_CONDITION = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>)\s*([0-9.]+(?:[eE][+-]?\d+)?)\s*")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Unit:
    """A neighbourhood of nodes: a switch, a rack, a group."""

    # Metric that counts those of an allocation
    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*\Z")]
    nodes: Count  # nodes in one
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
    """Formula of the phases that meet all conditions."""

    name: str
    where: tuple[Condition, ...]  # conditions; none for all phases
    formula: str  # seconds as a sum of products of metrics
    points: int = 0  # phases that it was fitted to; 0 where not known
    error: float = 0.0  # of phases that were left out, root mean square of the relative error


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Model of the time of a communication phase."""

    areas: tuple[AreaFormula, ...]  # in order; the first whose conditions hold is used
    # Name of a metric, least and greatest value of the training data
    ranges: tuple[tuple[str, float, float], ...] = ()
    source: str = "given"  # ``measured`` or ``given``
    date: str = ""  # of the measurement
    note: str = ""  # how it was obtained


def conditions_text(where: Iterable[Condition]) -> str:
    """As in a machine file: what :func:`parse_condition` reads."""
    return " and ".join(condition.text for condition in where)


def parse_condition(text: str) -> tuple[Condition, ...]:
    """Conditions joined by ``and``; ``MachineModelError`` if it is something else."""
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
    """Neighbourhoods of a file; ``MachineModelError`` if they are no tables with name and growing nodes."""
    found = part_of_file(entry, tuple[Unit, ...], "units")
    sizes = [unit.nodes for unit in found]
    if sizes != sorted(set(sizes)):
        raise MachineModelError(f"expected growing numbers of nodes, found {sizes}", where="units")
    return found


class _Area(msgspec.Struct):
    formula: str
    name: str = ""
    where: str = ""
    points: int = 0
    error: float = 0.0


class _Phases(msgspec.Struct, forbid_unknown_fields=True):
    areas: Annotated[tuple[_Area, ...], msgspec.Meta(min_length=1)]
    ranges: dict[str, tuple[float, float]] = {}
    source: Literal["measured", "given"] = "given"
    date: object = ""
    note: str = ""


def read_phase_times(entry: object) -> PhaseTimes:
    """Model of a machine file; ``MachineModelError`` if keys are missing or unknown, or a value is wrong."""
    given = part_of_file(entry, _Phases, "phase_times")
    for name, (low, high) in given.ranges.items():
        if not -math.inf < low <= high < math.inf:
            raise MachineModelError(
                f"expected [least, greatest], found {[low, high]!r}", where=f"phase_times.ranges.{name}"
            )
    areas = tuple(
        AreaFormula(a.name, parse_condition(a.where), a.formula, a.points, a.error) for a in given.areas
    )
    ranges = tuple((name, low, high) for name, (low, high) in given.ranges.items())
    return PhaseTimes(areas, ranges, given.source, str(given.date), given.note)


def part_of_file(entry: object, kind: type[_T], where: str) -> _T:
    """A part of a machine file as a value; ``MachineModelError`` if it is something else."""
    try:
        return typed(entry, kind)
    except ValueError as error:
        raise MachineModelError(str(error), where=where) from error
