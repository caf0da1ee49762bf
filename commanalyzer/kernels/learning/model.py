"""A trained model: what it predicts, how sure it is, where it was trained; its file.

A file is a ZIP of plain numpy arrays (``*.npz``, read without pickles) with a header in JSON: kind, schema,
library versions, range of training, errors. Every array is checked before anything computes with it.

Errors of predicted speed-ups: the three that the paper gives, and R².

Trained models as plain arrays: random forest, nearest neighbours, support vectors.

They predict by numpy alone what scikit-learn's estimators predict, and can be saved and checked as numbers.

From features to the inputs of a model: Table 1's normalisation, and principal components if wanted.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tokenize import TokenError  # numpy, of the head of an array
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from commanalyzer.foundation.documents import Fields, parse_json, reading
from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.version import tool_version
from commanalyzer.graph.value_graph import Array
from commanalyzer.kernels.features.kernels import FEATURES, SCALES
from commanalyzer.kernels.learning.runs import DEVICES, PHYSICS_EFFICIENCY, RunTable
from commanalyzer.scaling.laws.terms import Floats


@dataclass(frozen=True, slots=True)
class Scaling:
    """What was seen in training, and how it becomes an input."""

    features: tuple[str, ...]  # names of the features that are used
    low: Floats  # [K], smallest value of each in training
    high: Floats  # [K], largest
    mean: Floats  # [K], mean of the normalised features; empty without principal components
    components: Floats  # [C, K], directions of the principal components; empty without

    def inputs(self, runs: RunTable) -> Floats:
        """float64[N, K or C], inputs of a model.

        Beyond the range of training the normalised values leave [0, 1].
        """
        scaled = _scaled(_own(runs, self.features), self.features, self.low, self.high)
        return (scaled - self.mean) @ self.components.T if len(self.components) else scaled

    def outside(self, runs: RunTable) -> list[tuple[str, ...]]:
        """Per run its features that lie outside the range of training, with both in words."""
        return [self._outside(row) for row in _own(runs, self.features)]

    def _outside(self, values: Floats) -> tuple[str, ...]:
        slack = 1e-9 * np.maximum(np.abs(self.low), np.abs(self.high))
        is_out = (values < self.low - slack) | (values > self.high + slack)
        rows = zip(self.features, values, self.low, self.high, is_out, strict=True)
        return tuple(f"{n} {v:.4g} (trained {lo:.4g} to {hi:.4g})" for n, v, lo, hi, out in rows if out)


def fit_scaling(runs: RunTable, names: Sequence[str], components: int = 0) -> Scaling:
    """Scaling of the features ``names`` in training; without ``components`` they are inputs themselves."""
    own = _own(runs, names)
    low, high = own.min(axis=0), own.max(axis=0)
    none = np.zeros(0)
    if not components:
        return Scaling(tuple(names), low, high, none, none.reshape(0, 0))
    scaled = _scaled(own, names, low, high)
    mean = scaled.mean(axis=0)
    # Rows of V^T by falling singular value: the principal axes of the centred matrix.
    _, _, axes = np.linalg.svd(scaled - mean, full_matrices=False)
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])  # SVD leaves them open
    return Scaling(tuple(names), low, high, mean, (axes * signs[:, None])[:components])


def _own(runs: RunTable, names: Sequence[str]) -> Floats:
    return np.stack([runs.of(name) for name in names], axis=1)


def _scaled(values: Floats, names: Sequence[str], low: Floats, high: Floats) -> Floats:
    found = np.empty_like(values)
    for column, name in enumerate(names):
        x, first, last = values[:, column], float(low[column]), float(high[column])
        if SCALES.get(name, "min-max") == "ratio":
            found[:, column] = x
            continue
        if SCALES.get(name) == "log":
            x, first, last = _log(x), float(_log(low[column])), float(_log(high[column]))
        found[:, column] = (x - first) / (last - first) if last > first else x - first
    return found


def _log(values: Floats) -> Floats:
    return np.asarray(np.log2(np.maximum(values, 1.0)))


Kind = Literal["forest", "neighbours", "svr"]
_LEAF = -1


@dataclass(frozen=True, slots=True)
class Forest:
    """Regression trees whose nodes stand one after another; the prediction is the mean of the trees."""

    kind: ClassVar[Kind] = "forest"
    roots: Array  # int64[T], root of each tree
    left: Array  # int64[M], node where the feature is at most the threshold; -1 in a leaf
    right: Array  # int64[M], node where it is larger; -1 in a leaf
    feature: Array  # int64[M], input that is compared; 0 in a leaf
    threshold: Floats  # [M]
    value: Floats  # [M], mean of the training targets there

    def trees(self, inputs: Floats) -> Floats:
        """float64[N, T], prediction of each tree."""
        # scikit-learn compares inputs of single precision with thresholds of double precision
        x = inputs.astype(np.float32)
        rows = np.arange(len(x))[:, None]
        node = np.broadcast_to(self.roots, (len(x), len(self.roots)))
        while (inner := self.left[node] != _LEAF).any():
            goes_left = x[rows, self.feature[node]] <= self.threshold[node]
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)
        return np.asarray(self.value[node])

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        return np.asarray(self.trees(inputs).mean(axis=1))

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless every walk through a tree stays in it and ends."""
        nodes = len(self.left)
        if not all(len(a) == nodes for a in (self.right, self.feature, self.threshold, self.value)):
            raise ValueError("nodes of different numbers")
        inner = self.left != _LEAF
        number = np.arange(nodes)
        for child in (self.left, self.right):
            if not ((child > number) & (child < nodes))[inner].all():
                raise ValueError("a child that is not behind its node")
        if not len(self.roots) or not ((self.roots >= 0) & (self.roots < nodes)).all():
            raise ValueError("a root that is no node")
        if not ((self.feature >= 0) & (self.feature < num_inputs)).all():
            raise ValueError("an input that does not exist")


