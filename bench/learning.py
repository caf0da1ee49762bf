"""Learned speed-ups on simulated clusters: makes workloads/LEARNING.md.

    python -m bench.learning [--runs DIR] [--sigma 0.055] [--thorough] [-o FILE]

Run from the checkout; needs SimGrid (Debian: libsimgrid-dev). Takes some ten minutes of processor time; with
--runs the simulated runs are kept there and taken from there. The clusters and how runs are made:
learning_lab.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from bench.learning_document import Applications, Document, Singles, document
from bench.learning_lab import CLUSTERS, DEVICES, Cluster, exposed_s
from bench.learning_runs import APPLICATIONS, SIZES, Lab, calibrated, features_line, save_lines
from commanalyzer.kernels.learning.inputs import (
    TaskWeight,
    mean_speedup,
    penalised_speedup,
    printed_speedup,
    timed_speedup,
    weighted_speedup,
    weights,
)
from commanalyzer.kernels.learning.model import Kind, Target, errors_of, load_model, save_model
from commanalyzer.kernels.learning.range_benchmark import OverheadTable, measure_on_platform
from commanalyzer.kernels.learning.runs import RunTable, read_runs, runs_of
from commanalyzer.kernels.learning.training import (
    TrainingOptions,
    _defaults,
    _fit,
    _predicted,
    kernel_clusters,
    leave_kernels_out,
    rank_features,
    search,
    train,
)
from commanalyzer.kernels.tasks.mappers import RangeMapper

SIGMA = 0.055
"""Standard deviation of the logarithm of a time: the lower quartile over the series of `commanalyzer machine
measure` between two ranks (interquartile range / 1.349); other programs were running, the median of them
had 0.115."""
_MATRIX = 2048  # side of the matrix of the overheads
_TIMEOUT_S = 400.0


def main() -> None:
    """Simulate, train, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--sigma", type=float, default=SIGMA)
    parser.add_argument("--thorough", action="store_true", help="grid search, PCA, ranked features")
    parser.add_argument("-o", "--output", type=Path, default=Path("workloads/LEARNING.md"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.runs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "applications.json").exists():
            simulate(folder, options.sigma)
        found = Document(
            options.sigma,
            tuple(
                singles(folder, cluster, mode, options.thorough)
                for mode in ("moved", "in-place")
                for cluster in CLUSTERS
            ),
            tuple(applications(folder, cluster) for cluster in CLUSTERS),
        )
    options.output.write_text(document(found), encoding="utf-8")
    Console().print(f"wrote {options.output}")


def simulate(folder: Path, sigma: float) -> None:
    """Write all simulated runs."""
    lab = Lab(sigma)
    for mode in ("moved", "in-place"):
        lines = [
            line for cluster in CLUSTERS for line in lab.kernel_lines(cluster, in_place=mode == "in-place")
        ]
        save_lines(lines, folder / f"{mode}.jsonl")
    content = {cluster.name: _application_runs(lab, cluster) for cluster in CLUSTERS}
    (folder / "applications.json").write_text(json.dumps(content), encoding="utf-8")


def _application_runs(lab: Lab, cluster: Cluster) -> dict[str, object]:
    """Everything that the rules need: times, features, overheads, times of moving by the bound."""
    platform, machine = lab.platforms[cluster.name], lab.machines[cluster.name]
    assert machine.throughput is not None
    overheads = {
        p: measure_on_platform(platform, p, _MATRIX, machine.throughput.value, _TIMEOUT_S)
        for p in DEVICES
        if p > 1
    }
    times = {p: lab.application_times(cluster, p) for p in DEVICES}
    names = [k.name for k in lab.kernels.values() for _ in k.sizes]
    known = [k.at(n) for k in lab.kernels.values() for n in k.sizes]
    alone = np.array([cluster.serial_s(w.counts, w.static["coalesced"]) + cluster.launch_s for w in known])
    alone_s = lab.measured(alone)
    found = []
    for name in APPLICATIONS:
        for n in SIZES[name]:
            own = [kernel for kernel, _ in APPLICATIONS[name]]
            works = [lab.kernels[kernel].at(n) for kernel in own]
            outside = [k for k, other in enumerate(names) if other not in own]
            expected, launch = calibrated(
                [*(known[k] for k in outside), *works],
                [*(names[k] for k in outside), *(["own"] * len(works))],
                np.concatenate((alone_s[outside], np.ones(len(works)))),
            )
            exact_s = np.array([times[p][name, n] for p in DEVICES])
            flows = {p: lab.flows(name, n, p) for p in DEVICES}
            found.append(
                {
                    "name": name,
                    "n": n,
                    "measured_s": lab.measured(exact_s).tolist(),
                    "lines": [
                        features_line(kernel, w, p)
                        for kernel, w in zip(own, works, strict=True)
                        for p in DEVICES
                    ],
                    "expected_s": expected[-len(works) :].tolist(),
                    "launch_s": launch[-len(works) :].tolist(),
                    "moving_s": [
                        sum(exposed_s([m for _, m in task if m.any()], p, machine) for task in flows[p])
                        for p in DEVICES
                    ],
                    "rho": [
                        [_rho(overheads.get(p), pair, p) for task in flows[p] for pair, _ in task]
                        for p in DEVICES
                    ],
                }
            )
    return {"runs": found}


def _rho(table: OverheadTable | None, pair: tuple[RangeMapper, RangeMapper], p: int) -> float:
    return 0.0 if table is None else table.rho(*pair, p)


def singles(folder: Path, cluster: Cluster, mode: str, is_thorough: bool) -> Singles:
    """Errors on left-out kernels of all models, of physics, and of what corrects it."""
    table = read_runs(folder / f"{mode}.jsonl", cluster.name)
    raw = [json.loads(line) for line in (folder / f"{mode}.jsonl").read_text().splitlines()]
    own = [line for line in raw if line["machine"] == cluster.name]
    rows = {
        "noise alone (exact times)": errors_of(table.speedups, np.array([line["exact"] for line in own])),
        "bound, nominal throughput": errors_of(table.speedups, np.array([line["bound"] for line in own])),
        "physics: bound, rates and launch fitted": errors_of(table.speedups, table.physics),
    }
    seconds: dict[str, float] = {}
    is_full = mode == "moved"
    for kind in get_args(Kind):
        targets: tuple[Target, ...] = ("speedup", "efficiency") if is_full else ("efficiency",)
        for target in targets:
            options = TrainingOptions(kind, target)
            chosen = search(table, options) if is_thorough else None
            rows[f"{kind}, {target}"] = errors_of(table.speedups, leave_kernels_out(table, options, chosen))
            if is_thorough:
                options = TrainingOptions(kind, target, "all", 6)
                found = leave_kernels_out(table, options, search(table, options))
                rows[f"{kind}, {target}, PCA 6"] = errors_of(table.speedups, found)
    if is_full:
        options = TrainingOptions("forest", "residual")
        shrunk = search(table, options) if is_thorough else {"n_estimators": 100, "min_samples_leaf": 8}
        rows["hybrid: forest on what physics leaves"] = errors_of(
            table.speedups, leave_kernels_out(table, options, shrunk)
        )
    forest = TrainingOptions(search=is_thorough)
    start = time.process_time()
    _unseen_speedups(table, table, forest)
    seconds["training a forest"] = time.process_time() - start
    model = train(table, TrainingOptions("neighbours"), cluster.name)
    with tempfile.TemporaryDirectory() as scratch:
        save_model(model, Path(scratch) / "model.npz")
        start = time.process_time()
        model = load_model(Path(scratch) / "model.npz")
        seconds["loading a model"] = time.process_time() - start
    start = time.process_time()
    model.predict(table.where(np.arange(len(table)) < len(DEVICES)))
    seconds["predicting a curve"] = time.process_time() - start
    ablation = {
        name: errors_of(table.speedups, leave_kernels_out(table, replace(forest, features=name)))
        for name in (("static", "runtime") if is_full else ())
    }
    ablation = {"all": rows["forest, efficiency"], **ablation} if is_full else {}
    ranking, full = rank_features(table) if is_full and is_thorough else ((), 0.0)
    _, _, clusters = kernel_clusters(table)
    Console(stderr=True).print(f"{mode}, {cluster.name}: {time.process_time():.0f} s")
    return Singles(cluster.name, mode, rows, ablation, ranking, full, clusters, seconds)


def applications(folder: Path, cluster: Cluster) -> Applications:
    """Errors of the rules on applications none of whose kernels the model has seen."""
    table = read_runs(folder / "in-place.jsonl", cluster.name)
    content = json.loads((folder / "applications.json").read_text(encoding="utf-8"))[cluster.name]["runs"]
    options = TrainingOptions()
    measured: list[NDArray[np.float64]] = []
    found: dict[str, list[NDArray[np.float64]]] = {}
    for run in content:
        times = np.array(run["measured_s"])
        measured.append(times[0] / times)
        for rule, values in _by_rules(run, _task_curves(run, table, options)).items():
            found.setdefault(rule, []).append(values)
    actual = np.concatenate(measured)
    names = [(run["name"], run["n"]) for run in content]
    hybrid = _corrected(np.concatenate(found["physics"]), actual, content)
    rows = {rule: errors_of(actual, np.concatenate(values)) for rule, values in found.items()}
    rows["hybrid"] = errors_of(actual, hybrid)
    ends = {
        f"{name} {n}": (
            float(measured[k][-1]),
            *(float(found[rule][k][-1]) for rule in ("weighted", "printed", "penalty", "time")),
        )
        for k, (name, n) in enumerate(names)
    }
    return Applications(cluster.name, rows, ends)


def _unseen_speedups(table: RunTable, rows: RunTable, options: TrainingOptions) -> NDArray[np.float64]:
    """float64[N], speed-ups of ``rows`` by a model of ``table`` with default parameters."""
    return _predicted(*_fit(table, options, _defaults(options.kind)), rows, options.target)


def _task_curves(run: Mapping[str, list], table: RunTable, options: TrainingOptions) -> NDArray[np.float64]:  # type: ignore[type-arg]
    """float64[T, P], predicted by a model that has seen no kernel of the application."""
    rows = runs_of(run["lines"])
    unseen = np.isin(table.kernels, np.unique(rows.kernels))
    return _unseen_speedups(table.where(~unseen), rows, options).reshape(-1, len(DEVICES))


def _by_rules(run: Mapping[str, list], curves: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:  # type: ignore[type-arg]
    lines = run["lines"][:: len(DEVICES)]
    shares = weights([TaskWeight(line["work_items"], line["total"]) for line in lines])
    serial = np.array(run["expected_s"]) + np.array(run["launch_s"])
    moving = np.array(run["moving_s"])
    expected, launch = sum(run["expected_s"]), sum(run["launch_s"])
    devices = np.array(DEVICES)
    each = [(curves[:, [k]], run["rho"][k]) for k in range(len(DEVICES))]
    return {
        "mean": mean_speedup(curves),
        "weighted": weighted_speedup(curves, shares),
        "printed": np.concatenate([printed_speedup(c, shares, r) for c, r in each]),
        "penalty": np.concatenate([penalised_speedup(c, shares, r) for c, r in each]),
        "time": timed_speedup(curves, serial / serial.sum(), moving / serial.sum()),
        "physics": (expected + launch) / (expected / devices + moving + launch),
    }


def _corrected(
    physics: NDArray[np.float64], actual: NDArray[np.float64], content: Sequence[Mapping[str, str]]
) -> NDArray[np.float64]:
    """Physics times the median of what it was off by in the other applications, on as many devices."""
    off = np.log(actual / physics).reshape(-1, len(DEVICES))
    names = np.array([run["name"] for run in content])
    found = [np.median(off[names != name], axis=0) for name in names]
    return np.asarray(physics * np.exp(np.concatenate(found)))


if __name__ == "__main__":
    main()
