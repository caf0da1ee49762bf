"""Writes workloads/LEARNING.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commanalyzer.kernels.learning.model import SpeedupErrors
from commanalyzer.kernels.learning.training import RankedFeature

_INTRODUCTION = """# Learned speed-ups on simulated clusters

Made by `python -m bench.learning`. The 30 kernels and 8 applications of [tasks](tasks/README.md) on 1
to 64 devices in two sizes, on two clusters that SimGrid simulates: a fat tree of nodes with processors, and
a dragonfly of faster nodes with four devices each that share a link. Messages are exact (per pair of nodes,
from the range mappers), their contention is simulated, computing takes a time per kind of instruction. Times
are medians of 5 runs with noise: standard deviation {sigma} of the logarithm, as measured between two ranks.
Every kernel is predicted by models that have seen no run of it, every application by models that have seen
none of its kernels. All errors are of speed-ups; MAPE is in percent.

The paper's numbers (real clusters, 14 runs per kernel): random forest MSE 11.40, MSLE 0.17, MAPE 4.76;
nearest neighbours 12.40, 0.21, 4.01; SVR 25.30, 1.11, 36.34; static features alone 8.5, run-time features
alone 39.1; applications 0.91 by Eq. 2, 0.82 by Eq. 3. Its MAPE does not say whether it is in percent. MSLE
0.17 is a typical error of exp(sqrt(0.17)) - 1 = 51 %, which hardly goes with 4.76 % on average, and does
with a fraction where some curves are small; 0.82 % for whole applications would be less than the scatter of
their runs. So a row here is better compared by MSE and MSLE.
"""


@dataclass(frozen=True, slots=True)
class Singles:
    """Kernels alone on one cluster."""

    cluster: str
    mode: str
    rows: Mapping[str, SpeedupErrors]
    ablation: Mapping[str, SpeedupErrors]
    ranking: tuple[RankedFeature, ...]
    full_score: float
    clusters: tuple[tuple[str, ...], ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Applications:
    """Applications on one cluster."""

    cluster: str
    rows: Mapping[str, SpeedupErrors]
    ends: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Document:
    """Everything that is shown."""

    sigma: float
    singles: tuple[Singles, ...]
    applications: tuple[Applications, ...]


_MODES = {
    "moved": "Kernels whose buffers lie in blocks of rows: what a node reads beside is sent",
    "in-place": "Kernels whose data are in place, as in the paper's single-task runs",
}
_RULES = {
    "mean": "Eq. 1",
    "weighted": "Eq. 2",
    "printed": "Eq. 3 as printed",
    "penalty": "Eq. 3 with 1 - rho",
    "time": "learned kernels, times and bytes in the bound",
    "physics": "physics alone",
    "hybrid": "hybrid: physics times its median miss in other applications",
}


def document(found: Document) -> str:
    """The page."""
    lines = [_INTRODUCTION.format(sigma=found.sigma)]
    for mode, title in _MODES.items():
        lines += [f"## {title}", ""]
        for item in (s for s in found.singles if s.mode == mode):
            lines += _singles(item)
    lines += [
        "## Applications of several tasks",
        "",
        "Kernels by the forest trained on runs with data in place; rho from the benchmark of range mappers",
        "on the same network.",
        "",
    ]
    for application in found.applications:
        lines += _applications(application)
    return "\n".join(lines) + "\n"


def _errors(
    title: str, rows: Mapping[str, SpeedupErrors], names: Mapping[str, str] | None = None
) -> list[str]:
    lines = [f"| {title} | MSE | MSLE | MAPE % | R2 |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {(names or {}).get(name, name)} | {e.mse:.2f} | {e.msle:.4f} | {e.mape:.2f} | {e.r2:.3f} |"
        for name, e in rows.items()
    ]
    return [*lines, ""]


def _singles(item: Singles) -> list[str]:
    lines = [f"### {item.cluster}", "", *_errors("model", item.rows)]
    if item.ablation:
        lines += _errors("forest that sees these features (efficiency, no search)", item.ablation)
    if item.ranking:
        lines += ["| rank | feature by greedy selection | R2 with those before |", "| ---: | --- | ---: |"]
        lines += [f"| {k} | {r.name} | {r.score:.4f} |" for k, r in enumerate(item.ranking, 1)]
        lines += [f"| | all features | {item.full_score:.4f} |", ""]
    if item.ablation:
        lines += ["Alike by static features: " + "; ".join(", ".join(c) for c in item.clusters) + ".", ""]
    times = ", ".join(f"{name} {s:.3f} s" for name, s in item.seconds.items())
    return [*lines, f"Processor time: {times}.", ""]


def _applications(item: Applications) -> list[str]:
    lines = [f"### {item.cluster}", "", *_errors("rule", item.rows, _RULES)]
    lines += ["| on 64 devices | measured | Eq. 2 | Eq. 3 printed | Eq. 3, 1 - rho | times and bytes |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {name} | " + " | ".join(f"{v:.2f}" for v in values) + " |" for name, values in item.ends.items()
    ]
    return [*lines, ""]
