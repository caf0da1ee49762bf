"""Machine parameters of the efficiency bounds: values with unit, origin and date, and their file.

A machine file is TOML::

    kind = "commanalyzer.machine"
    schema = 1
    name = "cluster A"

    [bandwidth]               # B_c, effective bisection bandwidth per node
    value = "12.5GB/s"
    source = "measured"
    date = 2026-01-31
    note = "128 ranks, random matchings"
    nodes = [2, 8, 32]        # optional: how it depends on the node count, the message size, or both
    values = ["12.9GB/s", "12.6GB/s", "12.5GB/s"]

    [overlap]                 # O_c
    value = 0.57

    [throughput]              # R, of one node
    value = "3.2GFlop/s"

    [latency]                 # L; also message_overhead o, gap g, allreduce, bcast
    value = 1.5
    unit = "us"               # for values that are written as numbers

    [memory_bandwidth]        # of a node; also memory, cores, process_bandwidth
    value = "80GB/s"

Neighbourhoods of the network and models of communication phases: :mod:`commanalyzer.machine.phase_times`.
Only ``value`` is needed; ``latency = "1.5us"`` without a table is short for it. ``kind`` and ``schema`` may
be left out.

What each machine parameter is: unit, notation, plausible range.

The ranges are wide (the slowest network ever sold to the fastest planned one, and a margin); a value outside
is a mistaken unit or prefix. Bits and bytes are kept apart by the notation (:mod:`.quantities`),
and a number without a unit is refused wherever it could be read in two ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from commanalyzer.foundation.documents import parse_toml, reading
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.quantities import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_percent,
    format_seconds,
    format_throughput,
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_seconds,
    parse_throughput,
)
from commanalyzer.machine.phase_times import PhaseTimes, Unit, part_of_file, read_phase_times, read_units


@dataclass(frozen=True, slots=True)
class Reading:
    """A parameter read off at some node count and message size."""

    value: float  # in the unit of the parameter
    # The point lies outside the measured range; ``value`` is that of its nearest end
    is_extrapolated: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over node counts, over message sizes, or over both.

    Raises ``MachineModelError`` if there is no axis, an axis does not increase from above zero, or the number
    of values differs.
    """

    nodes: tuple[float, ...]  # node counts p, increasing; empty when the values do not depend on it
    # Message sizes, bytes, increasing; empty when the values do not depend on it
    message_bytes: tuple[float, ...]
    # One per point; with both axes row by row, ``len(nodes)`` rows of ``len(message_bytes)``
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.nodes and not self.message_bytes:
            raise MachineModelError("expected nodes or message_bytes beside values, found neither")
        _check_axis(self.nodes, "nodes")
        _check_axis(self.message_bytes, "message_bytes")
        expected = max(len(self.nodes), 1) * max(len(self.message_bytes), 1)
        if len(self.values) != expected:
            raise MachineModelError(f"expected {expected} values, found {len(self.values)}", where="values")

    def at(self, nodes: float | None, message_bytes: float | None) -> Reading | None:
        """Value there, linear in the logarithm of each axis; ``None`` when an axis has no coordinate.

        Outside the points the nearest end is taken, and the reading says so.
        """
        if (self.nodes and nodes is None) or (self.message_bytes and message_bytes is None):
            return None
        found, is_outside = np.reshape(self.values, (max(len(self.nodes), 1), -1)), False
        for axis, x in ((self.nodes, nodes), (self.message_bytes, message_bytes)):
            place = 0.0  # index on the axis
            if axis and x is not None:
                within = min(max(x, axis[0]), axis[-1])
                place = float(np.interp(np.log(within), np.log(axis), np.arange(len(axis))))
                is_outside |= x != within
            low, high = found[int(place)], found[math.ceil(place)]
            found = low + (high - low) * (place - int(place))
        return Reading(float(found), is_outside)


def _check_axis(axis: Sequence[float], name: str) -> None:
    if any(not (math.isfinite(x) and x > 0) for x in axis):
        raise MachineModelError(f"expected positive numbers, found {list(axis)}", where=name)
    if any(b <= a for a, b in pairwise(axis)):
        raise MachineModelError(f"expected increasing numbers, found {list(axis)}", where=name)


