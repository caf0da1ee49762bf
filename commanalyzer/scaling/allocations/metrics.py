"""Metrics of a communication phase under a placement (paper Section 3.2).

======  ======================================================================================
metric  meaning
======  ======================================================================================
S       mean size of a message, bytes
M       mean number of messages that a process sends
PT      process traffic: bytes that a process sends, the mean over processes
N       nodes
PPN     processes per node
NT      node traffic: bytes that a node sends to other nodes, of the busiest node
NI      node injection: messages that a node sends to other nodes, of the busiest node
V       bytes between nodes, all together
VI      messages between nodes, all together
LT      link traffic: bytes on the busiest link, over its bandwidth relative to a node's (the *congestion* of
        a mapping, T. Hoefler, M. Snir, ICS 2011); only where routes are known
D       most links that a message crosses (*dilation* of the mapping); only where routes are known
======  ======================================================================================

Beside them the number of occupied neighbourhoods of each level of the network (SW switches, R racks, ...), by
the names of the machine file. S, M and PT count messages between processes of one node, too; NT, NI, V and VI
do not. The paper does not say whether NT and NI are those of a mean or of the busiest node; where all nodes
send alike, as in its benchmark, they agree. The busiest one ends a phase.

Physics of a phase: LogGP with the max-rate model of node injection, to be compared with areas.

    T = L + 2 o M + max(NI g, NT / B_node, PT / B_process)

A message takes L; a process is busy o for each message that it sends and each that it takes in; a node
injects at most one message per g and B_node bytes per second, and one of its processes B_process. The maximum
is the max-rate model: PPN processes share a node's rate as soon as PPN times the rate of one exceeds it.

Reference: A. Alexandrov et al., LogGP, SPAA 1995; W. Gropp, L. N. Olson, P. Samfass, Modeling MPI
communication performance on SMP nodes: is it time to retire the ping pong test, EuroMPI 2016 (max-rate
model). Departure: M and NI count single messages, where LogGP and Gropp et al. send one.

Models of the time of a communication phase: areas of the metrics with a formula each (paper Section 3).

A model comes from a machine file (:mod:`commanalyzer.machine.phase_times`): published, or fitted by
:mod:`commanalyzer.scaling.allocations.campaign`. Formulas are those of laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import FitError, MachineModelError
from commanalyzer.machine.parameters import MachineParameters
from commanalyzer.machine.phase_times import Condition, PhaseTimes, Unit
from commanalyzer.machine.placement import Placement
from commanalyzer.machine.simulation.routes import Messages, Topology
from commanalyzer.scaling.laws.formula_reader import read_formula
from commanalyzer.scaling.laws.law import Law
from commanalyzer.scaling.laws.terms import Floats, columns

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PhasePrediction:
    """Predicted phases; arrays over the phases."""

    time_s: Floats  # [n], seconds, never negative
    area: tuple[str, ...]  # name of the area of each
    is_beyond: Flags  # [n], outside of the training data
    is_clamped: Flags  # [n], the formula is below zero there; the time is given as 0


@dataclass(frozen=True, slots=True)
class AreaModel:
    """Formulas by area."""

    title: ClassVar[str] = "areas"  # what to call it
    times: PhaseTimes
    laws: tuple[Law, ...]

    @property
    def metrics(self) -> frozenset[str]:
        """Metrics that a formula or a condition needs."""
        asked = {c.metric for area in self.times.areas for c in area.where}
        return frozenset(asked.union(*(law.parameters for law in self.laws)))

    def predict(self, metrics: Mapping[str, Floats]) -> PhasePrediction:
        """Times of phases; metrics are float64[n] by name, as above; ``FitError`` if one is missing."""
        require(metrics, self.metrics, "model of phases")
        count = len(next(iter(metrics.values())))
        time_s, chosen = np.full(count, np.nan), np.full(count, -1)
        for k, (area, law) in enumerate(zip(self.times.areas, self.laws, strict=True)):
            mine = (chosen < 0) & holds(area.where, metrics, count)
            points = np.stack([metrics[name][mine] for name in law.parameters], axis=1)
            terms = columns(law.formula.terms, points.reshape(int(mine.sum()), len(law.parameters)))
            time_s[mine] = terms @ np.array(law.formula.coefficients)
            chosen[mine] = k
        silent = metrics["NI"] == 0 if "NI" in metrics else np.zeros(count, dtype=np.bool_)
        # Nothing crosses between nodes: these are models of the network, not of shared memory.
        time_s[silent] = 0.0
        outside = beyond = chosen < 0
        for name, low, high in self.times.ranges:
            if name in metrics:
                beyond = beyond | (metrics[name] < low) | (metrics[name] > high)
        names = (*(area.name for area in self.times.areas), "none")
        return PhasePrediction(
            np.where(outside, np.nan, np.maximum(time_s, 0.0)),
            tuple(names[k] for k in chosen.tolist()),
            beyond & ~silent,
            np.asarray(time_s < 0),
        )


def model_of(machine: MachineParameters) -> PhaseModel:
    """Areas where the machine has some, else its max-rate model; ``MachineModelError`` if it has neither."""
    return injection_of(machine) if machine.phase_times is None else read_model(machine.phase_times)


def read_model(times: PhaseTimes) -> AreaModel:
    """Model with its formulas read; ``MachineModelError`` if a formula cannot be read."""
    laws = []
    for area in times.areas:
        try:
            laws.append(read_formula(area.formula))
        except FitError as error:
            raise MachineModelError(
                error.message, where=f"phase_times.areas {area.name}: {error.where}", hint=error.hint
            ) from error
    return AreaModel(times, tuple(laws))


def holds(where: Sequence[Condition], metrics: Mapping[str, Floats], count: int) -> Flags:
    """bool[n], phases that meet all conditions."""
    found = np.ones(count, dtype=np.bool_)
    for condition in where:
        value = metrics[condition.metric]
        found &= value > condition.bound if condition.is_above else value <= condition.bound
    return found


def require(metrics: Mapping[str, Floats], needed: frozenset[str], where: str) -> None:
    """Raise FitError unless all needed metrics are there."""
    missing = sorted(needed - set(metrics))
    if missing:
        raise FitError(
            f"expected the metrics {', '.join(sorted(needed))}, found no {', '.join(missing)} among "
            f"{', '.join(metrics) or 'none'}",
            where=where,
            hint="shape metrics need [[units]] in the machine file; LT and D need --network",
        )


_NEEDED = frozenset({"M", "PT", "NT", "NI"})
_LEAST_POINTS = 8
_NODE_STARTS, _PROCESS_STARTS = (1.0, 2.0), (1.0, 0.5, 0.2)  # of the largest rate seen


@dataclass(frozen=True, slots=True)
class InjectionModel:
    """Rates of a node and its processes."""

    title: ClassVar[str] = "max-rate"  # what to call it
    latency_s: float  # L
    overhead_s: float  # o
    gap_s: float  # g, of a node
    node_bandwidth: float  # B_node, B/s
    process_bandwidth: float  # B_process, B/s

    def predict(self, metrics: Mapping[str, Floats]) -> PhasePrediction:
        """Times of phases, as :meth:`AreaModel.predict`."""
        require(metrics, _NEEDED, "max-rate model")
        injection = np.maximum(
            metrics["NI"] * self.gap_s,
            np.maximum(
                metrics["NT"] / self.node_bandwidth,
                np.where(metrics["NT"] > 0, metrics["PT"], 0.0) / self.process_bandwidth,
            ),
        )
        silent = metrics["NI"] == 0
        time_s = np.where(silent, 0.0, self.latency_s + 2 * self.overhead_s * metrics["M"] + injection)
        nothing = np.zeros(len(time_s), dtype=np.bool_)
        return PhasePrediction(time_s, ("max-rate",) * len(time_s), nothing, nothing)


PhaseModel: TypeAlias = AreaModel | InjectionModel  # what predicts the time of phases from their metrics


def injection_of(machine: MachineParameters) -> InjectionModel:
    """Model of a machine's parameters; a process reaches the node's bandwidth where nothing else is known.

    Raises ``MachineModelError`` if bandwidth or latency is unknown.
    """
    known = {name: parameter.value for name, parameter in machine.parameters.items()}
    missing = [name for name in ("bandwidth", "latency") if name not in known]
    if missing:
        raise MachineModelError(
            f"expected bandwidth and latency of the machine, found no {' and no '.join(missing)}",
            where=machine.name or "machine",
        )
    overhead_s = known.get("message_overhead", 0.0)
    return InjectionModel(
        # The measured latency is that of a whole message, both ends' work included.
        max(known["latency"] - 2 * overhead_s, 0.0),
        overhead_s,
        known.get("gap", 0.0),
        known["bandwidth"],
        known.get("process_bandwidth", known["bandwidth"]),
    )


def fit_injection(metrics: Mapping[str, Floats], time_s: Floats) -> InjectionModel:
    """Parameters with the least squares of the logarithm of predicted over measured time.

    ``metrics``: float64[n] by name; ``time_s``: float64[n], measured. Raises ``FitError`` if a metric is
    missing or there are fewer than eight phases between nodes.
    """
    from scipy.optimize import least_squares

    require(metrics, _NEEDED, "max-rate model")
    known = (time_s > 0) & (metrics["NI"] > 0)
    if known.sum() < _LEAST_POINTS:
        raise FitError(f"expected {_LEAST_POINTS} phases between nodes, found {int(known.sum())}")
    data = {name: metrics[name][known] for name in _NEEDED}
    target = np.log(time_s[known])

    def model(logs: Floats) -> InjectionModel:
        latency_s, overhead_s, gap_s, node, process = np.exp(logs).tolist()
        return InjectionModel(latency_s, overhead_s, gap_s, node, process)

    def residual(logs: Floats) -> Floats:
        return np.asarray(np.log(model(logs).predict(data).time_s) - target)

    start_s = float(np.exp(target.min()))
    rate = float((data["NT"] / np.exp(target)).max())
    small_s = [np.log(start_s / part) for part in (2, 20, 100)]
    # The cost has several minima: which of the rates limits large messages decides.
    starts = [
        np.array([*small_s, np.log(max(rate * node, 1.0)), np.log(max(rate * process, 1.0))])
        for node in _NODE_STARTS
        for process in _PROCESS_STARTS
    ]
    found = [least_squares(residual, start, loss="soft_l1", f_scale=0.1) for start in starts]
    return model(min(found, key=lambda result: float(result.cost)).x)


def phase_metrics(
    messages: Messages, placement: Placement, units: Sequence[Unit] = (), network: Topology | None = None
) -> dict[str, float]:
    """Metrics of one phase."""
    size = messages.size_bytes.astype(np.float64)
    source, target = placement.node[messages.sender], placement.node[messages.receiver]
    between = source != target
    total, count, ranks = float(size.sum()), len(size), placement.num_ranks
    node_bytes = np.bincount(source[between], size[between], placement.num_nodes)
    node_messages = np.bincount(source[between], minlength=placement.num_nodes)
    found = {
        "S": total / max(count, 1),
        "M": count / ranks,
        "PT": total / ranks,
        "N": float(placement.num_nodes),
        "PPN": float(placement.ranks_per_node),
        "NT": float(node_bytes.max(initial=0.0)),
        "NI": float(node_messages.max(initial=0)),
        "V": float(node_bytes.sum()),
        "VI": float(node_messages.sum()),
    }
    found |= shape(placement, units)
    if network is not None:
        found |= _routed(messages, placement, between, network)
    return found


def shape(placement: Placement, units: Sequence[Unit]) -> dict[str, float]:
    """Occupied neighbourhoods of each level."""
    return {unit.name: float(len(np.unique(placement.position // unit.nodes))) for unit in units}


def units_of(network: Topology) -> tuple[Unit, ...]:
    """Neighbourhoods of a generated network: U1 the smallest."""
    return tuple(Unit(f"U{level}", nodes) for level, nodes in enumerate(network.units, start=1))


def in_columns(rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """float64[n] of each metric that all rows have."""
    names = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}


def _routed(
    messages: Messages,
    placement: Placement,
    between: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    network: Topology,
) -> dict[str, float]:
    place = placement.rank_position
    pairs, inverse = np.unique(
        np.stack((place[messages.sender[between]], place[messages.receiver[between]])),
        axis=1,
        return_inverse=True,
    )
    size = np.bincount(inverse.ravel(), messages.size_bytes[between], pairs.shape[1])
    routes = network.routes(pairs[0], pairs[1])
    factors = network.link_factors
    used = routes >= 0
    load = np.bincount(routes[used], np.broadcast_to(size[:, None], routes.shape)[used], len(factors))
    return {"LT": float((load / factors).max(initial=0.0)), "D": float(network.steps(routes).max(initial=0))}
