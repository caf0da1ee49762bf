"""Measured run times of a block: statistics per size, fitted law, and their file.

The file is a document of laws (kind ``commanalyzer.laws``), so that ``compose``, ``fit`` and reports read it;
the times per size stand beside the law.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json
from commanalyzer.foundation.errors import ArtifactError, ConfigError
from commanalyzer.foundation.files import write_text
from commanalyzer.kernels.composition.models import TimeTable
from commanalyzer.machine.statistics import MedianInterval
from commanalyzer.scaling.laws.document import LawsDocument, laws_json, load_laws
from commanalyzer.scaling.laws.law import Law, law_of

BLOCK_METRIC = "time_s"
_TIMES = "block_times"


@dataclass(frozen=True, slots=True)
class SizeTimes:
    """Times of one size.

    Attributes:
        size: Value of the parameter.
        seconds: Median of one call and its confidence interval, seconds.
        mean_s: Mean of one call, seconds: what a stream of many elements takes.
        calls_per_sample: Calls between two readings of the clock.
    """

    size: float
    seconds: MedianInterval
    mean_s: float
    calls_per_sample: int


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """Run time of a block over its sizes.

    Attributes:
        name: Of the block.
        parameter: Name of the size.
        times: Of every size, sizes increasing.
        law: Fitted to the medians.
        provenance: How and where it was measured.
    """

    name: str
    parameter: str
    times: tuple[SizeTimes, ...]
    law: Law
    provenance: Mapping[str, object]

    @property
    def table(self) -> TimeTable:
        """Medians over the sizes."""
        return TimeTable(self.parameter, self._column("size"), self._column("median"))

    def _column(self, name: str) -> NDArray[np.float64]:
        values = [t.size if name == "size" else t.seconds.median for t in self.times]
        return np.array(values, dtype=np.float64)


def save_block(block: MeasuredBlock, path: Path, *, force: bool = False) -> None:
    """Write times and law, completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    write_text(path, block_json(block), force=force)


def block_json(block: MeasuredBlock) -> str:
    """JSON text of a measured block."""
    times = [
        {
            "size": t.size,
            "median_s": t.seconds.median,
            "low_s": t.seconds.low,
            "high_s": t.seconds.high,
            "confidence": t.seconds.confidence,
            "samples": t.seconds.num_values,
            "mean_s": t.mean_s,
            "calls_per_sample": t.calls_per_sample,
        }
        for t in block.times
    ]
    content = json.loads(laws_json(LawsDocument(block.name, (block.law,), block.provenance)))
    content[_TIMES] = {"parameter": block.parameter, "sizes": times}
    return json.dumps(content, indent=1) + "\n"


def load_block(path: Path) -> MeasuredBlock:
    """Block saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind or damaged.
    """
    document = load_laws(path)
    content = parse_json(path.read_text(encoding="utf-8"))
    try:
        entry = content[_TIMES]
        times = tuple(map(_read_times, entry["sizes"]))
        found = MeasuredBlock(
            document.program,
            str(entry["parameter"]),
            times,
            law_of(document.laws, BLOCK_METRIC),
            document.provenance,
        )
        _ = found.table
        return found
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ArtifactError(
            "expected measured times of a block, found none",
            where=str(path),
            hint="write them with: commanalyzer measure-block ... -o FILE",
        ) from error


def _read_times(entry: Mapping[str, Any]) -> SizeTimes:
    seconds = MedianInterval(
        median=float(entry["median_s"]),
        low=float(entry["low_s"]),
        high=float(entry["high_s"]),
        confidence=float(entry["confidence"]),
        num_values=int(entry["samples"]),
    )
    return SizeTimes(float(entry["size"]), seconds, float(entry["mean_s"]), int(entry["calls_per_sample"]))