@dataclass(frozen=True, slots=True)
class ParameterKind:
    """One parameter of a machine."""

    meaning: str  # what it is, with its symbol
    unit: str
    parse: Callable[[str], float]  # reads the user's text
    show: Callable[[float], str]  # writes a value for people
    low: float  # least plausible value
    high: float  # greatest plausible value
    example: str  # how to write one
    needs_unit: bool = True  # a number alone could be read in two units
    also: str = ""  # another unit, in which a program may have measured it


def _time(meaning: str, low: float, high: float, example: str) -> ParameterKind:
    return ParameterKind(meaning, "s", parse_seconds, format_seconds, low, high, example)


KINDS: Mapping[str, ParameterKind] = {
    "bandwidth": ParameterKind(
        "effective bisection bandwidth per node B_c",
        *("B/s", parse_bandwidth, format_bandwidth, 1e3, 1e14, "12.5GB/s or 100Gbit/s"),
    ),
    "overlap": ParameterKind(
        "largest overlap of communication and computation O_c",
        *("1", parse_fraction, format_percent, 0.0, 1.0, "0.57 or 57%"),
        needs_unit=False,
    ),
    "throughput": ParameterKind(
        "throughput of one node R",
        *("Flop/s", parse_throughput, format_throughput, 1e6, 1e18, "3.2GFlop/s"),
        needs_unit=False,
        also="Op/s",
    ),
    "latency": _time("time of a small message from one node to another L", 1e-8, 1.0, "1.5us"),
    "message_overhead": _time("time a processor is busy per message o", 1e-9, 1.0, "300ns"),
    "gap": _time("least time between two messages of one node g", 1e-10, 1.0, "100ns"),
    "allreduce": _time("time of an allreduce", 1e-8, 1e3, "12us"),
    "bcast": _time("time of a broadcast", 1e-8, 1e3, "8us"),
    "process_bandwidth": ParameterKind(
        "bandwidth that one process of a node gets alone R_C",
        *("B/s", parse_bandwidth, format_bandwidth, 1e3, 1e14, "5GB/s"),
    ),
    "memory_bandwidth": ParameterKind(
        "memory bandwidth of one node", *("B/s", parse_bandwidth, format_bandwidth, 1e6, 1e15, "80GB/s")
    ),
    "memory": ParameterKind(
        "memory of one node", *("B", parse_bytes, format_bytes, 1e6, 1e16, "64GiB"), needs_unit=False
    ),
    "cores": ParameterKind(
        "cores of one node", *("1", float, format_count, 1.0, 1e6, "16"), needs_unit=False
    ),
}
# What only allocations of nodes depend on; bounds and the document of an analysis do without.
NODE_KINDS = frozenset({"process_bandwidth", "memory_bandwidth", "memory", "cores"})


FILE_KIND = "commanalyzer.machine"
FILE_SCHEMA = 1

