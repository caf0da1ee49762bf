"""Projection: laws and a machine -> efficiency, time and cost of problems that were not analysed.

The bounds are those of the paper's Eq. 2 to 5 with C = C(n, p) and W = W(n) from their laws. Where the
machine has a time per message and the messages have a law, each message also costs that time (see
:mod:`commanalyzer.roofline.loggp`); as the busiest node has at least as many messages as the average one,
the result is still a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from commanalyzer.errors import FitError, MachineModelError
from commanalyzer.laws.law import Law, law_of
from commanalyzer.laws.terms import Floats
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.roofline.equations import bandwidth_at, overlap_at

Division = Literal["best", "regular"]
NODES = "p"
_BYTES: Mapping[Division, str] = {"best": "comm_bytes", "regular": "regular_bytes"}
_MESSAGES: Mapping[Division, str] = {"best": "messages", "regular": "regular_messages"}
_MOST_DOUBLINGS = 200
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Projection:
    """Curves over node counts; arrays float64[P], one entry per node count.

    Attributes:
        kind: ``strong`` (the problem stays) or ``weak`` (the work per node stays).
        nodes: p, int64[P].
        sizes: Values of the program's parameters by name.
        work_flop: W.
        comm_bytes: C.
        comm_bytes_low: Lower end of its band.
        comm_bytes_high: Upper end.
        serial_s: T_1, seconds.
        efficiency: Bound of the parallel efficiency.
        efficiency_low: With the upper end of the bytes.
        efficiency_high: With the lower end.
        is_beyond: bool[P], outside of the data of a law.
        has_messages: Time per message is included.
    """

    kind: str
    nodes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    sizes: Mapping[str, Floats]
    work_flop: Floats
    comm_bytes: Floats
    comm_bytes_low: Floats
    comm_bytes_high: Floats
    serial_s: Floats
    efficiency: Floats
    efficiency_low: Floats
    efficiency_high: Floats
    is_beyond: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    has_messages: bool

    @property
    def time_s(self) -> Floats:
        """float64[P], least time T_1 / (p E), paper Eq. 5, seconds."""
        return np.asarray(self.serial_s / (self.nodes * self.efficiency))

    @property
    def time_low_s(self) -> Floats:
        """float64[P], with the lower end of the bytes."""
        return np.asarray(self.serial_s / (self.nodes * self.efficiency_high))

    @property
    def time_high_s(self) -> Floats:
        """float64[P], with the upper end of the bytes."""
        return np.asarray(self.serial_s / (self.nodes * self.efficiency_low))

    @property
    def speedup(self) -> Floats:
        """float64[P], p E."""
        return np.asarray(self.nodes * self.efficiency)

    def core_hours(self, cores_per_node: int = 1) -> Floats:
        """float64[P], nodes x cores x hours, at least."""
        return np.asarray(self.nodes * cores_per_node * self.time_s / 3600.0)


def project(
    laws: Sequence[Law],
    machine: MachineParameters,
    nodes: Sequence[int],
    sizes: Mapping[str, float],
    *,
    weak_parameter: str = "",
    division: Division = "best",
) -> Projection:
    """Bounds over node counts.

    Args:
        laws: Of the bytes of the division and ``work_flops``; that of its messages is used if there.
        machine: Bandwidth and throughput must be known.
        nodes: p, each at least 1.
        sizes: Value of every parameter of the program that a law depends on.
        weak_parameter: Grow this one so that the work per node stays that of ``sizes`` on one node; empty for
            strong scaling.
        division: ``best`` of all that were found (``comm_bytes``), or plain blocks (``regular_bytes``).

    Raises:
        FitError: If a law or a parameter is missing, or the work does not grow with ``weak_parameter``.
        MachineModelError: If the machine is incomplete.
    """
    work, traffic = law_of(laws, "work_flops"), law_of(laws, _BYTES[division])
    p = np.array(sorted(set(nodes)), dtype=np.int64)
    values: dict[str, Floats] = {name: np.full(len(p), float(value)) for name, value in sizes.items()}
    if weak_parameter:
        values[weak_parameter] = _grown(work, sizes, weak_parameter, p)
    points: dict[str, Floats | float] = {**values, NODES: p.astype(np.float64)}
    work_flop = work.predict(points)
    _require(machine, work_flop)
    # One node has nobody to talk to; the law need not say so.
    alone = p == 1
    bytes_mid, (bytes_low, bytes_high) = traffic.predict(points), traffic.band(points)
    mid, low, high = (np.where(alone, 0.0, b) for b in (bytes_mid, bytes_low, bytes_high))
    messages = _messages(laws, _MESSAGES[division], points, alone) if _has_message_time(machine) else None
    speed = _value(machine.throughput)
    serial_s = work_flop / speed
    bounds = [_efficiency(machine, p, serial_s, b, messages) for b in (mid, high, low)]
    beyond = _beyond(work, points, len(p)) | _beyond(traffic, points, len(p))
    return Projection(
        kind="weak" if weak_parameter else "strong",
        nodes=p,
        sizes=values,
        work_flop=work_flop,
        comm_bytes=mid,
        comm_bytes_low=low,
        comm_bytes_high=high,
        serial_s=serial_s,
        efficiency=bounds[0],
        efficiency_low=bounds[1],
        efficiency_high=bounds[2],
        is_beyond=beyond,
        has_messages=messages is not None,
    )


def _require(machine: MachineParameters, work_flop: Floats) -> None:
    if not machine.is_complete:
        raise MachineModelError(
            "expected a bandwidth and a throughput, found at least one missing",
            hint="give --bandwidth and --throughput, or --machine NAME|FILE",
        )
    if not (work_flop > 0).all():
        raise FitError("expected some work, found none", where="law of work_flops")


def _value(parameter: Parameter | None) -> float:
    if parameter is None:
        raise MachineModelError("expected a known parameter, found none")
    return parameter.value


def _has_message_time(machine: MachineParameters) -> bool:
    return machine.gap is not None or machine.message_overhead is not None


def _messages(
    laws: Sequence[Law],
    metric: str,
    points: Mapping[str, Floats | float],
    alone: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> Floats | None:
    if all(law.metric != metric for law in laws):
        return None
    return np.where(alone, 0.0, law_of(laws, metric).predict(points))


def _efficiency(
    machine: MachineParameters,
    nodes: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    serial_s: Floats,
    comm_bytes: Floats,
    messages: Floats | None,
) -> Floats:
    """E = 1 / (1 + T_o / T_1) with T_o = max((1 - O_c) (C / B_c + M g), 2 M o), paper Eq. 1 and 2."""
    count = np.zeros(len(nodes)) if messages is None else messages
    sizes = np.where(count > 0, comm_bytes / np.maximum(count, 1.0), 0.0)
    readings = [
        (bandwidth_at(machine, p), overlap_at(machine, p, size or None))
        for p, size in zip(nodes.tolist(), sizes.tolist(), strict=True)  # one step per node count
    ]
    bandwidth = np.array([b.value if b is not None else np.nan for b, _ in readings])
    overlap = np.array([o.value for _, o in readings])
    gap_s = machine.gap.value if machine.gap is not None else 0.0
    busy_s = machine.message_overhead.value if machine.message_overhead is not None else 0.0
    network_s = comm_bytes / bandwidth + count * gap_s
    overhead_s = np.maximum((1.0 - overlap) * network_s, 2.0 * count * busy_s)
    return np.asarray(1.0 / (1.0 + overhead_s / serial_s))


def _beyond(
    law: Law, points: Mapping[str, Floats | float], count: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    x = np.broadcast_to(law.points(points), (count, len(law.parameters)))
    return np.asarray(((x < np.array(law.lowest)) | (x > np.array(law.highest))).any(axis=1))


def _grown(
    work: Law,
    sizes: Mapping[str, float],
    parameter: str,
    nodes: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> Floats:
    """float64[P], the parameter where the work is p times that at ``sizes``, by bisection."""
    if parameter not in work.parameters or parameter not in sizes:
        raise FitError(
            f"expected a parameter that the work depends on, found {parameter!r}",
            where="weak scaling",
            hint=f"the law of work_flops has {', '.join(work.parameters) or 'no parameters'}",
        )
    fixed = {name: value for name, value in sizes.items() if name != parameter}
    start = float(sizes[parameter])
    wanted = work.predict({**fixed, parameter: start})[0] * nodes.astype(np.float64)

    def amount(values: Floats) -> Floats:
        return work.predict(
            {**{k: np.full(len(values), float(v)) for k, v in fixed.items()}, parameter: values}
        )

    low, high = np.full(len(nodes), start), np.full(len(nodes), start)
    for _ in range(_MOST_DOUBLINGS):
        short = amount(high) < wanted
        if not short.any():
            break
        high[short] *= 2.0
    else:
        raise FitError(
            f"expected the work to grow with {parameter}, found that it does not", where="weak scaling"
        )
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        short = amount(middle) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


@dataclass(frozen=True, slots=True)
class Advice:
    """How many nodes to ask for; ``None`` where no node count fulfils it.

    Attributes:
        least_efficiency: What was asked for.
        largest: Most nodes whose bound reaches it.
        largest_certain: Most nodes whose bound reaches it at the lower end of the band.
        fastest: Nodes of the least time.
        cheapest: Fewest core-hours among those within the deadline (if there is one).
        deadline_s: Time limit, seconds; ``None`` without.
    """

    least_efficiency: float
    largest: int | None
    largest_certain: int | None
    fastest: int
    cheapest: int | None
    deadline_s: float | None = None


def advise(projection: Projection, least_efficiency: float, deadline_s: float | None = None) -> Advice:
    """Node counts to ask for, of those in the projection.

    All numbers are bounds: a real program is not faster, so fewer nodes may be sensible, not more.
    """
    nodes = projection.nodes

    def most(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int | None:
        return int(nodes[mask].max()) if mask.any() else None

    in_time = np.full(len(nodes), True) if deadline_s is None else projection.time_s <= deadline_s
    cost = np.where(in_time, projection.core_hours(), np.inf)
    return Advice(
        least_efficiency=least_efficiency,
        largest=most(projection.efficiency >= least_efficiency),
        largest_certain=most(projection.efficiency_low >= least_efficiency),
        fastest=int(nodes[np.argmin(projection.time_s)]),
        cheapest=int(nodes[np.argmin(cost)]) if in_time.any() else None,
        deadline_s=deadline_s,
    )


def on_nodes(projection: Projection, nodes: int) -> int:
    """Index of a node count."""
    return int(np.flatnonzero(projection.nodes == nodes)[0])


__all__ = ["Advice", "Projection", "advise", "on_nodes", "project", "replace"]
