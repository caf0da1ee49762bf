"""How models are made: one TOML file with terms, types, constraints (Section 6), or the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

import msgspec

from commanalyzer.foundation.documents import Fields, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.profiles.extrapolation.constraints import Constraints
from commanalyzer.profiles.metrics import FUNCTIONS, MIXES, SCALARS

MetricType = Literal["numeric", "vnumeric", "instrPercentage", "vinstrPercentage", "memFunction"]
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
_MPI = "MPI"
_KEYS = ("type", "model", "terms", "selection", "bounds", "constraints")


@dataclass(frozen=True, slots=True)
class MetricSetup:
    """How one metric is modelled."""

    name: str  # metric of Table 2
    # Its structure, and whether the product with the instructions is modelled (Section 6.2.1)
    type: MetricType
    model: ModelType = "weighted"  # kind of model (Section 6.2.2)
    terms: tuple[str, ...] = ()  # formulas; selected when empty
    # ``accurate`` (ten-fold, all weights), ``fast`` (BIC, or adjusted R^2 without weights), or ``largest``
    # (largest values of each parameter predicted from the others)
    selection: Selection = "accurate"
    # Predictions are moved into these (of the product, where one is modelled)
    bounds: tuple[float, float] = (0.0, float("inf"))
    constraints: Constraints = field(default_factory=Constraints)  # of trends

    @property
    def key(self) -> Fields:
        """Everything that a trained model depends on."""
        return asdict(self)


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
        return {"own": self.metric(metric).key, "terms": own, "how": [self.interactions, self.per_thread]}


def default_metric(name: str) -> MetricSetup:
    """Setup of a metric as Section 8.2 recommends: bounded metrics by products with the instructions."""
    if name in FUNCTIONS:
        return MetricSetup(name, "memFunction", "levels" if "reuse" in name else "per-bin", bounds=(0.0, 1.0))
    if name in MIXES:
        return MetricSetup(name, "vinstrPercentage")
    if name in (THREADS, SIZE):
        return MetricSetup(name, "numeric", bounds=(1.0, float("inf")))
    return MetricSetup(name, "numeric" if name.startswith(_MPI) else "instrPercentage")


def default_setup(known: Sequence[str]) -> Setup:
    """Setup for metrics that profiles know."""
    order = (THREADS, SIZE, *(n for n in (*SCALARS, *MIXES, *FUNCTIONS) if n in known and n != SIZE))
    return Setup(tuple(default_metric(name) for name in order))


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
    vector = {"numeric": "vnumeric", "instrPercentage": "vinstrPercentage"}
    kinds = {
        "memFunction": ("memFunction",),
        "vinstrPercentage": tuple(vector.values()),
    }.get(base.type, tuple(vector))
    if found.type not in kinds:
        raise ValueError(f"type {found.type} of {found.name}, which is {' or '.join(kinds)}")
    if found.type.endswith("instrPercentage") and found.model not in LINEAR:
        raise ValueError(f"model {found.model} of {found.name}: {found.type} needs weighted or linear")
    if found.type != "memFunction" and found.model in _OF_FUNCTIONS:
        raise ValueError(f"model {found.model} of {found.name}, which is no function of a distance")