Origin = Literal["measured", "given", "assumed", "assumed from a predecessor"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that describes the machine, or a table of numbers.

    Attributes:
        value: In ``unit``; what to use without knowing node count or message size.
        unit: ``B/s``, ``Flop/s``, ``s`` or ``1``.
        source: ``measured`` (benchmark), ``given`` (by the user) or ``assumed`` (maybe of an older network).
        date: ISO date of the measurement, empty when unknown.
        note: How it was obtained.
        curve: How it depends on node count and message size; ``None`` when that is not known.
    """

    value: float
    unit: str
    source: Origin = "given"
    date: str = ""
    note: str = ""
    curve: Curve | None = None

    def at(self, *, nodes: float | None = None, message_bytes: float | None = None) -> Reading:
        """Value at a node count and a message size (bytes), as far as the parameter depends on them."""
        found = self.curve.at(nodes, message_bytes) if self.curve is not None else None
        return found if found is not None else Reading(self.value)


Quantity: TypeAlias = Parameter | str | float


@dataclass(frozen=True, slots=True)
class MachineParameters:
    """Machine of the efficiency bounds (paper Section 5); ``None`` marks an unknown parameter.

    Attributes:
        name: What to call the machine.
        bandwidth: Effective bisection bandwidth per node B_c, B/s.
        overlap: Largest overlap of communication and computation O_c, in [0, 1).
        throughput: Throughput of one node R, Flop/s.
        latency: Time of a small message from one node to another L (half a ping-pong), seconds.
        message_overhead: Time that a processor is busy with sending or receiving one message o, seconds.
        gap: Least time between two messages of one node g, seconds.
        allreduce: Time of an allreduce, seconds.
        bcast: Time of a broadcast, seconds.
        process_bandwidth: Bandwidth that one process of a node gets when the others are silent, B/s.
        memory_bandwidth: Memory bandwidth of one node, B/s.
        memory: Memory of one node, bytes.
        cores: Cores of one node.
        units: Neighbourhoods of the network (switches, racks, groups), smallest first.
        phase_times: Model of the time of a communication phase; ``None`` when there is none.

    Raises:
        MachineModelError: If a value is not plausible or has the wrong unit.
    """

    name: str = ""
    bandwidth: Parameter | None = None
    overlap: Parameter | None = None
    throughput: Parameter | None = None
    latency: Parameter | None = None
    message_overhead: Parameter | None = None
    gap: Parameter | None = None
    allreduce: Parameter | None = None
    bcast: Parameter | None = None
    process_bandwidth: Parameter | None = None
    memory_bandwidth: Parameter | None = None
    memory: Parameter | None = None
    cores: Parameter | None = None
    units: tuple[Unit, ...] = ()
    phase_times: PhaseTimes | None = None

    def __repr__(self) -> str:
        texts = [f"{name} {x.value:g} {x.unit}" for name, x in self.parameters.items()]
        return f"MachineParameters({', '.join((self.name, *texts))})"

    def __post_init__(self) -> None:
        for name, parameter in self.parameters.items():
            _check(parameter, name)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Known parameters by name, in the order of the attributes."""
        return {name: value for name in KINDS if (value := getattr(self, name)) is not None}

    @property
    def is_complete(self) -> bool:
        """Bandwidth and throughput are known (an unknown overlap counts as none)."""
        return self.bandwidth is not None and self.throughput is not None

    def updated(self, **parameters: Parameter | None) -> MachineParameters:
        """The machine with the given parameters replaced; ``None`` keeps the present one."""
        return replace(self, **{name: p for name, p in parameters.items() if p is not None})  # type: ignore[arg-type]

    def updated_from(self, other: MachineParameters) -> MachineParameters:
        """The machine with all parameters that ``other`` knows replaced, and its name if it has one."""
        return replace(
            self.updated(**other.parameters),
            name=other.name or self.name,
            units=other.units or self.units,
            phase_times=other.phase_times or self.phase_times,
        )

    def replaced_by(self, other: MachineParameters) -> MachineParameters:
        """The machine that a question about ``other`` means.

        A machine with a name is another one: networks are not mixed, and only the throughput, which belongs
        to the program, is kept where ``other`` has none. Without a name, single parameters are replaced.
        """
        if not other.name:
            return self.updated_from(other)
        return other.updated(throughput=other.throughput or self.throughput)


def read_machine(path: Path) -> MachineParameters:
    """Machine described by a TOML file.

    Raises ``MachineModelError`` if the file is missing, is no TOML, is newer than this program, or has
    unknown keys or implausible values.
    """
    with reading(path, "a machine file", error=MachineModelError):
        data = parse_toml(path.read_text(encoding="utf-8"))
    try:
        return _machine(data)
    except MachineModelError as error:
        place = f"{path}: {error.where}" if error.where else str(path)
        raise MachineModelError(error.message, where=place, hint=error.hint) from error


def _machine(data: Mapping[str, object]) -> MachineParameters:
    kind, schema = data.get("kind", FILE_KIND), data.get("schema", FILE_SCHEMA)
    if kind != FILE_KIND:
        raise MachineModelError(f"expected a file of kind {FILE_KIND}, found {kind!r}", where="kind")
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= FILE_SCHEMA:
        raise MachineModelError(
            f"expected schema {FILE_SCHEMA}, found {schema!r}",
            where="schema",
            hint="a newer version of commanalyzer wrote this file",
        )
    unknown = set(data) - {"kind", "schema", "name", "provenance", "units", "phase_times", *KINDS}
    if unknown:
        known = ", ".join(("name", *KINDS, "units", "phase_times"))
        raise MachineModelError(f"expected the keys {known}, found {', '.join(sorted(unknown))}")
    found = {name: _parameter(data[name], name, KINDS[name]) for name in KINDS if name in data}
    machine = MachineParameters(
        str(data.get("name", "")),
        units=read_units(data.get("units", [])),
        phase_times=read_phase_times(data["phase_times"]) if "phase_times" in data else None,
    )
    return machine.updated(**found)


def given_parameter(name: str, value: Quantity) -> Parameter:
    """Parameter of a machine: itself, a text with its unit, or a number in the unit of :data:`KINDS`.

    Raises ``MachineModelError`` if machines have no such parameter, or the value is no such.
    """
    if name not in KINDS:
        raise MachineModelError(f"expected one of {', '.join(KINDS)}, found {name}")
    if isinstance(value, Parameter):
        return value
    unit = KINDS[name].unit if KINDS[name].needs_unit and not isinstance(value, str) else ""
    return _parameter({"value": value, "unit": unit}, name, KINDS[name])


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """Table of a parameter in a file."""

    value: int | float | str
    unit: str = ""
    source: Origin = "given"
    date: object = ""
    note: str = ""
    nodes: tuple[float, ...] = ()
    message_bytes: tuple[float, ...] = ()
    values: tuple[int | float | str, ...] = ()


def _parameter(entry: object, key: str, kind: ParameterKind) -> Parameter:
    table = part_of_file(entry if isinstance(entry, dict) else {"value": entry}, _Entry, key)
    value, curve = _number(table.value, key, kind, table.unit), _curve(table, key, kind)
    return Parameter(value, kind.unit, table.source, str(table.date), table.note, curve)


def _curve(table: _Entry, key: str, kind: ParameterKind) -> Curve | None:
    if not (table.nodes or table.message_bytes or table.values):
        return None
    try:
        values = tuple(_number(item, "values", kind, table.unit) for item in table.values)
        return Curve(nodes=table.nodes, message_bytes=table.message_bytes, values=values)
    except MachineModelError as error:
        place = f"{key}.{error.where}" if error.where else key
        raise MachineModelError(error.message, where=place, hint=error.hint) from error


def _number(value: float | str, key: str, kind: ParameterKind, unit: str) -> float:
    text = value if isinstance(value, str) else f"{value!r}{unit}"
    try:
        if kind.needs_unit and _is_bare(text):
            raise MachineModelError(
                f"expected a unit, found the number {text}", hint=f"write it as {kind.example}"
            )
        return kind.parse(text)
    except MachineModelError as error:
        raise MachineModelError(error.message, where=key, hint=error.hint) from error


def _is_bare(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check(parameter: Parameter, name: str) -> None:
    """Raise unless all values of ``parameter`` can be such a parameter of a machine."""
    kind = KINDS[name]
    if parameter.unit not in (kind.unit, kind.also):
        raise MachineModelError(f"expected {name} in {kind.unit}, found {parameter.unit!r}", where=name)
    values = (parameter.value, *(parameter.curve.values if parameter.curve is not None else ()))
    for value in values:
        _check_value(value, name, kind, is_measured=parameter.source == "measured")


def _check_value(value: float, name: str, kind: ParameterKind, *, is_measured: bool) -> None:
    if name == "overlap":
        if not 0.0 <= value < 1.0:
            raise MachineModelError(f"expected an overlap in [0, 1), found {value}", where=name)
        return
    if not (math.isfinite(value) and value > 0):
        raise MachineModelError(f"expected a positive {name} in {kind.unit}, found {value}", where=name)
    # The measured throughput of a program without much arithmetic may be arbitrarily low.
    low = 0.0 if is_measured and name == "throughput" else kind.low
    if not low <= value <= kind.high:
        raise MachineModelError(
            f"expected a {kind.meaning} between {kind.show(kind.low)} and {kind.show(kind.high)}, "
            f"found {kind.show(value)}",
            where=name,
            hint=f"check the unit and its prefix: {kind.example}",
        )
