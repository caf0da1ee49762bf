"""Extrapolated profiles (Pass 6): models and scaling parameters -> a profile with one thread per class.

The file is a profile as any other, with an object ``extrapolated`` per thread: class, number of threads, and
all metrics with their uncertainty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import FitError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.document import profile_text
from commanalyzer.profiles.extrapolation.data import COUNTS, MISPREDICTED, REST, SIZE, THREADS
from commanalyzer.profiles.extrapolation.models import ClassModels, Models
from commanalyzer.profiles.metrics import CALLS, EXCHANGED, FUNCTIONS, ILP
from commanalyzer.profiles.values import (
    DATA_INDEX,
    DEFAULT_WINDOW,
    INDEX,
    LINE_BYTES,
    VECTOR_LENGTHS,
    Branches,
    Exchange,
    Footprint,
    InstructionMix,
    Parallelism,
    Profile,
    RankProfile,
    Reuse,
    Spans,
    no_instructions,
)
from commanalyzer.scaling.laws.terms import Floats

_REMARKS = ("mpiCommunicationVector holds what is received of all together, as from process 0",)
_MOST_BINS = 48  # powers of two: more lines than any memory holds


@dataclass(frozen=True, slots=True, eq=False)
class Extrapolated:
    """Profile of one class where it was never run."""

    class_name: str
    threads: float  # threads that it stands for
    rank: RankProfile  # profile of one of them; its process number is the class's
    # Value, lower and upper end (about 95 %) of every scalar metric and every sum of a mix
    metrics: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class ExtrapolatedRun:
    """All classes at one point."""

    application: str
    scale: Mapping[str, float]
    classes: tuple[Extrapolated, ...]  # those that have threads there
    remarks: tuple[str, ...]  # what to know before using it

    @property
    def profile(self) -> Profile:
        """As a profile: one rank per class."""
        return Profile(self.application, self.scale, tuple(c.rank for c in self.classes), self.remarks)


def points(values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """All combinations of the values of parameters."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


def extrapolate(models: Models, scale: Mapping[str, float]) -> ExtrapolatedRun:
    """Profile at one point; ``FitError`` if a scaling parameter is missing, unknown, or not positive."""
    _check(models, scale)
    x = np.array([[scale[name] for name in models.parameters]])
    found = []
    for number, own in enumerate(models.classes):
        threads = float(models.at(own, THREADS, x)[""][0])
        if threads >= 1:
            found.append(_class(models, own, number, threads, x))
    if not found:
        raise FitError("expected classes with threads, found none", where=_text(scale))
    beyond = [*_REMARKS] + [
        f"{name} = {scale[name]:g} is {scale[name] / high:.3g} times the largest value in the data ({high:g})"
        for name, high in zip(models.parameters, models.highest, strict=True)
        if scale[name] > high
    ]
    counted = sum(c.threads for c in found)
    if models.processes and abs(counted - scale[models.processes]) > 0.5:
        beyond.append(f"the classes have {counted:g} threads, not {scale[models.processes]:g}")
    return ExtrapolatedRun(models.application, dict(scale), tuple(found), tuple(beyond))


def write_extrapolated(run: ExtrapolatedRun, path: Path, *, force: bool = False) -> None:
    """Write a profile file with class, threads and uncertainty; errors as of :func:`write_profile`."""
    content = json.loads(profile_text(run.profile))
    for thread, own in zip(content["threads"], run.classes, strict=True):
        thread["extrapolated"] = {
            "class": own.class_name,
            THREADS: own.threads,
            "metrics": {
                name: {"value": value, "low": low, "high": high}
                for name, (value, low, high) in own.metrics.items()
            },
        }
    write_text(path, json.dumps(content, indent=1) + "\n", force=force)


def _check(models: Models, scale: Mapping[str, float]) -> None:
    if set(scale) != set(models.parameters):
        raise FitError(
            f"expected values of {', '.join(models.parameters)}, found {', '.join(scale) or 'none'}",
            hint=f"--to {','.join(f'{name}=VALUE' for name in models.parameters)}",
        )
    if not all(np.isfinite(v) and v > 0 for v in scale.values()):
        raise FitError("expected positive scaling parameters", where=_text(scale))


def _text(scale: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in scale.items())


