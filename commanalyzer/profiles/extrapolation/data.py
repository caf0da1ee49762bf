"""Metrics of the threads of a class in every run: profiles and classes -> one table per class.

Components of a metric are named: ``""`` for a scalar, ``1x64`` (vector length, bits) in a mix, a distance in
a function. All threads of a class in a run are one row: their mean.

How models are made: one TOML file with terms, types, constraints (Section 6), or the defaults.

Constraints of trends that a model must keep beyond its data (Section 6.2.4).

A sum of terms is tried on a grid of points: where it must grow, along each line of the grid; where it must
not fall for ever, far out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import Fields, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError, ProfileError
from commanalyzer.profiles.classification.classes import Classes
from commanalyzer.profiles.metrics import FUNCTIONS, MIXES, SCALARS, metrics_of
from commanalyzer.profiles.values import DATA_LENGTHS, DATA_TYPES, TYPES, VECTOR_LENGTHS, Profile, RankProfile
from commanalyzer.scaling.laws.law import Formula
from commanalyzer.scaling.laws.terms import Floats

_PER_LINE = 17  # points along each parameter: 16 steps up to REACH, a factor of about 2 each
REACH = 1024.0
"""How far beyond the largest value of a parameter trends are checked, as a factor."""
_FAR = (1e4, 1e6, 1e8)  # times the largest value: where a sum that falls for ever shows it
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a model must keep; ``ValueError`` if a comparison is wrong."""

    bounded_below: bool = False  # it must not fall for ever
    increasing: tuple[str, ...] = ()  # parameters that it must not fall along
    where: tuple[str, ...] = ()  # comparisons, such as ``1 < p <= n``: constraints hold where all are true

    def __post_init__(self) -> None:
        for text in self.where:
            _comparison(text)

    def __bool__(self) -> bool:
        return self.bounded_below or bool(self.increasing)


def acceptance(
    constraints: Constraints,
    names: Sequence[str],
    lowest: Floats,
    highest: Floats,
    complete: Callable[[Floats], Floats],
) -> Callable[[Formula], bool] | None:
    """Test of a sum of terms; ``None`` if there is no constraint.

    Constraints are checked from ``lowest``, float64[K], the least values of the data; ``complete`` makes
    scaling parameters float64[N, K] the parameters of formulas. Raises ``ValueError`` if a constraint names
    something that is no scaling parameter.
    """
    if not constraints:
        return None
    if wrong := [name for name in constraints.increasing if name not in names]:
        raise ValueError(f"constraint along {wrong[0]}, which is none of {', '.join(names)}")
    ends = zip(lowest, highest, strict=True)
    steps = [np.geomspace(low, high * REACH, _PER_LINE) for low, high in ends]
    grid = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1)
    flat = grid.reshape(-1, len(names))
    allowed = np.ones(len(flat), dtype=bool)
    for text in constraints.where:
        allowed &= _holds(text, names, flat)
    inside = allowed.reshape(grid.shape[:-1])
    points = complete(flat)
    far = [complete(_far_out(highest, factor)) for factor in _FAR] if constraints.bounded_below else []
    axes = [names.index(name) for name in constraints.increasing]

    def accepts(formula: Formula) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            values = formula.unbounded(points).reshape(inside.shape)
            grows = all(_grows(values, inside, axis) for axis in axes)
            return grows and (not far or _stays([formula.unbounded(x) for x in far]))

    return accepts


def _grows(values: Floats, inside: NDArray[np.bool_], axis: int) -> bool:
    first, then = (np.take(values, range(s, s + values.shape[axis] - 1), axis=axis) for s in (0, 1))
    both = np.logical_and(*(np.take(inside, range(s, s + values.shape[axis] - 1), axis=axis) for s in (0, 1)))
    return bool((then >= first - _ROUNDING * np.abs(first))[both].all())


def _far_out(highest: Floats, factor: float) -> Floats:
    """Each parameter by itself and all together, so many times the largest value."""
    alone = np.where(np.eye(len(highest), dtype=bool), factor, 1.0)
    return np.concatenate((alone, np.full((1, len(highest)), factor))) * highest


