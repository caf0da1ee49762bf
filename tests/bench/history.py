"""History of the benchmark: ratios of earlier runs, one JSON line each, so that a slow-down is seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measuring import Measured

_SLOWER = 1.2  # machines are noisy


@dataclass(frozen=True, slots=True)
class Change:
    """A ratio that grew since the last run of the same case on the same kind of machine."""

    case: str
    before: float
    now: float


def slow_downs(path: Path, host_class: str, found: Sequence[Measured]) -> list[Change]:
    """Cases whose ratio is a fifth or more above that of their last entry."""
    if not path.exists():
        return []
    last: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["host_class"] == host_class:
            last.update(entry["ratios"])
    return [
        Change(m.case, last[m.case], m.ratio)
        for m in found
        if m.case in last and m.ratio > _SLOWER * last[m.case]
    ]


def append(path: Path, revision: str, date: str, host_class: str, found: Sequence[Measured]) -> None:
    """Add the ratios of this run."""
    entry = {
        "date": date,
        "revision": revision,
        "host_class": host_class,
        "ratios": {m.case: round(m.ratio, 3) for m in found},
    }
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry, sort_keys=True) + "\n")
