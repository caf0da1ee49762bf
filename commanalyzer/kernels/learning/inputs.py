"""What is to be predicted: kernels of a features document on some devices, and the tasks that run them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.errors import ConfigError, FitError
from commanalyzer.kernels.features.kernels import RUNTIME_FEATURES, STATIC_FEATURES
from commanalyzer.kernels.learning.range_benchmark import OverheadTable
from commanalyzer.kernels.learning.runs import DEVICES, KERNEL, RunTable, read_runs, runs_of
from commanalyzer.kernels.tasks.graph import HOST, Task, TaskGraph
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.equations import link_bandwidth
from commanalyzer.scaling.laws.terms import Floats

Rule = Literal["mean", "weighted", "printed", "penalty", "time"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, slots=True)
class TaskWeight:
    """What a task contributes: work items, and instructions of one (loop heuristic or measured)."""

    items: float
    instructions: float


def weights(tasks: Sequence[TaskWeight]) -> Floats:
    """float64[T], w of Eq. 2: items times instructions, their sum 1.

    Raises:
        ConfigError: If there is no task, or none with work.
    """
    work = np.array([task.items * task.instructions for task in tasks], dtype=np.float64)
    if not len(work) or not (work >= 0).all() or not work.sum() > 0:
        raise ConfigError("expected tasks with work items and instructions, found none")
    return np.asarray(work / work.sum())


def mean_speedup(speedups: Floats) -> Floats:
    """float64[P], Eq. 1 from float64[T, P] speed-ups of the tasks."""
    return np.asarray(speedups.mean(axis=0))


def weighted_speedup(speedups: Floats, shares: Floats) -> Floats:
    """float64[P], Eq. 2."""
    return np.asarray(shares @ speedups)


def printed_speedup(speedups: Floats, shares: Floats, overheads: Sequence[float]) -> Floats:
    """float64[P], Eq. 3 as printed, with the overheads rho of the dependencies (Eq. 2 without any)."""
    return _largest(overheads, 1.0) * weighted_speedup(speedups, shares)


def penalised_speedup(speedups: Floats, shares: Floats, overheads: Sequence[float]) -> Floats:
    """float64[P], Eq. 3 with the factor 1 - rho; Eq. 2 where nothing moves."""
    return (1.0 - _largest(overheads, 0.0)) * weighted_speedup(speedups, shares)


def timed_speedup(speedups: Floats, shares: Floats, moving: Floats) -> Floats:
    """float64[P], 1 / (sum of w_i / s_i + what moving data takes).

    Args:
        speedups: float64[T, P], of the tasks without data movement.
        shares: float64[T], of the serial time.
        moving: float64[P], time of data movement over the serial time, from the latency-aware bound.
    """
    return np.asarray(1.0 / ((shares[:, None] / speedups).sum(axis=0) + moving))


def _largest(overheads: Sequence[float], otherwise: float) -> float:
    wrong = [rho for rho in overheads if not 0 <= rho <= 1]
    if wrong:
        raise ConfigError(f"expected communication overheads in [0, 1], found {wrong[0]:g}")
    return max(overheads, default=otherwise)


_FEATURES = "commanalyzer.features/1"
# They grow with the work items when a larger problem is asked for.
_GROWING = ("work_items", "problem_size")


def read_inputs(
    path: Path, devices: Sequence[int], items: float = 0.0, names: Sequence[str] = ()
) -> RunTable:
    """Runs to predict: of a table (CSV, JSON Lines), or of a features document on ``devices``.

    Args:
        path: ``*.csv``, ``*.jsonl`` or the JSON document of ``features``.
        devices: Numbers of devices, for a features document.
        items: Work items of the largest kernel of a larger problem, whose buffers have as many bytes per
            item; 0 for the run's own.
        names: Kernels of a features document, with or without line; all if empty.

    Raises:
        ArtifactError: If the file is none of these.
        FitError: If numbers are missing: a kernel that did not run, no kernel at all.
    """
    if path.suffix in (".csv", ".jsonl"):
        return read_runs(path)
    every = _kernels(path)
    kernels = [(k, k.runtime) for k in every if k.runtime and (not names or _is_one_of(k.name, names))]
    unknown = [n for n in names if not any(_is_one_of(k.name, (n,)) for k in every)]
    if unknown:
        known = ", ".join(k.name for k in every) or "none"
        raise ConfigError(f"expected a kernel of {known}, found {unknown[0]!r}", where=str(path))
    if not kernels:
        raise FitError(
            "expected kernels with run-time features, found none: a program without loops has no kernel, and "
            "one that did not run has no sizes",
            where=str(path),
            hint="commanalyzer features SOURCES --run --json FILE",
        )
    largest = max(runtime["work_items"] for _, runtime in kernels)
    factor = items / largest if items else 1.0
    lines = [
        {KERNEL: k.name, **k.static, **_grown(runtime, factor), DEVICES: p}
        for k, runtime in kernels
        for p in devices
    ]
    return runs_of(lines, str(path))


def _is_one_of(name: str, names: Sequence[str]) -> bool:
    return name in names or name.partition(":")[0] in names


class _Kernel(msgspec.Struct):
    name: str
    static: dict[str, float]
    runtime: dict[str, float] | None


def _kernels(path: Path) -> list[_Kernel]:
    hint = "commanalyzer features SOURCES --run --json FILE"
    with reading(path, "features (JSON) or a table of runs (*.csv, *.jsonl)", hint=hint):
        content = parse_json(path.read_text(encoding="utf-8"), is_finite=True, schema=_FEATURES)
        kernels = typed(content["kernels"], list[_Kernel])
        for k in kernels:
            _ = [k.static[f] for f in STATIC_FEATURES]
            _ = [k.runtime[f] for f in RUNTIME_FEATURES if f != DEVICES and k.runtime]
        return kernels


def _grown(runtime: dict[str, float], factor: float) -> dict[str, float]:
    return {name: value * (factor if name in _GROWING else 1.0) for name, value in runtime.items()}


@dataclass(frozen=True, slots=True)
class Application:
    """Speed-up of an application by several rules.

    Attributes:
        devices: Numbers of devices.
        tasks: Kernels of its tasks in order.
        shares: float64[T], weights of Eq. 2.
        speedups: float64[P] by rule; rules that need what is not known are missing.
        overheads: Largest rho of the dependencies, float64[P]; ``None`` without a table.
    """

    devices: tuple[int, ...]
    tasks: tuple[str, ...]
    shares: Floats
    speedups: dict[Rule, Floats]
    overheads: Floats | None


def predict_application(
    graph: TaskGraph,
    runs: RunTable,
    speedups: Floats,
    overheads: OverheadTable | None = None,
    machine: MachineParameters | None = None,
    names: Sequence[str] = (),
) -> Application:
    """Speed-up of the application of a task graph from those of its kernels.

    ``speedups``: float64[N], of ``runs``; ``overheads``: for Eq. 3; ``machine``: for the rule ``time``.
    ``names``: only tasks of these kernels and what flows between them; all if empty.

    Raises:
        ConfigError: If a task has no kernel among the runs, a pair no overhead, or no task is of the kernels.
    """
    graph = _without_others(graph, names)
    devices = tuple(sorted({int(p) for p in runs.of(DEVICES)}))
    tasks = [t for t in graph.tasks if t.kernel != HOST]
    table = np.stack([_curve(task, runs, speedups, devices) for task in tasks])
    first = [int(np.argmax(_matching(task, runs))) for task in tasks]
    work = zip(runs.of("work_items")[first].tolist(), runs.of("total")[first].tolist(), strict=True)
    shares = weights([TaskWeight(items, instructions) for items, instructions in work])
    found: dict[Rule, Floats] = {"mean": mean_speedup(table), "weighted": weighted_speedup(table, shares)}
    largest = None
    if overheads is not None:
        pairs = [
            (e.write, e.read)
            for e in graph.edges
            if e.write is not None and e.read is not None and e.source != e.sink
            and HOST not in (graph.tasks[e.source].kernel, graph.tasks[e.sink].kernel)
        ]  # fmt: skip
        rhos = [[overheads.rho(write, read, p) for write, read in pairs] for p in devices]
        largest = np.array([max(row, default=0.0) for row in rhos])
        columns = [(table[:, [k]], rhos[k]) for k in range(len(devices))]
        found["printed"] = np.concatenate([printed_speedup(t, shares, r) for t, r in columns])
        found["penalty"] = np.concatenate([penalised_speedup(t, shares, r) for t, r in columns])
    if machine is not None:
        executed = np.array([float(t.instructions) for t in tasks])
        moving = np.array([_moving(graph, p, machine, executed.sum()) for p in devices])
        found["time"] = timed_speedup(table, executed / executed.sum(), moving)
    ordered = {rule: found[rule] for rule in RULES if rule in found}
    return Application(devices, tuple(t.name for t in tasks), shares, ordered, largest)


def _without_others(graph: TaskGraph, names: Sequence[str]) -> TaskGraph:
    """The graph whose other tasks are the host's: it does them before, between and after kernels."""
    if not names:
        return graph
    own = {name.partition(":")[0] for name in names}
    is_own = [t.name in own or _is_one_of(t.name, names) for t in graph.tasks]
    tasks = tuple(t if k else replace(t, kernel=HOST) for t, k in zip(graph.tasks, is_own, strict=True))
    if all(t.kernel == HOST for t in tasks):
        known = ", ".join(k.name for k in graph.kernels) or "none"
        raise ConfigError(f"expected tasks of {', '.join(names)}, found those of {known}", where="--kernel")
    moved = [e for e in graph.edges if HOST not in (tasks[e.source].kernel, tasks[e.sink].kernel)]
    return replace(graph, tasks=tasks, edges=tuple(moved))


