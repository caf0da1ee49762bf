"""What a design answers: element time, latency, bottleneck, counts, crossings, gains.

Thread counts: the counts of a system that make it fastest on a number of cores.

Designs: a system, models of its blocks and the machine, in one TOML file.

::

    kind = "commanalyzer.design"
    schema = 1
    system = "pipe(tpool(T, sort), inc)"
    at = { n = 262144 }        # sizes that are asked about
    cores = 12                 # threads that may run
    elements = 100000          # elements of the stream; optional
    divided = "n"              # parameter that map, reduction and stencil divide

    [counts]                   # numbers for names in the system; the others are found
    T = 4

    [blocks.sort]
    formula = "0.03899 * n * log2(n)"
    unit = "us"

    [blocks.inc]
    laws = "inc.json"          # of measure-block or fit: a law of time_s; metric = "..." for another one

    [blocks.filter]
    table = "inc.json"         # the measured times themselves, of measure-block

    [blocks.send]              # an element that goes to another node
    bytes = "8 * n"
    machine = "cluster.toml"   # latency + bytes / bandwidth; or latency = "1.5us", bandwidth = "12GB/s"
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from commanalyzer.foundation.documents import Count, Positive, parse_toml, reading, typed
from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.foundation.quantities import parse_bandwidth, parse_seconds
from commanalyzer.kernels.composition.expressions import Sum, element_time, latency
from commanalyzer.kernels.composition.measurement import BLOCK_METRIC, load_block
from commanalyzer.kernels.composition.models import (
    BlockModel,
    Composed,
    Models,
    Piece,
    TimeTable,
    pieces_between,
    scaled_law,
)
from commanalyzer.kernels.composition.systems import (
    Block,
    System,
    block_names,
    count_names,
    num_threads,
    parse_system,
    with_counts,
)
from commanalyzer.machine.parameters import read_machine
from commanalyzer.scaling.laws.document import load_laws
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law, law_of


class _DesignBlock(msgspec.Struct):
    formula: str = ""
    unit: str = "s"
    laws: str = ""
    metric: str = BLOCK_METRIC
    table: str = ""
    bytes: str = ""
    machine: str = ""
    latency: str = ""
    bandwidth: str = ""


class _DesignFile(msgspec.Struct, forbid_unknown_fields=True):
    """Keys of a design; see the module."""

    system: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Literal["commanalyzer.design"] = "commanalyzer.design"
    schema: Literal[1] = 1
    name: str = ""
    at: dict[str, Positive] = {}
    cores: Count = 1
    elements: Count = 0
    divided: str = "n"
    counts: dict[str, Count] = {}
    blocks: dict[str, _DesignBlock] = {}


@dataclass(frozen=True, slots=True)
class Design:
    """A system that is to be built."""

    name: str  # for headings
    system: System  # expression; counts that are not given are names
    models: Mapping[str, BlockModel]  # of the blocks, seconds
    values: Mapping[str, float] = field(default_factory=dict)  # parameters that are asked about
    cores: int = 1  # threads that may run
    elements: int = 0  # elements of the stream; 0 when not given
    divided: str = "n"  # parameter that ``map`` and its like divide

    @property
    def open_counts(self) -> tuple[str, ...]:
        """Counts that are to be found."""
        return count_names(self.system)


def load_design(path: Path, system: System | None = None, counts: Mapping[str, int] | None = None) -> Design:
    """Design of a file, or of another ``system`` of its blocks, with ``counts`` before those of the file.

    Files that it names are looked for beside it.

    Raises ``ArtifactError`` if it is missing or no design; ``ConfigError`` if an entry is not usable.
    """
    with reading(path, "a design"):
        content = parse_toml(path.read_text(encoding="utf-8"))
    with reading(path, "a design", error=ConfigError):
        file = typed(content, _DesignFile)
    try:
        written = system or parse_system(file.system)
        known = count_names(written)
        if unknown := [name for name in counts or () if name not in known]:
            raise ConfigError(
                f"expected a count of the system ({', '.join(known) or 'it has none'}), found {unknown[0]}"
            )
        system = with_counts(written, {**file.counts, **(counts or {})})
        if missing := [name for name in block_names(system) if name not in file.blocks]:
            raise ConfigError(
                f"expected a model of every block, found none of {', '.join(missing)}",
                hint=f'add: [blocks.{missing[0]}] formula = "..." unit = "us"',
            )
        models = {name: _model(name, file.blocks[name], path.parent) for name in block_names(system)}
        name = file.name or path.stem
        return Design(name, system, models, file.at, file.cores, file.elements, file.divided)
    except CommAnalyzerError as error:
        if error.where and str(path) in error.where:
            raise
        where = f"{path}: {error.where}" if error.where else str(path)
        raise ConfigError(error.message, where=where, hint=error.hint) from error


def _model(name: str, block: _DesignBlock, folder: Path) -> BlockModel:
    sources = ("formula", "laws", "table", "bytes")
    given = [source for source in sources if getattr(block, source)]
    if len(given) != 1:
        raise ConfigError(
            f"expected one of {', '.join(sources)}, found {', '.join(given) or 'none'}",
            where=f"blocks.{name}",
        )
    if block.bytes:
        return _transfer(name, block, folder)
    if block.formula:
        return read_formula(block.formula, factor=parse_seconds(f"1{block.unit}"))
    if block.table:
        return load_block(folder / block.table).table
    return law_of(load_laws(folder / block.laws).laws, block.metric)


def _transfer(name: str, block: _DesignBlock, folder: Path) -> Law:
    """Latency + bytes / bandwidth."""
    where = f"blocks.{name}"
    if block.machine:
        machine = read_machine(folder / block.machine)
        if machine.bandwidth is None or machine.latency is None:
            raise ConfigError("expected a machine with latency and bandwidth, found one without", where=where)
        latency_s, bytes_per_s = machine.latency.value, machine.bandwidth.value
    elif block.bandwidth and block.latency:
        latency_s, bytes_per_s = parse_seconds(block.latency), parse_bandwidth(block.bandwidth)
    else:
        raise ConfigError("expected a machine, or latency and bandwidth, found neither", where=where)
    if not bytes_per_s > 0:
        raise ConfigError("expected a bandwidth above 0", where=where)
    return read_formula(f"({block.bytes}) / {bytes_per_s!r} + {latency_s!r}")


# Configurations that are all tried: 10^5 take about 10 s. Twice as many take twice as long; half as many make
# systems with four or more open counts on 64 cores greedy.
MOST_CONFIGURATIONS = 20_000


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """Counts of a system on a number of cores."""

    counts: Mapping[str, int]
    threads: int
    element_time_s: float  # average run time per element, seconds
    is_exhaustive: bool  # no other counts are faster; otherwise counts grew one by one while that helped


def best_counts(
    system: System, models: Models, values: Mapping[str, float], cores: int, divided: str = "n"
) -> ThreadCounts:
    """The open counts that give the least element time; of equally fast ones those with the fewest threads.

    ``cores``: threads that may run (Section III.A: not more than the hardware has); ``divided``: parameter
    that ``map`` and its like divide.

    Raises:
        ConfigError: If one thread for every count is too many.
    """
    names = count_names(system)
    check_threads(with_counts(system, dict.fromkeys(names, 1)), cores)

    def threads_of(counts: Iterable[int]) -> int:
        return num_threads(with_counts(system, dict(zip(names, counts, strict=True))))

    def times_of(counts: Sequence[int]) -> list[float]:
        """Of all sums, the largest first."""
        form = element_time(with_counts(system, dict(zip(names, counts, strict=True))))
        model = Composed(form, models, divided)
        return sorted((float(model.sum_at(total, values)[0]) for total in form.sums), reverse=True)

    def highest_of(name: str) -> int:
        """The largest value of one count while all others are 1."""
        ones = dict.fromkeys(names, 1)
        counts = (threads_of({**ones, name: n}.values()) for n in range(2, cores + 1))
        return 1 + sum(1 for _ in itertools.takewhile(lambda threads: threads <= cores, counts))

    highest = [highest_of(name) for name in names]
    is_exhaustive = math.prod(highest) <= MOST_CONFIGURATIONS
    if is_exhaustive:
        every = itertools.product(*(range(1, count + 1) for count in highest))
        fitting = (counts for counts in every if threads_of(counts) <= cores)
        best = min(fitting, key=lambda counts: (times_of(counts)[0], threads_of(counts)))
    else:
        best = _grown(times_of, lambda counts: threads_of(counts) <= cores, len(names))
    return ThreadCounts(
        dict(zip(names, best, strict=True)), threads_of(best), times_of(best)[0], is_exhaustive
    )


def check_threads(system: System, cores: int) -> None:
    """``ConfigError`` if the system keeps more threads busy than there are cores."""
    threads = num_threads(system)
    if threads > cores:
        raise ConfigError(
            f"expected at most {cores} threads, found {threads}",
            where=str(system),
            hint="models of patterns hold while every thread has a core of its own: reduce the counts, "
            "or give more --cores",
        )


def _grown(
    times_of: Callable[[Sequence[int]], list[float]], fits: Callable[[Sequence[int]], bool], num_counts: int
) -> tuple[int, ...]:
    """One more where it helps most, until none helps, then fewer where none is missed.

    Of two equally slow parts neither helps alone: what counts is the list of all times, the largest first.
    """
    best = (1,) * num_counts
    while True:
        more = [(*best[:i], count + 1, *best[i + 1 :]) for i, count in enumerate(best)]
        found = min(filter(fits, more), key=times_of, default=best)
        if times_of(found) >= times_of(best):
            break
        best = found
    time = times_of(best)[0]
    for i in range(num_counts):
        while best[i] > 1 and times_of(fewer := (*best[:i], best[i] - 1, *best[i + 1 :]))[0] <= time:
            best = fewer
    return best


def gain_of_faster_block(
    system: System, models: Models, values: Mapping[str, float], divided: str = "n"
) -> Mapping[str, float]:
    """How many times faster the system gets if one block alone gets twice as fast, by block."""
    form = element_time(system)
    now = float(Composed(form, models, divided).at(values)[0])
    return {
        name: now / float(Composed(form, {**models, name: _faster(models[name])}, divided).at(values)[0])
        for name in block_names(system)
        if any(use.block == name for total in form.sums for use, _ in total.terms)
    }


def _faster(model: BlockModel) -> BlockModel:
    if isinstance(model, TimeTable):
        return TimeTable(model.parameter, model.sizes, model.times_s / 2.0)
    return scaled_law(model, 0.5)


_RANGE = 1024.0  # crossings are looked for from the size / this to the size * this


@dataclass(frozen=True, slots=True)
class Answer:
    """A design evaluated."""

    design: Design
    system: System  # with all counts as numbers
    counts: ThreadCounts | None  # counts that were found; ``None`` when all were given
    threads: int  # threads in use
    time: Composed  # model of the element time
    latency: Composed  # model of the latency
    element_time_s: float  # average run time per element, seconds
    latency_s: float  # time of one element through the system, seconds
    sequential_s: float  # time of one element if all blocks ran one after the other, seconds
    # Time of the stream: latency of the first element, element time of the others; 0 if not asked
    total_s: float
    bottleneck: Sum  # the sum that decides
    # Which sum decides over the range of the divided parameter; empty without such a parameter
    pieces: tuple[Piece, ...]
    gains: Mapping[str, float]  # how many times faster the system is if one block is twice as fast
    is_beyond: bool  # some model is used outside of its data

    @property
    def speedup(self) -> float:
        """Over the sequential blocks."""
        return self.sequential_s / self.element_time_s if self.element_time_s else 1.0


def answer(design: Design) -> Answer:
    """Evaluate a design: open counts are found first.

    Raises ``ConfigError`` if a parameter of a model has no value, or the system needs more threads than
    cores.
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
