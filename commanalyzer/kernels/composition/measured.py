"""Measured run times of a block: statistics per size, fitted law, and their file.

The file is a document of laws (kind ``commanalyzer.laws``), so that ``compose``, ``fit`` and reports read it;
the times per size stand beside the law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import parse_json, reading, typed
from commanalyzer.foundation.files import write_text
from commanalyzer.kernels.composition.models import TimeTable
from commanalyzer.machine.statistics import MedianInterval
from commanalyzer.scaling.laws.document import LawsDocument, laws_json, load_laws
from commanalyzer.scaling.laws.law import Law, law_of

BLOCK_METRIC = "time_s"
_TIMES = "block_times"


@dataclass(frozen=True, slots=True)
class SizeTimes:
    """Times of one size."""

    size: float  # value of the parameter
    seconds: MedianInterval  # median of one call and its confidence interval, seconds
    mean_s: float  # mean of one call, seconds: what a stream of many elements takes
    calls_per_sample: int  # calls between two readings of the clock


@dataclass(frozen=True, slots=True)
class MeasuredBlock:
    """Run time of a block over its sizes."""

    name: str
    parameter: str
    times: tuple[SizeTimes, ...]  # of every size, sizes increasing
    law: Law  # fitted to the medians
    provenance: Mapping[str, object]  # how and where it was measured

    @property
    def table(self) -> TimeTable:
        """Medians over the sizes."""
        return TimeTable(self.parameter, self._column("size"), self._column("median"))

    def _column(self, name: str) -> NDArray[np.float64]:
        values = [t.size if name == "size" else t.seconds.median for t in self.times]
        return np.array(values, dtype=np.float64)


def save_block(block: MeasuredBlock, path: Path, *, force: bool = False) -> None:
    """Write all or nothing; ``ArtifactError`` if the file exists (without ``force``) or is not writable."""
    write_text(path, block_json(block), force=force)


def block_json(block: MeasuredBlock) -> str:
    """JSON text of a measured block."""
    times = {"parameter": block.parameter, "sizes": list(map(_Size.of, block.times))}
    return laws_json(LawsDocument(block.name, (block.law,), block.provenance), **{_TIMES: times})


def load_block(path: Path) -> MeasuredBlock:
    """Block saved in ``path``; ``ArtifactError`` if it is missing, of another kind or damaged."""
    document = load_laws(path)
    hint = "write them with: commanalyzer measure-block ... -o FILE"
    with reading(path, "measured times of a block", hint=hint):
        entry = parse_json(path.read_text(encoding="utf-8"))[_TIMES]
        times = tuple(size.times for size in typed(entry["sizes"], list[_Size]))
        law = law_of(document.laws, BLOCK_METRIC)
        parameter = typed(entry["parameter"], str)
        found = MeasuredBlock(document.program, parameter, times, law, document.provenance)
        _ = found.table
        return found


@dataclass(frozen=True, slots=True)
class _Size:
    """Times of a size as the file has them."""

    size: float
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    samples: int
    mean_s: float
    calls_per_sample: int

    @classmethod
    def of(cls, t: SizeTimes) -> _Size:
        s = t.seconds
        ends = (s.median, s.low, s.high, s.confidence, s.num_values)
        return cls(t.size, *ends, t.mean_s, t.calls_per_sample)

    @property
    def times(self) -> SizeTimes:
        seconds = MedianInterval(self.median_s, self.low_s, self.high_s, self.confidence, self.samples)
        return SizeTimes(self.size, seconds, self.mean_s, self.calls_per_sample)
