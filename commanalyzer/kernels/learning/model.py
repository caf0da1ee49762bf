"""A trained model: what it predicts, how sure it is, where it was trained; its file.

A file is a ZIP of plain numpy arrays (``*.npz``, read without pickles) with a header in JSON: kind, schema,
library versions, range of training, errors. Every array is checked before anything computes with it.

Errors of predicted speed-ups: the three that the paper gives, and R².
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tokenize import TokenError  # numpy, of the head of an array
from typing import Literal, get_args

import numpy as np

from commanalyzer.foundation.documents import Fields, parse_json, reading
from commanalyzer.foundation.errors import ArtifactError, FitError
from commanalyzer.foundation.files import write_atomically
from commanalyzer.foundation.version import tool_version
from commanalyzer.graph.value_graph import Array
from commanalyzer.kernels.features.kernels import FEATURES
from commanalyzer.kernels.learning.estimators import Estimator, Forest, Scaling, arrays_of, estimator_of
from commanalyzer.kernels.learning.runs import DEVICES, PHYSICS_EFFICIENCY, RunTable
from commanalyzer.scaling.laws.terms import Floats


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