@dataclass(frozen=True, slots=True)
class NearestNeighbours:
    """The mean of the nearest runs, all alike or by inverse distance."""

    kind: ClassVar[Kind] = "neighbours"
    points: Floats  # [N, K], inputs of the training runs
    values: Floats  # [N], their targets
    count: Array  # int64[1], neighbours that count
    by_distance: Array  # int64[1], 1 if nearer ones count for more

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        apart = np.sqrt(((inputs[:, None, :] - self.points[None, :, :]) ** 2).sum(axis=2))
        near = np.argsort(apart, axis=1, kind="stable")[:, : int(self.count[0])]
        values = self.values[near]
        if not self.by_distance[0]:
            return np.asarray(values.mean(axis=1))
        distance = np.take_along_axis(apart, near, axis=1)
        is_same = distance == 0
        with np.errstate(divide="ignore"):
            weights = np.where(is_same.any(axis=1, keepdims=True), is_same, 1.0 / distance)
        return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless points, values and the number of neighbours fit."""
        if self.points.ndim != 2 or self.points.shape != (len(self.values), num_inputs):
            raise ValueError("points and values that do not fit")
        if len(self.count) != 1 or len(self.by_distance) != 1 or not 1 <= self.count[0] <= len(self.values):
            raise ValueError("a number of neighbours that does not fit")


@dataclass(frozen=True, slots=True)
class SupportVectors:
    """Support vector regression with radial basis functions."""

    kind: ClassVar[Kind] = "svr"
    points: Floats  # [S, K], support vectors
    weights: Floats  # [S]
    intercept: Floats  # [1]
    gamma: Floats  # [1], exp(-gamma |x - y|^2)

    def predict(self, inputs: Floats) -> Floats:
        """float64[N]."""
        apart = ((inputs[:, None, :] - self.points[None, :, :]) ** 2).sum(axis=2)
        return np.asarray(np.exp(-self.gamma[0] * apart) @ self.weights + self.intercept[0])

    def check(self, num_inputs: int) -> None:
        """Raise ValueError unless the arrays fit."""
        if self.points.ndim != 2 or self.points.shape != (len(self.weights), num_inputs):
            raise ValueError("support vectors and weights that do not fit")
        if len(self.intercept) != 1 or len(self.gamma) != 1:
            raise ValueError("an intercept or width that is no number")


Estimator: TypeAlias = Forest | NearestNeighbours | SupportVectors
ESTIMATORS: Mapping[str, type[Estimator]] = {
    cls.kind: cls for cls in (Forest, NearestNeighbours, SupportVectors)
}
_INTEGERS = frozenset(("roots", "left", "right", "feature", "count", "by_distance"))


def arrays_of(estimator: Estimator) -> dict[str, Array]:
    """Arrays of an estimator by name."""
    return {field.name: getattr(estimator, field.name) for field in fields(estimator)}


def estimator_of(kind: str, arrays: Mapping[str, Array], num_inputs: int) -> Estimator:
    """Estimator from its arrays; ``ValueError`` if one is missing, of another type or size, or not finite."""
    if kind not in ESTIMATORS:
        raise ValueError(f"a model of kind {kind!r}")
    cls = ESTIMATORS[kind]
    found = {}
    for own in fields(cls):
        array = arrays.get(own.name)
        wanted = np.int64 if own.name in _INTEGERS else np.float64
        if array is None or array.dtype != wanted or not np.isfinite(array).all():
            raise ValueError(f"an array {own.name} that is missing or damaged")
        if array.ndim != (2 if own.name == "points" else 1):
            raise ValueError(f"an array {own.name} of {array.ndim} dimensions")
        found[own.name] = array
    estimator = cls(**found)
    estimator.check(num_inputs)
    return estimator


@dataclass(frozen=True, slots=True)
class SpeedupErrors:
    """Errors of predictions."""

    mse: float  # mean of (predicted - measured)²
    msle: float  # mean of (ln(1 + predicted) - ln(1 + measured))²
    mape: float  # mean of |predicted - measured| / measured, percent
    r2: float  # 1 - squared error over the variance of what was measured
    count: int  # predictions


def errors_of(measured: Floats, predicted: Floats) -> SpeedupErrors:
    """Errors of float64[N] ``predicted`` speed-ups; both are positive.

    A negative prediction (support vectors on plain speed-ups can give one) has the logarithmic error of 0.
    """
    apart = predicted - measured
    variance = float(((measured - measured.mean()) ** 2).mean())
    mse = float((apart**2).mean())
    return SpeedupErrors(
        mse=mse,
        msle=float(((np.log1p(np.maximum(predicted, 0.0)) - np.log1p(measured)) ** 2).mean()),
        mape=float(100.0 * (np.abs(apart) / measured).mean()),
        r2=1.0 - mse / variance if variance else float("nan"),
        count=len(measured),
    )


KIND = "commanalyzer.speedup-model"
SCHEMA = 1
Target = Literal["speedup", "efficiency", "residual"]
TARGETS: tuple[Target, ...] = get_args(Target)
_LEAST_SPEEDUP = 0.01  # what regressions below it, or below 0, mean: no use at all
_MOST_BYTES = 1 << 28  # unpacked; a forest of 100 trees on 10,000 runs has some 10^7
_HEADER = "header"
_SCALING = ("low", "high", "mean", "components")
_SPREAD = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted speed-ups of runs."""

    runs: RunTable
    speedups: Floats  # [N]
    low: Floats  # [N], lower end of what 90 % of the left-out runs of training were in
    high: Floats  # [N], upper end
    tree_low: Floats  # [N], 5 % of the trees are below; NaN for other models
    tree_high: Floats  # [N], 5 % are above
    outside: tuple[tuple[str, ...], ...]  # per run the features beyond the range of training


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model of speed-ups.

    Attributes:
        estimator: Its arrays.
        scaling: From features to inputs, with the range of training.
        target: What it learned.
        parameters: Of the model.
        kernels: That it has seen.
        num_runs: Runs that it has seen.
        left_out: Errors on runs of kernels that were left out of training.
        log_error: Quantiles (5 and 95 %) of ln(measured / predicted) on these.
        machine: Where the runs were made.
        versions: Of the libraries that trained it.
    """

    estimator: Estimator
    scaling: Scaling
    target: Target
    parameters: Fields
    kernels: tuple[str, ...]
    num_runs: int
    left_out: SpeedupErrors
    log_error: tuple[float, float]
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def predict(self, runs: RunTable) -> Prediction:
        """Speed-ups of runs, which need none themselves.

        Raises:
            FitError: If the model needs the speed-up by physics and a run has none.
        """
        if self.target == "residual" and np.isnan(runs.physics).any():
            raise FitError(
                "expected the speed-up by physics of every run, found none: the model corrects it",
                where=runs.source,
                hint="give a column physics, or train a model of the efficiency",
            )
        inputs = self.scaling.inputs(runs)
        speedups = restored(self.estimator.predict(inputs), runs, self.target)
        tree_low = tree_high = np.full(len(runs), np.nan)
        if isinstance(self.estimator, Forest):
            ends = np.quantile(self.estimator.trees(inputs), _SPREAD, axis=1)
            tree_low, tree_high = (restored(end, runs, self.target) for end in ends)
        low, high = self.log_error
        return Prediction(
            runs,
            speedups,
            speedups * np.exp(min(low, 0.0)),
            speedups * np.exp(max(high, 0.0)),
            tree_low,
            tree_high,
            tuple(self.scaling.outside(runs)),
        )


def references(runs: RunTable, target: Target) -> Floats:
    """float64[N], what the speed-up is related to."""
    return runs.physics if target == "residual" else runs.of(DEVICES)


def restored(raw: Floats, runs: RunTable, target: Target) -> Floats:
    """float64[N], speed-ups from what a model says."""
    found = raw if target == "speedup" else np.exp(np.clip(raw, -50.0, 50.0)) * references(runs, target)
    return np.asarray(np.maximum(found, _LEAST_SPEEDUP))


def save_model(model: TrainedModel, path: Path, *, force: bool = False) -> None:
    """Write a model, completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    arrays = {f"estimator/{name}": array for name, array in arrays_of(model.estimator).items()}
    arrays |= {f"scaling/{name}": getattr(model.scaling, name) for name in _SCALING}
    header = {
        "kind": KIND,
        "schema": SCHEMA,
        "estimator": model.estimator.kind,
        "target": model.target,
        "features": list(model.scaling.features),
        "parameters": dict(model.parameters),
        "kernels": list(model.kernels),
        "runs": model.num_runs,
        "left_out": asdict(model.left_out),
        "log_error": list(model.log_error),
        "machine": model.machine,
        "versions": {**model.versions, "commanalyzer": tool_version()},
        "digest": _digest(arrays),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **{_HEADER: text}, **arrays)
    write_atomically(path, lambda draft: draft.write_bytes(stream.getvalue()), force=force)


