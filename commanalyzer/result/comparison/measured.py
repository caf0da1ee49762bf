"""Measured times of an MPI program against the bounds of the prediction (paper Section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.foundation.quantities import format_percent, format_seconds, parse_seconds
from commanalyzer.machine.machine_file import as_machine
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.machine.roofline.bound import BoundPoint, scaling_bound
from commanalyzer.result.results import AnalysisResult, Decomposition

_LARGEST_MISMATCH = 3.0


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """One measured run beside the bounds for its node count.

    Attributes:
        bound: Bounds of the prediction.
        time_s: Measured time T_p, seconds.
        serial_s: T_1 that the efficiency refers to, seconds.
        counted_s: Least time with the bytes and messages that the program really sent, seconds; ``None``
            unless it was counted on as many nodes.
    """

    bound: BoundPoint
    time_s: float
    serial_s: float
    counted_s: float | None = None

    @property
    def num_nodes(self) -> int:
        """Node count p."""
        return self.bound.num_nodes

    @property
    def efficiency(self) -> float:
        """Measured E = T_1 / (p T_p)."""
        return self.serial_s / (self.num_nodes * self.time_s)

    @property
    def reached(self) -> float:
        """Measured efficiency over the latency-aware bound."""
        return self.bound.time_s / self.time_s

    @property
    def traffic_excess_s(self) -> float | None:
        """Time lost to traffic beyond the prediction at least, seconds; ``None`` if not counted."""
        return None if self.counted_s is None else max(self.counted_s - self.bound.time_s, 0.0)

    @property
    def other_excess_s(self) -> float:
        """Rest of the gap: waiting, imbalance, extra work, seconds; negative above the bound."""
        return self.time_s - self.bound.time_s - (self.traffic_excess_s or 0.0)


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """Measured runs against the bounds.

    Attributes:
        points: By increasing node count.
        machine: Machine of the bounds, with the throughput of the measured run on one node if there was one.
        remarks: What the reader should doubt, one sentence each.
    """

    points: tuple[MeasuredPoint, ...]
    machine: MachineParameters
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        reached = ", ".join(f"{format_percent(x.reached)} on {x.num_nodes}" for x in self.points)
        return f"MeasuredRuns(of the bound is reached: {reached})"


def parse_times(text: str) -> dict[int, float]:
    """Seconds by node count, from ``1=10.2s,4=2.8s`` or a file with lines ``nodes,seconds``.

    A file may have a title line and comments (``#``). Numbers without a unit are seconds. Entries of another
    form, and node counts that come twice, are a :class:`ConfigError`.
    """
    path = Path(text)
    if "=" not in text:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"expected times such as 1=10.2s,4=2.8s, or a file with lines nodes,seconds, found {text!r}"
            ) from error
        bare = (line.partition("#")[0].strip() for line in lines)
        entries = [line for line in bare if line]
        entries = entries[1:] if entries and entries[0][0].isalpha() else entries
        where, separator = str(path), ","
    else:
        entries, where, separator = text.split(","), "--times", "="
    times: dict[int, float] = {}
    for entry in entries:
        nodes, seconds = _entry(entry, separator, where)
        if nodes in times:
            raise ConfigError(f"expected each node count once, found {nodes} twice", where=where)
        times[nodes] = seconds
    if not times:
        raise ConfigError("expected at least one time, found none", where=where)
    return times


def _entry(entry: str, separator: str, where: str) -> tuple[int, float]:
    count, _, time = entry.partition(separator)
    try:
        nodes, seconds = int(count), parse_seconds(time)
    except (ValueError, MachineModelError) as error:
        raise ConfigError(f"expected NODES{separator}SECONDS, found {entry!r}", where=where) from error
    if nodes < 1 or seconds <= 0:
        raise ConfigError(f"expected a node count and a time above 0, found {entry!r}", where=where)
    return nodes, seconds


def measured_runs(
    prediction: AnalysisResult,
    counted: Decomposition,
    times: Mapping[int, float] | str,
    machine: MachineParameters | None = None,
    model: str = "",
) -> MeasuredRuns:
    """Measured times against the bounds of the prediction.

    ``counted`` is a counted part of a run, whose bytes enter where its node count was measured. ``times`` are
    T_p in seconds by node count, of the same part of the program that was analysed, or as :func:`parse_times`
    has them. ``machine`` goes before that of the prediction; an empty ``model`` is its leading one.

    Raises:
        ConfigError: If a node count is not in the prediction.
        MachineModelError: If the machine is incomplete or there is no work.
    """
    times = parse_times(times) if isinstance(times, str) else times
    known = prediction.machine.replaced_by(as_machine(machine))
    remarks = []
    if 1 in times and prediction.work.amount:
        value, unit = prediction.work.amount / times[1], f"{prediction.work.unit.capitalize()}/s"
        rate = Parameter(value, unit, "measured", note="work over time on one node")
        remarks += _doubt_throughput(known.throughput, rate.value)
        known = known.updated(throughput=rate)
    found = prediction.bound(known, nodes=times, model=model)
    points = {point.num_nodes: point for point in found.points}
    actual = (counted.method, counted.communication)
    point = scaling_bound(prediction.work.amount, [actual], known).points[-1]
    known_s = {point.num_nodes: point.time_s} if point.num_nodes > 1 else {}
    result = tuple(
        MeasuredPoint(points[nodes], time_s, points[nodes].serial_s, known_s.get(nodes))
        for nodes, time_s in sorted(times.items())
    )
    remarks += _doubt_bounds(result)
    return MeasuredRuns(result, known, tuple(remarks))


def _doubt_throughput(given: Parameter | None, measured: float) -> list[str]:
    if given is None or 1 / _LARGEST_MISMATCH < measured / given.value < _LARGEST_MISMATCH:
        return []
    return [
        f"the time on one node means {measured / given.value:.3g} times the throughput that was "
        f"{given.source}: check the units of the times, and that they are those of the analysed part"
    ]


def _doubt_bounds(points: tuple[MeasuredPoint, ...]) -> list[str]:
    above = [p for p in points if p.num_nodes > 1 and p.reached > 1.02]
    if not above:
        return []
    worst = max(above, key=lambda p: p.reached)
    return [
        f"on {worst.num_nodes} nodes the program is faster ({format_seconds(worst.time_s)}) than the bound "
        f"allows ({format_seconds(worst.bound.time_s)}): smaller parts may fit into caches, or the machine "
        "is better than its parameters"
    ]
