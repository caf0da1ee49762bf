"""Measurements for Extra-P: one JSON object per line (JSON Lines input of Extra-P 4).

``{"params": {"p": 4, "n": 256}, "callpath": "main->sweep", "metric": "comm_bytes", "value": [614.0]}``
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.errors import ArtifactError
from commanalyzer.export.files import write_text

CALLPATH_SEPARATOR = "->"


@dataclass(frozen=True, slots=True)
class Measurement:
    """Values of one metric at one point of a parameter space.

    Attributes:
        parameters: Name and value of every parameter, for example ``{"p": 4, "n": 256}``.
        callpath: Functions from the outermost to the innermost.
        metric: Name of the metric, for example ``comm_bytes``; not ``time`` unless it is one.
        values: Repetitions.
    """

    parameters: Mapping[str, float]
    callpath: Sequence[str]
    metric: str
    values: Sequence[float]


def write_extrap(path: Path, measurements: Sequence[Measurement]) -> None:
    """Write measurements in the order given; the first one fixes the order of the parameters.

    Raises:
        ArtifactError: If there is no measurement, one has other parameters than the first or no value, a name
            contains ``->``, or the file cannot be written.
    """
    if not measurements:
        raise ArtifactError("expected at least one measurement, found none", where=str(path))
    names = list(measurements[0].parameters)
    write_text(path, "".join(_line(m, names, path) for m in measurements))


def _line(measurement: Measurement, names: Sequence[str], path: Path) -> str:
    if sorted(measurement.parameters) != sorted(names):
        raise ArtifactError(
            f"expected parameters {sorted(names)}, found {sorted(measurement.parameters)}", where=str(path)
        )
    bad = [name for name in measurement.callpath if CALLPATH_SEPARATOR in name or not name]
    if bad or not measurement.callpath:
        raise ArtifactError(
            f"call path {list(measurement.callpath)} needs names without '{CALLPATH_SEPARATOR}'",
            where=str(path),
        )
    if not measurement.values:
        raise ArtifactError(f"metric {measurement.metric} has no value", where=str(path))
    record = {
        "params": {name: measurement.parameters[name] for name in names},
        "callpath": CALLPATH_SEPARATOR.join(measurement.callpath),
        "metric": measurement.metric,
        "value": list(measurement.values),
    }
    return json.dumps(record) + "\n"