def load_model(path: Path) -> TrainedModel:
    """Model saved in ``path``; nothing in the file is executed.

    Raises:
        ArtifactError: If it is missing, of another kind or newer schema, or damaged.
    """
    hint = "commanalyzer learn TABLE -o MODEL writes one"
    with reading(path, "a saved model of speed-ups", hint=hint):
        arrays = _arrays(path)
        header = parse_json(arrays.pop(_HEADER).tobytes(), is_finite=True)
        if not isinstance(header, dict) or header.get("kind") != KIND:
            raise ValueError("another kind of file")
        if header.get("schema") != SCHEMA:
            raise ArtifactError(
                f"expected a model of schema {SCHEMA}, found {header.get('schema')!r}",
                where=str(path),
                hint="train it again with this version",
            )
        if header.get("digest") != _digest(arrays):
            raise ValueError("arrays that were changed")
        return _model(header, arrays)


def _arrays(path: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES} bytes of arrays")
            if damaged := archive.testzip():
                raise ValueError(f"a damaged {damaged}")
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (zipfile.BadZipFile, zlib.error, RuntimeError, TokenError) as error:  # RuntimeError: encrypted
        raise ValueError(str(error)) from error


def _model(header: Fields, arrays: Mapping[str, Array]) -> TrainedModel:
    names = tuple(map(str, header["features"]))
    if not names or not set(names) <= {*FEATURES, PHYSICS_EFFICIENCY} or header["target"] not in TARGETS:
        raise ValueError("features or a target that are not known")
    low, high, mean, components = (arrays[f"scaling/{name}"] for name in _SCALING)
    widths = {len(low), len(high), *([len(mean), components.shape[-1]] if len(components) else [])}
    is_number = all(a.dtype == np.float64 and np.isfinite(a).all() for a in (low, high, mean, components))
    if not is_number or widths != {len(names)} or components.ndim != 2:
        raise ValueError("a scaling that does not fit")
    own = {name.removeprefix("estimator/"): a for name, a in arrays.items() if name.startswith("estimator/")}
    first, last = map(float, header["log_error"])
    return TrainedModel(
        estimator=estimator_of(str(header["estimator"]), own, len(components) or len(names)),
        scaling=Scaling(names, low, high, mean, components),
        target=header["target"],
        parameters=dict(header["parameters"]),
        kernels=tuple(map(str, header["kernels"])),
        num_runs=int(header["runs"]),
        left_out=SpeedupErrors(**header["left_out"]),
        log_error=(first, last),
        machine=str(header["machine"]),
        versions=dict(header["versions"]),
    )


def _digest(arrays: Mapping[str, Array]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()
