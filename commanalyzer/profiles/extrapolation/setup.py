"""How models are made: one TOML file with terms, types, constraints (Section 6), or the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from commanalyzer.foundation.documents import number, parse_toml
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
    """How one metric is modelled.

    Attributes:
        name: Metric of Table 2.
        type: Its structure, and whether the product with the instructions is modelled (Section 6.2.1).
        model: Kind of model (Section 6.2.2).
        terms: Formulas; selected when empty.
        selection: ``accurate`` (ten-fold, all weights), ``fast`` (BIC, or adjusted R^2 without weights), or
            ``largest`` (largest values of each parameter predicted from the others).
        bounds: Predictions are moved into these (of the product, where one is modelled).
        constraints: Of trends.
    """

    name: str
    type: MetricType
    model: ModelType = "weighted"
    terms: tuple[str, ...] = ()
    selection: Selection = "accurate"
    bounds: tuple[float, float] = (0.0, float("inf"))
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def key(self) -> dict[str, Any]:
        """Everything that a trained model depends on."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Setup:
    """How all metrics are modelled.

    Attributes:
        metrics: ``NThreads`` and ``LSys`` first: others depend on them.
        complexity: Main terms per metric, as formulas; the key ``default`` for all others. The usual powers
            of every parameter where there is none.
        interactions: Products of main terms of different parameters: of all of them, with terms that were
            selected before (as in the manual), or none.
        per_thread: Every term is also tried divided by the number of threads, of all and of the class.
    """

    metrics: tuple[MetricSetup, ...]
    complexity: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interactions: Interactions = "all"
    per_thread: bool = True

    def metric(self, name: str) -> MetricSetup:
        """Setup of one metric."""
        return next(m for m in self.metrics if m.name == name)

    def key(self, metric: str) -> dict[str, Any]:
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
    """Setup of a TOML file; metrics that it does not name get the defaults.

    Raises:
        ConfigError: If it cannot be read, or something is not as expected.
    """
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the setup cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise ConfigError(f"expected TOML, found: {error}", where=str(path)) from error
    try:
        return _setup(content, default_setup(known))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(
            f"expected a setup of models, found: {reason}",
            where=str(path),
            hint="docs: reference, extrapolation",
        ) from error


def _setup(content: dict[str, Any], base: Setup) -> Setup:
    unknown = set(content) - {"complexity", "metrics", "interactions", "per_thread"}
    if unknown:
        raise ValueError(f"unknown keys {', '.join(sorted(unknown))}")
    names = [m.name for m in base.metrics]
    given = content.get("metrics", {})
    wrong = set(given) - set(names)
    if wrong:
        raise ValueError(f"unknown metrics {', '.join(sorted(wrong))}; known are {', '.join(names)}")
    interactions = content.get("interactions", base.interactions)
    if interactions not in get_args(Interactions):
        raise ValueError(f"interactions = {interactions!r}, which is none of all, selected and none")
    return Setup(
        tuple(_metric(m, given.get(m.name, {})) for m in base.metrics),
        {str(k): _texts(v) for k, v in content.get("complexity", {}).items()},
        cast(Interactions, interactions),
        bool(content.get("per_thread", True)),
    )


def _metric(base: MetricSetup, given: Mapping[str, Any]) -> MetricSetup:
    unknown = set(given) - set(_KEYS)
    if unknown:
        raise ValueError(f"unknown keys {', '.join(sorted(unknown))} of {base.name}")
    found = replace(
        base,
        type=_one_of(given.get("type", base.type), get_args(MetricType), f"type of {base.name}"),
        model=_one_of(given.get("model", base.model), get_args(ModelType), f"model of {base.name}"),
        terms=_texts(given.get("terms", [])),
        selection=_one_of(given.get("selection", base.selection), get_args(Selection), "selection"),
    )
    if "bounds" in given:
        low, high = given["bounds"]
        found = replace(found, bounds=(number(low), number(high)))
    if "constraints" in given:
        found = replace(found, constraints=Constraints.of(given["constraints"]))
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


def _one_of(value: object, choices: Sequence[str], what: str) -> Any:
    if value not in choices:
        raise ValueError(f"{what} = {value!r}, which is none of {', '.join(choices)}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"expected a list of formulas, found {value!r}")
    return tuple(value)