def _class(models: Models, own: ClassModels, number: int, threads: float, x: Floats) -> Extrapolated:
    metrics: dict[str, tuple[float, float, float]] = {}
    for name, model in own.models.items():
        if name in (COUNTS, REST) or model.setup.type == "memFunction":
            continue
        bands = list(models.bands(own, name, x).values())
        if bands:
            low, mid, high = (sum(float(b[i][0]) for b in bands) for i in (1, 0, 2))
            metrics[name] = (mid, low, high)
    values = {name: value for name, (value, _, _) in metrics.items()}
    size = values[SIZE]
    rest = {name: float(v[0]) for name, v in models.at(own, REST, x).items()}
    mix = _mix(models, own, x, size)
    known = set(own.models)
    rank = RankProfile(
        process_id=number,
        mix=mix,
        register_reads=values.get("F0regreads", 0.0) * size,
        register_writes=values.get("F0regwrites", 0.0) * size,
        parallelism=(_parallelism(values, size),) if "ILP0" in known else (),
        data_reuse=tuple(
            _reuse(models, own, name, x, line, values["F0mem"] * size if "F0mem" in values else size)
            for name, line in zip(FUNCTIONS, LINE_BYTES, strict=False)
            if name in known
        ),
        instruction_reuse=(_reuse(models, own, "D0ireuse", x, LINE_BYTES[0], size, 1),)
        if "D0ireuse" in known
        else (),
        footprint=Footprint(rest["bytes"], rest["lines"]),
        branches=_branches(models, own, x, values, rest) if "H0branch" in known else None,
        exchange=_exchange(values) if "MPIsentBytes" in known else None,
        mpi_calls={call: values[name] for name, call in CALLS.items() if values.get(name)},
    )
    return Extrapolated(own.name, threads, rank, metrics)


def _mix(models: Models, own: ClassModels, x: Floats, size: float) -> InstructionMix:
    """Instructions by type: shares that add up to 1, times all instructions."""
    counts = no_instructions()
    for name, share in models.at(own, COUNTS, x).items():
        kind, length, data = name.split("/")
        counts[INDEX[kind], VECTOR_LENGTHS.index(int(length)), DATA_INDEX[data]] = max(float(share[0]), 0.0)
    total = counts.sum()
    return InstructionMix(counts * (size / total if total else 0.0))


def _parallelism(values: Mapping[str, float], size: float) -> Parallelism:
    mean = np.array([values.get(name, 0.0) for name in ILP])
    shares = [1.0, *(values.get(name, 0.0) for name in ("F0mem", "F0int", "F0control", "F0fp"))]
    span = np.where(mean > 0, np.array(shares) * size / np.where(mean > 0, mean, 1.0), 0.0)
    return Parallelism(DEFAULT_WINDOW, Spans(span, mean), Spans(np.zeros(len(ILP)), np.zeros(len(ILP))))


def _reuse(
    models: Models, own: ClassModels, metric: str, x: Floats, line: int, accesses: float, instruction: int = 0
) -> Reuse:
    """Distribution at all powers of two up to the distance where it ends."""
    distances = np.concatenate(([0], 2 ** np.arange(_MOST_BINS, dtype=np.int64)))
    cdf = np.maximum.accumulate(models.function(own, metric, x, distances.astype(np.float64))[0])
    end = int(np.flatnonzero(cdf >= cdf[-1] - 1e-9).min(initial=len(cdf) - 1)) + 1
    count = np.diff(cdf[:end], prepend=0.0) * accesses
    return Reuse(line, distances[:end], count, accesses, instruction_bytes=instruction)


def _branches(
    models: Models, own: ClassModels, x: Floats, values: Mapping[str, float], rest: Mapping[str, float]
) -> Branches:
    history = np.array([float(d) for d in own.models[MISPREDICTED].parts])
    rates = models.function(own, MISPREDICTED, x, history)[0]
    entropy = np.full(len(history), values["H0branch"])  # that of the longest history is what is known
    return Branches(history.astype(np.int64), entropy, rates, rest["branches"])


def _exchange(values: Mapping[str, float]) -> Exchange:
    """Totals; where they come from is not extrapolated: one source stands for all."""
    sent, received, sent_messages, messages = (values[name] for name in EXCHANGED)
    source = np.zeros(1, dtype=np.int64)
    return Exchange(sent, sent_messages, source, np.array([received]), np.array([messages]))
