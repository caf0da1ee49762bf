"""Raw timings of the measurements, and the file that keeps them beside a machine file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.errors import MachineModelError
from commanalyzer.foundation.files import write_atomically

SAMPLES_KIND = "commanalyzer.machine-samples"
SAMPLES_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Repetitions of one measurement."""

    # ``matching``, ``ring``, ``round_trip``, ``call``, ``send_overhead``, ``receive_overhead``, ``gap``,
    # ``allreduce``, ``bcast``, ``program``, or ``overlap.ROLE.PART`` with the roles ``send``, ``receive``,
    # ``exchange`` and the parts ``base``, ``work``, ``elapsed``
    benchmark: str
    num_ranks: int
    message_bytes: int
    num_messages: int  # messages that one rank sends in one repetition
    times_s: NDArray[np.float64]  # [ranks, repetitions], seconds; NaN where a rank was not timed

    def __post_init__(self) -> None:
        if self.times_s.ndim != 2:
            raise ValueError(f"expected times of ranks and repetitions, found shape {self.times_s.shape}")
        self.times_s.setflags(write=False)


def write_samples(
    path: Path, series: Iterable[Series], provenance: Mapping[str, object], *, force: bool = False
) -> None:
    """Write all raw timings as compressed JSON (``*.json.gz``), with library, placement, seed and version.

    Raises ``ArtifactError`` if the file exists or cannot be written.
    """
    document = {
        "kind": SAMPLES_KIND,
        "schema": SAMPLES_SCHEMA,
        "provenance": dict(provenance),
        "unit": "s",
        "series": [_encoded(item) for item in series],
    }
    data = gzip.compress(json.dumps(document).encode(), mtime=0)
    write_atomically(path, lambda draft: draft.write_bytes(data), force=force)


def read_samples(path: Path) -> tuple[tuple[Series, ...], dict[str, object]]:
    """Series and provenance of raw timings; ``MachineModelError`` if unreadable, of another kind or newer."""
    with reading(path, "a file of raw timings", error=MachineModelError):
        document = parse_json(gzip.decompress(path.read_bytes()))
        kind, schema = document["kind"], document["schema"]
        if (kind, schema) != (SAMPLES_KIND, SAMPLES_SCHEMA):
            raise ValueError(f"kind {kind!r}, schema {schema!r}")
        series = tuple(
            typed(
                {
                    **item,
                    "num_ranks": item["ranks"],
                    "num_messages": item["messages"],
                    "times_s": item["times"],
                },
                Series,
            )
            for item in document["series"]
        )
        return series, typed(document["provenance"], dict[str, object])


def _encoded(series: Series) -> dict[str, object]:
    # JSON has no NaN; 7 digits are finer than any clock here.
    rows = [
        [float(f"{t:.6e}") if timed else None for t, timed in zip(row, ok, strict=True)]
        for row, ok in zip(series.times_s.tolist(), np.isfinite(series.times_s).tolist(), strict=True)
    ]
    return {
        "benchmark": series.benchmark,
        "ranks": series.num_ranks,
        "message_bytes": series.message_bytes,
        "messages": series.num_messages,
        "times": rows,
    }
