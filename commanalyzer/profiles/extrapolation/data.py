"""Metrics of the threads of a class in every run: profiles and classes -> one table per class.

Components of a metric are named: ``""`` for a scalar, ``1x64`` (vector length, bits) in a mix, a distance in
a function. All threads of a class in a run are one row: their mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.extrapolation.setup import THREADS
from commanalyzer.profiles.metrics import FUNCTIONS, MIXES, SCALARS, metrics_of
from commanalyzer.profiles.values import DATA_LENGTHS, DATA_TYPES, TYPES, VECTOR_LENGTHS, Profile, RankProfile
from commanalyzer.scaling.laws.terms import Floats

PROCESS_NAMES = ("p", "P", "NPC", "np", "nodes", "processes", "ranks", "threads")
ALL_THREADS = "threads"
COUNTS = "counts"
"""Instructions by type, vector length and data type: no metric of Table 2, but what profiles are made of."""
REST = "rest"
"""Footprint (lines, bytes) and executed branches, for profiles, too."""
_REST = ("lines", "bytes", "branches")


@dataclass(frozen=True, slots=True, eq=False)
class ClassData:
    """Mean metrics of one class in the runs that have it."""

    name: str
    number: int
    scale: Floats  # [R, K], scaling parameters
    threads: Floats  # [R], threads of the class
    runs: tuple[int, ...]  # int[R], numbers of the runs
    # float64[R] per component, per metric. Functions: at common distances
    components: Mapping[str, Mapping[str, Floats]]

    def total(self, metric: str) -> Floats:
        """float64[R], a scalar, or the sum of a mix."""
        return np.asarray(sum(self.components[metric].values(), np.zeros(len(self.threads))))


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """All classes of all runs."""

    application: str
    parameters: tuple[str, ...]  # scaling parameters, sorted
    processes: str  # the one that is the number of threads; empty if none is
    classes: tuple[ClassData, ...]
    total: Floats  # [runs], threads of each run
    scale: Floats  # [runs, K]
    counts: Floats  # [runs, classes], threads of each class

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters of formulas: scaling parameters, then numbers of threads (of all, of each class)."""
        own = tuple(count_name(c.name) for c in self.classes)
        return (*self.parameters, *(() if self.processes else (ALL_THREADS,)), *own)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of Table 2 that all classes have."""
        known = [set(c.components) for c in self.classes]
        return tuple(n for n in (*SCALARS, *MIXES, *FUNCTIONS) if all(n in k for k in known))


def count_name(class_name: str) -> str:
    """Name of the number of threads of a class in formulas: ``threads_A``."""
    word = class_name.replace("+", "p").replace("-", "m").replace("*", "b")
    return f"{ALL_THREADS}_{re.sub('[^0-9A-Za-z]+', '_', word).strip('_')}"


def training_data(profiles: Sequence[Profile], classes: Classes) -> TrainingData:
    """Tables of all classes; ``ProfileError`` if profiles do not fit them or say nothing of instructions."""
    if len(profiles) != len(classes.runs):
        raise ProfileError(
            f"expected {len(classes.runs)} profiles, as were classified, found {len(profiles)}"
        )
    names = tuple(sorted(profiles[0].scale))
    scale = np.array([[p.scale[name] for name in names] for p in profiles]).reshape(len(profiles), len(names))
    total = np.array([float(len(p.ranks)) for p in profiles])
    found = [n for i, n in enumerate(names) if (scale[:, i] == total).all()]
    processes = next((n for n in PROCESS_NAMES if n in found), found[0] if found else "")
    counts = classes.counts().astype(np.float64)
    rows = [_rows(p, run.classes, len(classes.names)) for p, run in zip(profiles, classes.runs, strict=True)]
    own = tuple(
        _class(name, i, scale, counts[:, i], [row[i] for row in rows]) for i, name in enumerate(classes.names)
    )
    if any("LSys" not in c.components for c in own):
        raise ProfileError("expected profiles with instructions (instructionMix), found none in some threads")
    return TrainingData(profiles[0].application, names, processes, own, total, scale, counts)


_Row = dict[str, dict[str, float] | Floats]


def _rows(profile: Profile, numbers: np.ndarray, count: int) -> list[_Row | None]:
    """Mean of each class in one run."""
    processes = 1 + max(rank.process_id for rank in profile.ranks)
    own = [_of_rank(rank, processes) for rank in profile.ranks]
    return [_mean([own[i] for i in np.flatnonzero(numbers == c).tolist()]) for c in range(count)]


def _of_rank(rank: RankProfile, processes: int) -> _Row:
    metrics = metrics_of(rank, processes)
    row: _Row = {name: {"": float(value)} for name, value in metrics.scalars.items()}
    for name, mix in metrics.mixes.items():
        row[name] = {
            f"{VECTOR_LENGTHS[i]}x{DATA_LENGTHS[j]}": float(mix[i, j])
            for i, j in zip(*np.nonzero(mix), strict=True)
        }
    row |= {name: function for name, function in metrics.functions.items() if len(function)}
    total = max(rank.mix.instructions, 1.0)
    row[COUNTS] = {
        f"{TYPES[i]}/{VECTOR_LENGTHS[j]}/{DATA_TYPES[k]}": float(rank.mix.counts[i, j, k]) / total
        for i, j, k in zip(*np.nonzero(rank.mix.counts), strict=True)
    }
    branches = 0.0 if rank.branches is None else rank.branches.executed
    row[REST] = dict(zip(_REST, (rank.footprint.lines, rank.footprint.data_bytes, branches), strict=True))
    return row


def _mean(rows: Sequence[_Row]) -> _Row | None:
    result: _Row = {}
    for name, parts, table in _together(rows):
        mean = np.asarray(sum(table)) / len(table)
        result[name] = (
            dict(zip(parts, mean.tolist(), strict=True))
            if isinstance(parts, list)
            else np.column_stack([parts, mean])
        )
    return result if rows else None


def _together(rows: Sequence[_Row]) -> Iterator[tuple[str, list[str] | Floats, Floats]]:
    """Metrics that all rows have: components, or distances of a function, and float64[rows, components]."""
    for name in rows[0] if rows else ():
        cells = [row[name] for row in rows if name in row]
        tables = [c for c in cells if isinstance(c, dict)]
        functions = [c for c in cells if not isinstance(c, dict)]
        if len(cells) < len(rows):
            continue
        if tables:
            keys = list(dict.fromkeys(k for c in tables for k in c))
            yield name, keys, np.array([[c.get(k, 0.0) for k in keys] for c in tables])
        else:
            every = np.unique(np.concatenate([f[:, 0] for f in functions]))
            yield name, every, np.stack([sampled(f, every) for f in functions])


def sampled(function: Floats, distances: Floats) -> Floats:
    """Values of a function at other distances: between two of its own by their logarithms, flat beyond."""
    return np.asarray(np.interp(np.log2(1 + distances), np.log2(1 + function[:, 0]), function[:, 1]))


def _class(name: str, number: int, scale: Floats, threads: Floats, rows: Sequence[_Row | None]) -> ClassData:
    kept = [i for i, row in enumerate(rows) if row is not None]
    own = [row for row in rows if row is not None]
    components: dict[str, Mapping[str, Floats]] = {THREADS: {"": threads[kept]}}
    for metric, parts, table in _together(own):
        names = parts if isinstance(parts, list) else [f"{d:g}" for d in parts.tolist()]
        components[metric] = dict(zip(names, table.T, strict=True))
    return ClassData(name, number, scale[kept], threads[kept], tuple(kept), components)
