"""Machine parameters of the efficiency roofline: values with unit, origin and date, and their file.

A machine file is TOML::

    name = "cluster A"

    [bandwidth]               # B_c, effective bisection bandwidth per node
    value = "12.5GB/s"
    source = "measured"
    date = 2026-01-31
    note = "128 ranks, random matchings"

    [overlap]                 # O_c
    value = 0.57

    [throughput]              # R, of one node
    value = "3.2GFlop/s"

Numbers without a unit are bytes per second, a fraction, and floating-point operations per second.
"""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from commanalyzer.errors import MachineModelError
from commanalyzer.quantities import parse_bandwidth, parse_fraction, parse_throughput

Origin = Literal["measured", "given", "assumed"]
_ORIGINS: tuple[Origin, ...] = ("measured", "given", "assumed")
_KEYS = frozenset({"value", "source", "date", "note"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that describes the machine.

    Attributes:
        value: In ``unit``.
        unit: ``B/s``, ``Flop/s`` or ``1``.
        source: ``measured`` (benchmark), ``given`` (by the user) or ``assumed`` (a default).
        date: ISO date of the measurement, empty when unknown.
        note: How it was obtained.
    """

    value: float
    unit: str
    source: Origin = "given"
    date: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class MachineParameters:
    """Machine of the efficiency bound (paper Section 5); ``None`` marks an unknown parameter.

    Attributes:
        name: What to call the machine.
        bandwidth: Effective bisection bandwidth per node B_c, B/s, positive.
        overlap: Largest overlap of communication and computation O_c, in [0, 1).
        throughput: Throughput of one node R, Flop/s, positive.

    Raises:
        MachineModelError: If a value is out of range or has the wrong unit.
    """

    name: str = ""
    bandwidth: Parameter | None = None
    overlap: Parameter | None = None
    throughput: Parameter | None = None

    def __post_init__(self) -> None:
        _check_positive(self.bandwidth, "bandwidth", "B/s")
        _check_positive(self.throughput, "throughput", "Flop/s")
        if self.overlap is not None:
            _check_unit(self.overlap, "overlap", "1")
            if not 0.0 <= self.overlap.value < 1.0:
                raise MachineModelError(
                    f"expected an overlap in [0, 1), found {self.overlap.value}", where="overlap"
                )

    @property
    def is_complete(self) -> bool:
        """Bandwidth and throughput are known (an unknown overlap counts as none)."""
        return self.bandwidth is not None and self.throughput is not None

    @property
    def overlap_value(self) -> float:
        """O_c, 0 when unknown: the bound then holds for programs that do not overlap."""
        return self.overlap.value if self.overlap is not None else 0.0

    def updated(
        self,
        *,
        bandwidth: Parameter | None = None,
        overlap: Parameter | None = None,
        throughput: Parameter | None = None,
    ) -> MachineParameters:
        """The machine with the given parameters replaced; ``None`` keeps the present one."""
        return replace(
            self,
            bandwidth=bandwidth or self.bandwidth,
            overlap=overlap or self.overlap,
            throughput=throughput or self.throughput,
        )


def load_machine(path: Path) -> MachineParameters:
    """Machine described by a TOML file.

    Raises:
        MachineModelError: If the file is missing, is no TOML, or has unknown keys or values out of range.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineModelError(
            f"expected a readable machine file, found: {error.strerror}", where=str(path)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MachineModelError(f"expected a TOML file, found: {error}", where=str(path)) from error
    try:
        return _machine(data)
    except MachineModelError as error:
        place = f"{path}: {error.where}" if error.where else str(path)
        raise MachineModelError(error.message, where=place, hint=error.hint) from error


def _machine(data: Mapping[str, object]) -> MachineParameters:
    unknown = set(data) - {"name", "bandwidth", "overlap", "throughput"}
    if unknown:
        raise MachineModelError(
            f"expected the keys name, bandwidth, overlap and throughput, found {', '.join(sorted(unknown))}"
        )
    return MachineParameters(
        name=str(data.get("name", "")),
        bandwidth=_parameter(data, "bandwidth", "B/s", parse_bandwidth),
        overlap=_parameter(data, "overlap", "1", parse_fraction),
        throughput=_parameter(data, "throughput", "Flop/s", parse_throughput),
    )


def _parameter(
    data: Mapping[str, object], key: str, unit: str, parse: Callable[[str], float]
) -> Parameter | None:
    if key not in data:
        return None
    entry = data[key]
    table: Mapping[str, object] = entry if isinstance(entry, dict) else {"value": entry}
    unknown = set(table) - _KEYS
    if unknown or "value" not in table:
        found = ", ".join(sorted(map(str, table)))
        raise MachineModelError(
            f"expected value, and optionally source, date and note, found {found}", where=key
        )
    source = table.get("source", "given")
    if source not in _ORIGINS:
        raise MachineModelError(
            f"expected one of {', '.join(_ORIGINS)}, found {source!r}", where=f"{key}.source"
        )
    return Parameter(
        value=_number(table["value"], key, parse),
        unit=unit,
        source=source,
        date=_date(table.get("date", "")),
        note=str(table.get("note", "")),
    )


def _number(value: object, key: str, parse: Callable[[str], float]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise MachineModelError(f"expected a number or text with a unit, found {value!r}", where=key)
    try:
        return float(value) if isinstance(value, int | float) else parse(value)
    except MachineModelError as error:
        raise MachineModelError(error.message, where=key, hint=error.hint) from error


def _date(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _check_positive(parameter: Parameter | None, name: str, unit: str) -> None:
    if parameter is None:
        return
    _check_unit(parameter, name, unit)
    if not (math.isfinite(parameter.value) and parameter.value > 0):
        raise MachineModelError(f"expected a positive {name} in {unit}, found {parameter.value}", where=name)


def _check_unit(parameter: Parameter, name: str, unit: str) -> None:
    if parameter.unit != unit:
        raise MachineModelError(f"expected {name} in {unit}, found {parameter.unit!r}", where=name)
