"""How models are made: one TOML file with terms, types, constraints (Section 6), or the defaults.

Constraints of trends that a model must keep beyond its data (Section 6.2.4).

A sum of terms is tried on a grid of points: where it must grow, along each line of the grid; where it must
not fall for ever, far out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import Fields, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.profiles.metrics import FUNCTIONS, MIXES, SCALARS
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
