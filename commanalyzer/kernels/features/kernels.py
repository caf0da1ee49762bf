"""The features of the kernels of a program, and the vector that models learn from.

=========================  ==============  ===================================================================
feature                    normalisation   meaning
=========================  ==============  ===================================================================
instructions by kind       ratio (total)   12 kinds of :data:`~commanalyzer.kernels.features.kinds.KINDS`
``coalesced``              ratio           coalesced accesses over all accesses
``total``                  min-max         instructions of one work item
``work_items``             log             global size: work items of one launch
``input_buffers``          min-max         buffers that are read
``output_buffers``         min-max         buffers that are written
``input_bytes_per_item``   min-max         their size over the global size
``output_bytes_per_item``  min-max
``problem_size``           log             bytes of all buffers
``devices``                log             nodes or devices that share the work
=========================  ==============  ===================================================================

Reference: Stawinoga et al., Section 3.2 and Table 1 (which gives no row for the work items that the text
names; they span decades like the problem size and are scaled like it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from commanalyzer.kernels.features.kinds import COALESCED, KINDS, PLACE, TOTAL, Counts
from commanalyzer.kernels.features.measured import MeasuredKernel, measure_kernels
from commanalyzer.kernels.features.nests import Nest, find_nests
from commanalyzer.kernels.features.static import StaticCounter
from commanalyzer.program.ir.model import Module
from commanalyzer.program.ir.names.debug_info import SourcePlace

Scale = Literal["ratio", "min-max", "log"]
STATIC_FEATURES: tuple[str, ...] = (*KINDS, COALESCED, TOTAL)
RUNTIME_FEATURES: tuple[str, ...] = (
    *("work_items", "input_buffers", "output_buffers", "input_bytes_per_item", "output_bytes_per_item"),
    *("problem_size", "devices"),
)
FEATURES = (*STATIC_FEATURES, *RUNTIME_FEATURES)
SCALES: Mapping[str, Scale] = {
    **dict.fromkeys(FEATURES, "min-max"),
    **dict.fromkeys((*KINDS, COALESCED), "ratio"),
    **dict.fromkeys(("work_items", "problem_size", "devices"), "log"),
}


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """A kernel of a program.

    Attributes:
        name: Function and line in the source.
        place: Where it begins.
        item_loops: Loops over work items; 0 for a nest that is one item.
        copies: How often the compiled program contains it: as often as it is called, where it was inlined.
        counts: float64[len(COUNTED)], instructions of one work item by Kofler's heuristic.
        measured: The same in a run; ``None`` without one.
    """

    name: str
    place: SourcePlace
    item_loops: int
    copies: int
    counts: Counts
    measured: MeasuredKernel | None = None

    @property
    def static(self) -> dict[str, float]:
        """The static features; all but ``total`` in [0, 1]."""
        return {
            **mix(self.counts),
            COALESCED: coalesced_share(self.counts),
            TOTAL: float(self.counts[PLACE[TOTAL]]),
        }

    @property
    def runtime(self) -> dict[str, float]:
        """The run-time features of one launch but the devices; none without a run or if it did not run."""
        seen = self.measured
        if seen is None or not seen.launches:
            return {}
        items = seen.items / seen.launches
        return {
            "work_items": items,
            "input_buffers": float(len(seen.input_bytes)),
            "output_buffers": float(len(seen.output_bytes)),
            "input_bytes_per_item": sum(seen.input_bytes) / max(items, 1),
            "output_bytes_per_item": sum(seen.output_bytes) / max(items, 1),
            "problem_size": float(sum(seen.input_bytes) + sum(seen.output_bytes)),
        }

    @property
    def heuristic_error(self) -> float | None:
        """Largest difference of a share between heuristic and run, 0 to 1; ``None`` without a run."""
        if self.measured is None or not self.measured.counts.any():
            return None
        seen = mix(self.measured.counts)
        return max(abs(seen[kind] - share) for kind, share in mix(self.counts).items())


def mix(counts: Counts) -> dict[str, float]:
    """Share of every kind in all instructions; of several paths each counts its largest, the total too."""
    total = float(counts[PLACE[TOTAL]]) or 1.0
    return {kind: float(counts[PLACE[kind]]) / total for kind in KINDS}


def coalesced_share(counts: Counts) -> float:
    """Coalesced accesses over all; 1 without any."""
    accesses = float(counts[PLACE["load"]] + counts[PLACE["store"]])
    return min(1.0, float(counts[PLACE[COALESCED]]) / accesses) if accesses else 1.0


def find_kernels(module: Module) -> tuple[KernelFeatures, ...]:
    """Kernels with their static features, in the order of the source; the program does not run."""
    return _features(module, find_nests(module), None)


def run_kernels(
    module: Module, arguments: Sequence[str] = (), stdin: bytes = b""
) -> tuple[KernelFeatures, ...]:
    """Kernels with static and measured features; the program is interpreted.

    Raises:
        UnsupportedIrError: If the program uses what the interpreter does not know.
        TargetRunError: If the program has undefined behaviour that is noticed, or exceeds a limit.
    """
    nests = find_nests(module)
    return _features(module, nests, measure_kernels(module, nests, arguments, stdin))


def _features(
    module: Module, nests: Sequence[Nest], measured: Sequence[MeasuredKernel] | None
) -> tuple[KernelFeatures, ...]:
    counter = StaticCounter(module)
    groups: dict[tuple[str, SourcePlace], list[int]] = {}
    for number, nest in enumerate(nests):
        groups.setdefault((nest.name, nest.place), []).append(number)
    return tuple(
        KernelFeatures(
            name=name,
            place=place,
            item_loops=len(nests[numbers[0]].items),
            copies=len(numbers),
            counts=counter.of_item(nests[numbers[0]]),
            measured=None if measured is None else _joined([measured[k] for k in numbers]),
        )
        for (name, place), numbers in groups.items()
    )


def _joined(copies: Sequence[MeasuredKernel]) -> MeasuredKernel:
    """All launches of a kernel; the buffers of the copy that has the largest."""
    largest = max(copies, key=lambda k: sum(k.input_bytes) + sum(k.output_bytes))
    return MeasuredKernel(
        sum(k.launches for k in copies),
        sum(k.items for k in copies),
        sum((k.counts for k in copies[1:]), copies[0].counts),
        largest.input_bytes,
        largest.output_bytes,
    )
