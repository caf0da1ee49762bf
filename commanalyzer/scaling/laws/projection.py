"""Projection: laws and a machine -> efficiency, time and cost of problems that were not analysed.

The model is that of :mod:`commanalyzer.machine.roofline.bound`: bytes, messages, rounds and collectives of
the busiest node and of the mean node (:data:`commanalyzer.machine.roofline.traffic.SUMMARY`), each from its
law; the work of the busiest node where it is uneven (:func:`imbalance_at`). Laws that are exact give what the
bound of a result gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import FitError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.roofline.bound import latency_aware
from commanalyzer.machine.roofline.traffic import SUMMARY, network_at, summarised_traffic
from commanalyzer.scaling.laws.formula import doubt_text
from commanalyzer.scaling.laws.law import UNPREDICTED, Law, law_of, require_whole
from commanalyzer.scaling.laws.regression import Index
from commanalyzer.scaling.laws.terms import NODES, Floats

Division = Literal["best", "regular"]
_BYTES: Mapping[Division, str] = {"best": "comm_bytes", "regular": "regular_bytes"}
_PREFIX: Mapping[Division, str] = {"best": "", "regular": "regular_"}
_MOST_GROWTH = 1e30
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Projection:
    """Curves over node counts; arrays float64[P], one entry per node count.

    ``low`` and ``high`` are the ends of bands: a higher efficiency belongs to more work and less
    communication, a longer time to more of both.
    """

    kind: str  # ``strong`` (the problem stays) or ``weak`` (the work per node stays)
    nodes: Index  # p, int64[P]
    sizes: Mapping[str, Floats]  # values of the program's parameters by name
    work_flop: Floats  # W
    comm_bytes: Floats  # C
    comm_bytes_low: Floats  # lower end of its band
    comm_bytes_high: Floats  # upper end
    serial_s: Floats  # T_1, seconds
    efficiency: Floats  # bound of the parallel efficiency
    efficiency_low: Floats  # lower end
    efficiency_high: Floats  # upper end
    time_s: Floats  # least time T_1 / (p E), paper Eq. 5, seconds
    time_low_s: Floats  # lower end
    time_high_s: Floats  # upper end
    # What the program's memory takes of each node, without copies of what others own; NaN where there is no
    # law of it
    node_bytes: Floats
    node_bytes_limit: float  # memory of the machine's nodes; infinite where it is not known
    is_beyond: NDArray[np.bool_]  # [P], outside of the data of a law
    missing: tuple[str, ...]  # what the laws do not know of messages and nodes; those terms are left out
    lacking: tuple[str, ...] = ()  # runs to add before there are bands, whose ends are NaN until then
    doubts: tuple[str, ...] = ()  # laws of which the data allow forms that differ on these nodes

    def __repr__(self) -> str:
        curve = ", ".join(f"{100 * e:.1f} % on {p}" for p, e in zip(self.nodes, self.efficiency, strict=True))
        return f"Projection({self.kind}, efficiency at most {curve})"

    @property
    def has_memory(self) -> NDArray[np.bool_]:
        """bool[P], the program fits, as far as is known."""
        return ~(self.node_bytes > self.node_bytes_limit)

    @property
    def speedup(self) -> Floats:
        """float64[P], p E."""
        return np.asarray(self.nodes * self.efficiency)

    def core_hours(self, cores_per_node: int = 1) -> Floats:
        """float64[P], nodes x cores x hours, at least."""
        return np.asarray(self.nodes * cores_per_node * self.time_s / 3600.0)


def usual_division(laws: Sequence[Law]) -> Division:
    """``regular`` where plain blocks have a law: they can be programmed, and their laws are simple."""
    return "regular" if any(law.metric == _BYTES["regular"] for law in laws) else "best"


def project(
    laws: Sequence[Law],
    machine: MachineParameters,
    nodes: Sequence[int],
    sizes: Mapping[str, float],
    *,
    weak_parameter: str = "",
    division: Division | None = None,
) -> Projection:
    """Bounds over node counts.

    ``laws``: of the bytes of the division and ``work_flops``; those of its messages and nodes where known.
    ``machine``: bandwidth and throughput must be known. ``nodes``: p, each at least 1. ``sizes``: value of
    every parameter of the program that a law depends on. ``weak_parameter``: grow this one so that the work
    per node stays that of ``sizes`` on one node; empty for strong scaling. ``division``: ``best`` of all that
    were found (``comm_bytes``), or plain blocks (``regular_bytes``); ``None`` for the usual one. Raises
    ``ConfigError`` if a size is no whole number that was one in all data; ``FitError`` if a law or a
    parameter is missing, or the work does not grow with ``weak_parameter``; ``MachineModelError`` if the
    machine is incomplete.
    """
    require_whole(laws, sizes)
    work, division = law_of(laws, "work_flops"), division or usual_division(laws)
    needed = (_BYTES[division], *(f"{_PREFIX[division]}{name}" for name in ("messages", *SUMMARY)))
    law_of(laws, _BYTES[division])
    known = {law.metric: law for law in laws if law.metric in needed}
    p = np.array(sorted(set(nodes)), dtype=np.int64)
    values: dict[str, Floats] = {name: np.full(len(p), float(value)) for name, value in sizes.items()}
    if weak_parameter:
        values[weak_parameter] = _grown(work, sizes, weak_parameter, p)
    points: dict[str, Floats | float] = {**values, NODES: p.astype(np.float64)}
    work_flop, (work_low, work_high) = work.predict(points), work.band(points)
    if not (work_flop > 0).all():
        raise FitError("expected some work, found none", where="law of work_flops")
    traffic: list[Mapping[str, Floats]] = [{name: law.predict(points) for name, law in known.items()}]
    bands = {name: law.band(points) for name, law in known.items()}
    traffic += [{name: ends[k] for name, ends in bands.items()} for k in (0, 1)]
    # By which ends of the bands efficiencies (middle, low, high) and times (low, high) follow.
    amounts = (work_flop, work_low, work_high)
    used = (work, *known.values())
    lacking = tuple(dict.fromkeys(f"add {law.lacks}" for law in used if law.lacks))
    uneven = imbalance_at(laws, division, p)
    cases = [(amounts[i], traffic[k]) for i, k in ((0, 0), (1, 2), (2, 1), (1, 1), (2, 2))]
    unknown = (np.full(len(p), np.nan),) * 2
    found = [_bounds(machine, p, *cases[0], needed, uneven)]
    found += [unknown if lacking else _bounds(machine, p, *case, needed, uneven) for case in cases[1:]]
    memory = [law.predict(points) for law in laws if law.metric == "footprint_bytes"]
    # One node has nobody to talk to; the law need not say so.
    sent = [np.where(p == 1, 0.0, values[_BYTES[division]]) for values in traffic]
    several = {name: np.ravel(value)[p > 1] for name, value in points.items()} if p[-1] > 1 else points
    doubts = [(law.metric, note) for law in used for note in law.notes if note.startswith(UNPREDICTED)]
    doubts += [(law.metric, doubt_text(law, several)) for law in used]
    if (most := float(uneven.max())) > 1.0:
        doubts.append(
            ("imbalance", f"a node has up to {most:.3g} times the mean work, on more nodes at least")
        )
    beyond = np.any([law.is_beyond(points) for law in used], axis=0)
    return Projection(
        "weak" if weak_parameter else "strong", p, values, work_flop, sent[0], sent[1], sent[2],
        serial_s=found[0][0] * found[0][1] * p,
        efficiency=found[0][0], efficiency_low=found[1][0], efficiency_high=found[2][0],
        time_s=found[0][1], time_low_s=found[3][1], time_high_s=found[4][1],
        node_bytes=memory[0] / p if memory else unknown[0],
        node_bytes_limit=np.inf if machine.memory is None else machine.memory.value,
        is_beyond=beyond, missing=tuple(name for name in needed if name not in known),
        lacking=lacking, doubts=tuple(f"{metric}: {doubt}" for metric, doubt in doubts if doubt),
    )  # fmt: skip


def _bounds(
    machine: MachineParameters,
    nodes: Index,
    work_flop: Floats,
    traffic: Mapping[str, Floats],
    needed: Sequence[str],
    uneven: Floats,
) -> tuple[Floats, Floats]:
    """Efficiency and least time, seconds, float64[P] each, by the latency-aware bound."""
    efficiency, time_s = np.ones(len(nodes)), np.zeros(len(nodes))
    for i, p in enumerate(nodes.tolist()):  # one step per node count
        now = {name: float(traffic[name][i]) if p > 1 else 0.0 for name in needed if name in traffic}
        summary = {name: now[key] for name, key in zip(SUMMARY, needed[2:], strict=True) if key in now}
        summary["imbalance"] = float(uneven[i])
        exchanged = summarised_traffic(p, now[needed[0]], now.get(needed[1], 0.0), summary)
        amount = max(float(work_flop[i]), 1.0)
        efficiency[i], times = latency_aware(amount, exchanged, network_at(machine, exchanged))
        time_s[i] = times.computation_s + times.exposed_s + times.waiting_s
    return efficiency, time_s


def imbalance_at(laws: Sequence[Law], division: Division, nodes: Index) -> Floats:
    """float64[P], work of the node with the most over the mean; 1 without a law, which even work has none of.

    On more nodes than were analysed it is that on the most: the growth of an imbalance is not known.
    """
    law = next((law for law in laws if law.metric == f"{_PREFIX[division]}imbalance"), None)
    if law is None:
        return np.ones(len(nodes))
    known = dict(zip(law.parameters, law.highest, strict=True)).get(NODES, np.inf)
    return np.clip(law.predict({NODES: np.minimum(nodes, known)}), 1.0, nodes)


def _grown(work: Law, sizes: Mapping[str, float], parameter: str, nodes: Index) -> Floats:
    """float64[P], the parameter where the work is p times that at ``sizes``, by bisection."""
    if parameter not in work.parameters or parameter not in sizes:
        raise FitError(
            f"expected a parameter that the work depends on, found {parameter!r}",
            where="weak scaling",
            hint=f"the law of work_flops has {', '.join(work.parameters) or 'no parameters'}",
        )
    start = float(sizes[parameter])
    wanted = work.predict(sizes)[0] * nodes.astype(np.float64)
    low, high = np.full(len(nodes), start), np.full(len(nodes), start * _MOST_GROWTH)
    if not (work.predict({**sizes, parameter: high}) >= wanted).all():
        raise FitError(
            f"expected the work to grow with {parameter}, found that it does not", where="weak scaling"
        )
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        short = work.predict({**sizes, parameter: middle}) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    if start.is_integer() if work.whole is None else parameter in work.whole:
        high = np.maximum(np.round(high), start)
    return high


def gain_of_best(laws: Sequence[Law], machine: MachineParameters, regular: Projection) -> Projection | None:
    """The same curve for the best division that was found, where plain blocks are the usual one."""
    if usual_division(laws) == "best" or all(law.metric != _BYTES["best"] for law in laws):
        return None
    sizes = {name: float(values[0]) for name, values in regular.sizes.items()}
    return project(laws, machine, regular.nodes.tolist(), sizes, division="best")


@dataclass(frozen=True, slots=True)
class Advice:
    """How many nodes to ask for; ``None`` where no node count fulfils it."""

    least_efficiency: float  # what was asked for
    largest: int | None  # most nodes whose bound reaches it
    largest_certain: int | None  # most nodes whose bound reaches it at the lower end of the band
    fastest: int | None  # nodes of the least time among those with memory for the program
    cheapest: int | None  # fewest core-hours among those within the deadline (if there is one)
    deadline_s: float | None = None  # time limit, seconds; ``None`` without


def advise(projection: Projection, least_efficiency: float, deadline_s: float | None = None) -> Advice:
    """Node counts to ask for, of those in the projection.

    All numbers are bounds: a real program is not faster, so fewer nodes may be sensible, not more. Nodes that
    have not the memory are not advised.
    """
    nodes, fits = projection.nodes, projection.has_memory

    def most(mask: NDArray[np.bool_]) -> int | None:
        return int(nodes[mask & fits].max()) if (mask & fits).any() else None

    in_time = fits if deadline_s is None else fits & (projection.time_s <= deadline_s)
    cost = np.where(in_time, projection.core_hours(), np.inf)
    return Advice(
        least_efficiency=least_efficiency,
        largest=most(projection.efficiency >= least_efficiency),
        largest_certain=most(projection.efficiency_low >= least_efficiency),
        fastest=int(nodes[np.argmin(np.where(fits, projection.time_s, np.inf))]) if fits.any() else None,
        cheapest=int(nodes[np.argmin(cost)]) if in_time.any() else None,
        deadline_s=deadline_s,
    )
