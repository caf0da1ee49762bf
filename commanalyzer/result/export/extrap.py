"""Measurements for Extra-P 4, as JSON Lines (one object per line) or as text.

``{"params": {"p": 4, "n": 256}, "callpath": "main->sweep", "metric": "comm_bytes", "value": [614.0]}``

The text form names the points once and then gives their values, metric by metric::

    PARAMETER p n
    POINTS (4 256) (16 256)
    METRIC comm_bytes
    REGION main->sweep
    DATA 614.0
    DATA 1228.0
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ArtifactError
from commanalyzer.foundation.files import write_text

CALLPATH_SEPARATOR = "->"
_MOST_TEXT_PARAMETERS = 4


@dataclass(frozen=True, slots=True)
class Measurement:
    """Values of one metric at one point of a parameter space."""

    parameters: Mapping[str, float]  # name and value of every parameter, for example ``{"p": 4, "n": 256}``
    callpath: Sequence[str]  # functions from the outermost to the innermost
    metric: str  # name of the metric, for example ``comm_bytes``; not ``time`` unless it is one
    values: Sequence[float]  # repetitions


def write_extrap(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements in the order given; the first one fixes the order of the parameters.

    Raises:
        ArtifactError: If there is no measurement, one has other parameters than the first or no value, a name
            contains ``->``, or the file cannot be written.
    """
    names = _names(measurements, path)
    write_text(path, "".join(_line(m, names) for m in measurements), force=True)


def write_extrap_text(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements as text; all metrics and call paths must have the same points in the same order.

    Raises:
        ArtifactError: As :func:`write_extrap`; also if points differ, or there are more than four parameters.
    """
    names = _names(measurements, path)
    if len(names) > _MOST_TEXT_PARAMETERS:
        raise ArtifactError(
            f"expected at most {_MOST_TEXT_PARAMETERS} parameters in Extra-P's text form, found {len(names)}",
            where=str(path),
            hint="write JSON Lines",
        )
    sections: dict[tuple[str, str], list[Measurement]] = {}
    for measurement in measurements:
        key = (measurement.metric, CALLPATH_SEPARATOR.join(measurement.callpath))
        sections.setdefault(key, []).append(measurement)
    points = {tuple(_point(m, names) for m in section) for section in sections.values()}
    if len(points) != 1:
        raise ArtifactError(
            "expected the same points for all metrics, found different ones",
            where=str(path),
            hint="write JSON Lines",
        )
    lines = [f"PARAMETER {' '.join(names)}", f"POINTS {' '.join(next(iter(points)))}"]
    for (metric, callpath), section in sections.items():
        lines += [f"METRIC {metric}", f"REGION {callpath}"]
        lines += [f"DATA {' '.join(map(repr, map(float, m.values)))}" for m in section]
    write_text(path, "\n".join(lines) + "\n", force=True)


def _point(measurement: Measurement, names: Sequence[str]) -> str:
    text = " ".join(f"{measurement.parameters[name]:.17g}" for name in names)
    return f"({text})" if len(names) > 1 else text


def _names(measurements: Sequence[Measurement], path: Path) -> list[str]:
    """Names of the parameters, in the order of the first measurement; raises as :func:`write_extrap`."""
    if not measurements:
        raise ArtifactError("expected at least one measurement, found none", where=str(path))
    names = list(measurements[0].parameters)
    for m in measurements:
        if sorted(m.parameters) != sorted(names):
            raise ArtifactError(
                f"expected parameters {sorted(names)}, found {sorted(m.parameters)}", where=str(path)
            )
        if not m.callpath or any(CALLPATH_SEPARATOR in name or not name for name in m.callpath):
            raise ArtifactError(
                f"call path {list(m.callpath)} needs names without '{CALLPATH_SEPARATOR}'", where=str(path)
            )
        if not m.values:
            raise ArtifactError(f"metric {m.metric} has no value", where=str(path))
    return names


def _line(measurement: Measurement, names: Sequence[str]) -> str:
    record = {
        "params": {name: measurement.parameters[name] for name in names},
        "callpath": CALLPATH_SEPARATOR.join(measurement.callpath),
        "metric": measurement.metric,
        "value": list(measurement.values),
    }
    return json.dumps(record) + "\n"