def _stays(values: Sequence[Floats]) -> bool:
    """Not negative and more so at every distance; a slightly negative limit is no fall."""
    near, mid, far = values
    return not bool(((far < 0) & (far - mid < (mid - near) * 0.5) & (mid < near)).any())


def _comparison(text: str) -> ast.Compare:
    try:
        node: object = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        node = None
    if not isinstance(node, ast.Compare) or not all(
        isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops
    ):
        raise ValueError(f"expected a comparison such as 1 < p <= n, found {text!r}")
    return node


def _holds(text: str, names: Sequence[str], points: Floats) -> NDArray[np.bool_]:
    node = _comparison(text)
    sides = [_side(side, names, points, text) for side in (node.left, *node.comparators)]
    result = np.ones(len(points), dtype=bool)
    for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
        less, strict = isinstance(op, ast.Lt | ast.LtE), isinstance(op, ast.Lt | ast.Gt)
        low, high = (left, right) if less else (right, left)
        result &= low < high if strict else low <= high
    return result


def _side(node: ast.expr, names: Sequence[str], points: Floats, text: str) -> Floats:
    if isinstance(node, ast.Name) and node.id in names:
        return points[:, names.index(node.id)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return np.full(len(points), float(node.value))
    raise ValueError(f"expected numbers and parameters ({', '.join(names)}) in {text!r}")


MetricType = Literal["numeric", "vnumeric", "instrPercentage", "vinstrPercentage", "entropy", "memFunction"]
ModelType = Literal[
    "weighted", "linear", "neighbours", "network", "forest", "levels", "per-bin", "per-bin-network"
]
Selection = Literal["accurate", "fast", "largest"]
Interactions = Literal["all", "selected", "none"]
LINEAR: tuple[ModelType, ...] = ("weighted", "linear")
LEARNED: tuple[ModelType, ...] = ("neighbours", "network", "forest")
_OF_FUNCTIONS: tuple[ModelType, ...] = ("levels", "per-bin", "per-bin-network")
THREADS = "NThreads"
SIZE = "LSys"
ENTROPY, MISPREDICTED = "H0branch", "F0bestMispredict"
BASES = {"instrPercentage": SIZE, "vinstrPercentage": SIZE, "entropy": MISPREDICTED}
"""By type, the metric that is modelled before."""
_MPI = "MPI"
_KEYS = ("type", "model", "terms", "selection", "bounds", "constraints")


@dataclass(frozen=True, slots=True)
class MetricSetup:
    """How one metric is modelled."""

    name: str  # metric of Table 2
    # Its structure, and whether the product with the instructions is modelled (Section 6.2.1); an entropy is
    # modelled as a share of the most that its rate of mispredictions allows
    type: MetricType
    model: ModelType = "weighted"  # kind of model (Section 6.2.2)
    terms: tuple[str, ...] = ()  # formulas; selected when empty
    # ``accurate`` (ten-fold, all weights), ``fast`` (BIC, or adjusted R^2 without weights), or ``largest``
    # (largest values of each parameter predicted from the others)
    selection: Selection = "accurate"
    # Predictions are moved into these (of the product, where one is modelled)
    bounds: tuple[float, float] = (0.0, float("inf"))
    constraints: Constraints = field(default_factory=Constraints)  # of trends


@dataclass(frozen=True, slots=True)
class Setup:
    """How all metrics are modelled."""

    metrics: tuple[MetricSetup, ...]  # ``NThreads`` and ``LSys`` first: others depend on them
    # Main terms per metric, as formulas; the key ``default`` for all others. The usual powers of every
    # parameter where there is none
    complexity: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Products of main terms of different parameters: of all of them, with terms that were selected before (as
    # in the manual), or none
    interactions: Interactions = "all"
    # Every term is also tried divided by the number of threads, of all and of the class
    per_thread: bool = True

    def metric(self, name: str) -> MetricSetup:
        """Setup of one metric."""
        return next(m for m in self.metrics if m.name == name)

    def key(self, metric: str) -> Fields:
        """Everything that the model of a metric depends on, except for the data."""
        own = self.complexity.get(metric, self.complexity.get("default", ()))
        return {"own": asdict(self.metric(metric)), "terms": own, "how": [self.interactions, self.per_thread]}


def default_metric(name: str) -> MetricSetup:
    """Setup of a metric as Section 8.2 recommends: bounded metrics by products with the instructions."""
    if name in FUNCTIONS:
        return MetricSetup(name, "memFunction", "levels" if "reuse" in name else "per-bin", bounds=(0.0, 1.0))
    if name in MIXES:
        return MetricSetup(name, "vinstrPercentage")
    if name in (THREADS, SIZE):
        return MetricSetup(name, "numeric", bounds=(1.0, float("inf")))
    if name == ENTROPY:
        return MetricSetup(name, "entropy", bounds=(0.0, 1.0))
    return MetricSetup(name, "numeric" if name.startswith(_MPI) else "instrPercentage")


def default_setup(known: Sequence[str]) -> Setup:
    """Setup for metrics that profiles know, each behind those that it depends on."""
    order = (THREADS, SIZE, *(n for n in (*SCALARS, *MIXES, *FUNCTIONS) if n in known and n != SIZE))
    return Setup(tuple(sorted(map(default_metric, order), key=lambda m: m.type == "entropy")))


def read_setup(path: Path, known: Sequence[str]) -> Setup:
    """Setup of a TOML file, defaults for metrics that it does not name; ``ConfigError`` if it is wrong."""
    hint = "docs: reference, extrapolation"
    with reading(path, "a setup of models", hint=hint, error=ConfigError):
        return _setup(typed(parse_toml(path.read_text(encoding="utf-8")), _SetupFile), default_setup(known))


class _SetupFile(msgspec.Struct, forbid_unknown_fields=True):
    complexity: dict[str, tuple[str, ...]] = {}
    metrics: dict[str, Fields] = {}
    interactions: Interactions = "all"
    per_thread: bool = True


def _setup(file: _SetupFile, base: Setup) -> Setup:
    names = [m.name for m in base.metrics]
    if wrong := file.metrics.keys() - set(names):
        raise ValueError(f"unknown metrics {', '.join(sorted(wrong))}; known are {', '.join(names)}")
    metrics = tuple(_metric(m, file.metrics.get(m.name, {})) for m in base.metrics)
    return Setup(metrics, file.complexity, file.interactions, file.per_thread)


def _metric(base: MetricSetup, given: Fields) -> MetricSetup:
    unknown = set(given) - set(_KEYS)
    if unknown:
        raise ValueError(f"unknown keys {', '.join(sorted(unknown))} of {base.name}")
    try:
        found = typed({**asdict(base), **given}, MetricSetup)
    except ValueError as error:
        raise ValueError(f"{error} of {base.name}") from error
    if unknown := set(given.get("constraints", {})) - {f.name for f in fields(Constraints)}:
        raise ValueError(f"unknown constraints {', '.join(sorted(unknown))}")
    _check(found, base)
    return found


def _check(found: MetricSetup, base: MetricSetup) -> None:
    kinds = ("memFunction",) if base.type == "memFunction" else ("numeric", "instrPercentage")
    if base.type.startswith("v"):
        kinds = ("vnumeric", "vinstrPercentage")
    if found.type not in (*kinds, *(("entropy",) if base.name == ENTROPY else ())):
        raise ValueError(f"type {found.type} of {found.name}, which is {' or '.join(kinds)}")
    if found.type in BASES and found.model not in LINEAR:
        raise ValueError(f"model {found.model} of {found.name}: {found.type} needs weighted or linear")
    if found.type != "memFunction" and found.model in _OF_FUNCTIONS:
        raise ValueError(f"model {found.model} of {found.name}, which is no function of a distance")


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
    if not names and len(profiles) > 1:
        raise ProfileError(
            f"expected {len(profiles)} profiles that say their scale, found no scaling parameter",
            hint="commanalyzer profile --scale n=64 -o FILE says it, in every run",
        )
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
