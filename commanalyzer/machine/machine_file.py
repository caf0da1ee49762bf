"""Writes machine files that :func:`commanalyzer.machine.parameters.read_machine` reads (to 12 digits).

Machines by name: the published ones that come with the package, and files.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from commanalyzer.foundation.documents import plain
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.files import write_text
from commanalyzer.machine.parameters import (
    FILE_KIND,
    FILE_SCHEMA,
    KINDS,
    MachineParameters,
    Parameter,
    ParameterKind,
    Quantity,
    given_parameter,
    read_machine,
)
from commanalyzer.machine.phase_times import conditions_text

_PUBLISHED = Path(__file__).parent / "published"


def published_machines() -> dict[str, Path]:
    """Files of the published machines by name, in alphabetical order."""
    return {path.stem: path for path in sorted(_PUBLISHED.glob("*.toml"))}


def as_machine(
    given: MachineParameters | str | os.PathLike[str] | None, **single: Quantity | None
) -> MachineParameters:
    """``given`` itself, the machine of that name or file, or one of which nothing is known.

    Parameters by name go before its own: ``throughput="3.2GFlop/s"``. Raises ``MachineModelError``: as
    :func:`load_machine`, or if there is no such parameter, or its value is no such.
    """
    if given is None:
        known = MachineParameters()
    else:
        known = given if isinstance(given, MachineParameters) else load_machine(given)
    return known.updated(**{name: given_parameter(name, x) for name, x in single.items() if x is not None})


def load_machine(name_or_file: str | os.PathLike[str]) -> MachineParameters:
    """Machine of a file, or the published machine of that name.

    A file of that name goes before a published machine.

    Raises:
        MachineModelError: If there is neither, or the file is not usable.
    """
    path = Path(name_or_file)
    published = published_machines()
    if path.is_file() or path.suffix or len(path.parts) != 1:
        return read_machine(path)
    if path.name in published:
        return read_machine(published[path.name])
    known = ", ".join(published) or "none"
    raise MachineModelError(
        f"expected a machine file or the name of a published machine ({known}), found neither",
        where=str(path),
    )


_PREFIXES: Mapping[str, Sequence[tuple[float, str]]] = {
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "Flop/s": ((1e12, "TFlop/s"), (1e9, "GFlop/s"), (1e6, "MFlop/s"), (1.0, "Flop/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "1": ((1.0, ""),),
    "B": ((1.0, "B"),),
}


def write_machine(
    path: Path, machine: MachineParameters, provenance: Mapping[str, object], *, force: bool = False
) -> None:
    """Write ``machine`` and its provenance as TOML; ``force`` replaces an existing file.

    Raises ``ArtifactError`` if the file exists or cannot be written.
    """
    import tomlkit

    document = tomlkit.document()
    document.add("kind", tomlkit.item(FILE_KIND))
    document.add("schema", tomlkit.item(FILE_SCHEMA))
    document.add("name", tomlkit.item(machine.name))
    for key, parameter in machine.parameters.items():
        table = tomlkit.table()
        table.comment(KINDS[key].meaning)
        for name, value in _entries(parameter, KINDS[key]).items():
            table.add(name, tomlkit.item(value))
        document.add(tomlkit.nl())
        document.add(key, table)
    for key, value in (*_allocation_entries(machine).items(), ("provenance", dict(provenance))):
        if value:
            document.add(tomlkit.nl())
            document.add(key, tomlkit.item(value))
    write_text(path, tomlkit.dumps(document), force=force)


def _allocation_entries(machine: MachineParameters) -> dict[str, object]:
    """Neighbourhoods of the network and models of phases, where there are any."""
    found: dict[str, object] = {"units": [asdict(unit) for unit in machine.units]}
    model = machine.phase_times
    if model is not None:
        known = [{key: value for key, value in asdict(a).items() if value} for a in model.areas]
        areas = [k | {"where": conditions_text(a.where)} for k, a in zip(known, model.areas, strict=True)]
        ranges = {name: [low, high] for name, low, high in model.ranges}
        about = {"source": model.source, "date": model.date, "note": model.note}
        found["phase_times"] = {**about, "ranges": ranges, "areas": areas}
    return found


def _entries(parameter: Parameter, kind: ParameterKind) -> dict[str, object]:
    found: dict[str, object] = {"value": _value(parameter.value, kind), "source": parameter.source}
    if parameter.date:
        found["date"] = _date(parameter.date)
    if parameter.note:
        found["note"] = parameter.note
    curve = parameter.curve
    if curve is not None:
        axes = {"nodes": curve.nodes, "message_bytes": curve.message_bytes}
        found |= {name: [plain(x) for x in axis] for name, axis in axes.items() if axis}
        found["values"] = [_value(value, kind) for value in curve.values]
    return found


def _value(value: float, kind: ParameterKind) -> str | float:
    """``value`` with a readable prefix, to 12 digits; fractions as numbers."""
    if kind.unit == "1":
        return value
    scales = _PREFIXES[kind.unit]
    fitting = (scale for scale in scales if value >= scale[0])
    factor, unit = next(fitting, scales[-1])
    return f"{value / factor:.12g}{unit}"


def _date(text: str) -> object:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return text
