"""History of the benchmark: numbers of earlier runs, one JSON line each, so that a slow-down is seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import Measured

_SLOWER = 1.2  # machines are noisy


@dataclass(frozen=True, slots=True)
class Change:
    """A number that grew since the last run of the same case on the same kind of machine."""

    what: str
    before: float
    now: float


def slow_downs(path: Path, host_class: str, found: Sequence[Measured]) -> list[Change]:
    """What is a fifth or more above its last entry."""
    if not path.exists():
        return []
    last: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["host_class"] == host_class:
            last.update(entry["numbers"])
    return [
        Change(name, last[name], value)
        for name, value in _numbers(found).items()
        if name in last and value > _SLOWER * last[name]
    ]


def append(path: Path, revision: str, date: str, host_class: str, found: Sequence[Measured]) -> None:
    """Add the numbers of this run."""
    entry = {
        "date": date,
        "revision": revision,
        "host_class": host_class,
        "numbers": {name: round(value, 3) for name, value in _numbers(found).items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry, sort_keys=True) + "\n")


def _numbers(found: Sequence[Measured]) -> dict[str, float]:
    """Ratios, bytes and seconds that should not grow, by name."""
    numbers = {}
    for m in found:
        flows = max(m.stages.flows, 1)
        for cost in m.runs:
            numbers[f"{cost.case}: recorded / plain"] = cost.ratio
        numbers[f"{m.runs[0].case}: bytes per flow"] = m.stages.graph_bytes / flows
        numbers[f"{m.runs[0].case}: s to build 10M flows"] = m.stages.graph_s / flows * 1e7
        numbers[f"{m.runs[0].case}: s to count 10M flows"] = m.stages.count_s / flows * 1e7
    return numbers
