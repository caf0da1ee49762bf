"""What a design answers: element time, latency, bottleneck, counts, crossings, gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.composition.allocation import (
    Counts,
    best_counts,
    check_threads,
    gain_of_faster_block,
)
from commanalyzer.kernels.composition.design import Design
from commanalyzer.kernels.composition.expressions import Sum, element_time, latency
from commanalyzer.kernels.composition.models import Composed, Piece, pieces_between
from commanalyzer.kernels.composition.systems import Block, System, num_threads, with_counts

_RANGE = 1024.0  # crossings are looked for from the size / this to the size * this


@dataclass(frozen=True, slots=True)
class Answer:
    """A design evaluated.

    Attributes:
        design: The design.
        system: With all counts as numbers.
        counts: Counts that were found; ``None`` when all were given.
        threads: Threads in use.
        time: Model of the element time.
        latency: Model of the latency.
        element_time_s: Average run time per element, seconds.
        latency_s: Time of one element through the system, seconds.
        sequential_s: Time of one element if all blocks ran one after the other, seconds.
        total_s: Time of the stream: latency of the first element, element time of the others; 0 if not asked.
        bottleneck: The sum that decides.
        pieces: Which sum decides over the range of the divided parameter; empty without such a parameter.
        gains: How many times faster the system is if one block is twice as fast.
        is_beyond: Some model is used outside of its data.
    """

    design: Design
    system: System
    counts: Counts | None
    threads: int
    time: Composed
    latency: Composed
    element_time_s: float
    latency_s: float
    sequential_s: float
    total_s: float
    bottleneck: Sum
    pieces: tuple[Piece, ...]
    gains: Mapping[str, float]
    is_beyond: bool

    @property
    def speedup(self) -> float:
        """Over the sequential blocks."""
        return self.sequential_s / self.element_time_s if self.element_time_s else 1.0


def answer(design: Design) -> Answer:
    """Evaluate a design: open counts are found first.

    Raises:
        ConfigError: If a parameter of a model has no value, or the system needs more threads than cores.
    """
    values = dict(design.values)
    wanted = {name for model in design.models.values() for name in model.parameters}
    if missing := sorted(wanted - set(values)):
        raise ConfigError(
            f"expected a value of {', '.join(missing)}, found none", hint=f"--at {missing[0]}=1000"
        )
    counts = None
    system = design.system
    if design.open_counts:
        counts = best_counts(system, design.models, values, design.cores, design.divided)
        system = with_counts(system, counts.counts)
    check_threads(system, design.cores)
    time = Composed(element_time(system), design.models, design.divided)
    through = Composed(latency(system), design.models, design.divided)
    single = with_ones(design.system)
    whole = Composed(latency(single), design.models, design.divided)
    element_time_s, latency_s = float(time.at(values)[0]), float(through.at(values)[0])
    bottleneck = time.largest_at(values)
    return Answer(
        design=design,
        system=system,
        counts=counts,
        threads=num_threads(system),
        time=time,
        latency=through,
        element_time_s=element_time_s,
        latency_s=latency_s,
        sequential_s=float(whole.at(values)[0]),
        total_s=latency_s + (design.elements - 1) * element_time_s if design.elements else 0.0,
        bottleneck=bottleneck,
        pieces=_pieces(time, design, values),
        gains=gain_of_faster_block(system, design.models, values, design.divided),
        is_beyond=time.is_beyond(values) or through.is_beyond(values),
    )


def with_ones(system: System) -> System:
    """The same system on one thread per stage: every count 1, no branch beside another."""
    if isinstance(system, Block):
        return system
    name = "sequence" if system.name == "fork_join" else system.name
    return replace(system, name=name, count=1, parts=tuple(map(with_ones, system.parts)))


def _pieces(time: Composed, design: Design, values: Mapping[str, float]) -> tuple[Piece, ...]:
    name = design.divided
    if name not in values:
        return ()
    others = {key: value for key, value in values.items() if key != name}
    return pieces_between(time, name, max(values[name] / _RANGE, 1.0), values[name] * _RANGE, others)
