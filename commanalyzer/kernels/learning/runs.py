"""The table of runs that models are trained on: one line per kernel, size and number of devices.

CSV or JSON Lines with a column ``kernel``, one per feature
(:data:`commanalyzer.kernels.features.kernels.FEATURES`) and ``speedup``, or ``time_s`` from which speed-ups
over the run on one device are computed. ``machine`` (text) and ``physics`` (a speed-up from a model of the
machine) may be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, read_csv, reading
from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.kernels.features.kernels import FEATURES, RUNTIME_FEATURES
from commanalyzer.scaling.laws.terms import Floats

KERNEL, SPEEDUP, TIME, PHYSICS, MACHINE = "kernel", "speedup", "time_s", "physics", "machine"
DEVICES = "devices"
PHYSICS_EFFICIENCY = "ln_physics_efficiency"  # what models that correct physics see beside the features
_HINT = "commanalyzer features SOURCES --run --json FILE gives the features of each kernel"


@dataclass(frozen=True, slots=True)
class RunTable:
    """Runs of kernels; ``FitError`` if a number is missing or out of range."""

    kernels: NDArray[np.str_]  # kernel of each run, text of N entries
    features: Floats  # [N, len(FEATURES)]
    speedups: Floats  # [N] over one device; NaN where it is to be predicted
    physics: Floats  # [N], speed-up by a model of the machine; NaN where not known
    source: str = ""  # what it was read from

    def __post_init__(self) -> None:
        bad = ~np.isfinite(self.features)
        if bad.any():
            line, column = np.argwhere(bad)[0].tolist()
            raise FitError(
                f"expected a number as {FEATURES[column]} of run {line + 1} ({self.kernels[line]}), "
                "found none",
                where=self.source,
                hint=_HINT,
            )
        for name, lowest in (*((f, 0.0) for f in FEATURES), (DEVICES, 1.0)):
            below = self.features[:, FEATURES.index(name)] < lowest
            if below.any():
                line = int(np.argmax(below))
                found = self.features[line, FEATURES.index(name)]
                raise FitError(
                    f"expected {lowest:g} or more as {name} of run {line + 1} ({self.kernels[line]}), "
                    f"found {found:g}",
                    where=self.source,
                )
        for name, values in ((SPEEDUP, self.speedups), (PHYSICS, self.physics)):
            wrong = (values <= 0) | np.isinf(values)
            if wrong.any():
                line = int(np.argmax(wrong))
                raise FitError(
                    f"expected a positive {name} in run {line + 1} ({self.kernels[line]}), "
                    f"found {values[line]:g}",
                    where=self.source,
                    hint="leave runs that failed out of the table",
                )

    def __len__(self) -> int:
        return len(self.kernels)

    def of(self, feature: str) -> Floats:
        """One feature, float64[N], or the logarithm of the efficiency by physics."""
        if feature == PHYSICS_EFFICIENCY:
            return np.asarray(np.log(self.physics / self.of(DEVICES)))
        return self.features[:, FEATURES.index(feature)]

    def where(self, mask: NDArray[np.bool_]) -> RunTable:
        """The runs where bool[N] ``mask`` is true."""
        return RunTable(
            self.kernels[mask], self.features[mask], self.speedups[mask], self.physics[mask], self.source
        )

    def require_speedups(self) -> None:
        """Raise FitError unless every run has a speed-up, of two or more kernels and numbers of devices."""
        if not len(self) or np.isnan(self.speedups).any():
            missing = int(np.isnan(self.speedups).sum())
            raise FitError(f"expected a speed-up in every run, found {missing} without", where=self.source)
        for name, values, why in (
            ("kernels", self.kernels, "nothing can be left out to test on"),
            ("numbers of devices", self.of(DEVICES), "all speed-ups are alike, whatever is learned"),
        ):
            if len(np.unique(values)) < 2:
                raise FitError(
                    f"expected runs of at least 2 {name}, found {values[0]} alone: {why}", where=self.source
                )


def read_runs(path: Path, machine: str = "") -> RunTable:
    """Table of runs in a CSV or JSON Lines file.

    Only runs of ``machine``, where the table has several.

    Raises:
        ArtifactError: If the file cannot be read.
        FitError: If columns or numbers are missing or out of range.
        ConfigError: If there are no runs of the machine, or of several and none is chosen.
    """
    with reading(path, "a table of runs (CSV or JSON Lines)"):
        lines = _json_lines(path) if path.suffix == ".jsonl" else _csv_lines(path)
    return runs_of(_of_machine(lines, machine, str(path)), str(path))


def runs_of(lines: Sequence[Mapping[str, object]], source: str = "") -> RunTable:
    """Table of runs from one mapping per run; errors as :func:`read_runs`."""
    known = {name for line in lines for name in line}
    missing = [name for name in (KERNEL, *FEATURES) if name not in known]
    if missing or not lines:
        raise FitError(
            f"expected columns {KERNEL}, the features and {SPEEDUP} or {TIME}, found no "
            f"{', '.join(missing) or 'runs'}",
            where=source,
            hint=_HINT,
        )
    kernels = np.array([str(line.get(KERNEL) or "") for line in lines])
    features = np.array([[_number(line.get(f)) for f in FEATURES] for line in lines], dtype=np.float64)
    speedups = np.array([_number(line.get(SPEEDUP)) for line in lines])
    if SPEEDUP not in known and TIME in known:
        times = np.array([_number(line.get(TIME)) for line in lines])
        speedups = _speedups(kernels, features, times, source)
    physics = np.array([_number(line.get(PHYSICS)) for line in lines])
    return RunTable(kernels, features, speedups, physics, source)


def _speedups(kernels: NDArray[np.str_], features: Floats, times: Floats, source: str) -> Floats:
    """Time on one device over time, for each kernel and size."""
    devices = features[:, FEATURES.index(DEVICES)]
    sizes = features[:, [FEATURES.index(f) for f in RUNTIME_FEATURES if f != DEVICES]]
    single = {
        (kernel, *size): time
        for kernel, size, count, time in zip(kernels, sizes.tolist(), devices, times, strict=True)
        if count == 1
    }
    bad = ~(times > 0)
    if bad.any():
        line = int(np.argmax(bad))
        raise FitError(
            f"expected a positive {TIME} in run {line + 1} ({kernels[line]}), found {times[line]:g}",
            where=source,
        )
    base = [single.get((kernel, *size)) for kernel, size in zip(kernels, sizes.tolist(), strict=True)]
    if None in base:
        kernel = kernels[base.index(None)]
        raise FitError(
            f"expected a run on one device for every kernel and size, found none for {kernel}", where=source
        )
    return np.array(base, dtype=np.float64) / times


def _of_machine(lines: list[Mapping[str, object]], machine: str, source: str) -> list[Mapping[str, object]]:
    names = sorted({str(line[MACHINE]) for line in lines if line.get(MACHINE)})
    if machine and machine not in names:
        raise ConfigError(
            f"expected runs of a machine of {', '.join(names) or 'none'}, found {machine!r}", where=source
        )
    if not machine and len(names) > 1:
        raise ConfigError(
            f"expected runs of one machine, found those of {', '.join(names)}",
            where=source,
            hint="choose one with --machine: a model is trained once per machine",
        )
    return [line for line in lines if not machine or line.get(MACHINE) == machine]


def _csv_lines(path: Path) -> list[Mapping[str, object]]:
    rows = read_csv(path)
    header = rows[0] if rows else []
    if any(len(row) != len(header) for row in rows):
        raise ValueError("lines of different lengths")
    return [dict(zip(header, row, strict=True)) for row in rows[1:]]


def _json_lines(path: Path) -> list[Mapping[str, object]]:
    lines = [parse_json(text) for text in path.read_text(encoding="utf-8").splitlines() if text.strip()]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line that is no object")
    return lines


def _number(cell: object) -> float:
    """A cell as a number; NaN for what is none."""
    if isinstance(cell, bool) or cell is None or not isinstance(cell, int | float | str):
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        return float("nan")