def _matching(task: Task, runs: RunTable) -> NDArray[np.bool_]:
    """Runs of a task's kernel; features call it by function and line."""
    name = task.name.partition(":")[0]
    found = np.array([k in (task.name, name) or k.partition(":")[0] == name for k in runs.kernels.tolist()])
    if not found.any():
        known = ", ".join(sorted(set(runs.kernels.tolist())))
        raise ConfigError(
            f"expected features of the kernel {task.name}, found those of {known}", where=runs.source
        )
    return found


def _curve(task: Task, runs: RunTable, speedups: Floats, devices: Sequence[int]) -> Floats:
    own = _matching(task, runs)
    by_devices = dict(zip(runs.of(DEVICES)[own].astype(int).tolist(), speedups[own].tolist(), strict=True))
    missing = [p for p in devices if p not in by_devices]
    if missing:
        raise ConfigError(f"expected runs of {task.name} on {missing[0]} devices, found none")
    return np.array([by_devices[p] for p in devices])


def _moving(graph: TaskGraph, p: int, machine: MachineParameters, instructions: float) -> float:
    """Time of all movement over the serial time: S / (p B) and a latency per flow that moves."""
    if p == 1:
        return 0.0
    if p not in graph.nodes:
        raise ConfigError(
            f"expected the bytes that move between {p} nodes, found those for {list(graph.nodes)}",
            hint="commanalyzer tasks SOURCES --nodes 2,4,8 --json FILE",
        )
    bandwidth = link_bandwidth(machine)
    if bandwidth is None or machine.throughput is None:
        raise ConfigError("expected a machine with bandwidth and throughput", where=machine.name)
    k = graph.nodes.index(p)
    latency_s = machine.latency.value if machine.latency is not None else 0.0
    flows = len({(e.sink, e.buffer) for e in graph.edges if e.moved_bytes[k]})
    moved_s = graph.moved_bytes()[k] / (p * bandwidth) + flows * latency_s
    return float(moved_s * machine.throughput.value / instructions)
