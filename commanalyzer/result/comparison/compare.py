"""A prediction and a counted MPI run side by side.

Finds the numbering of predicted parts that agrees best with the ranks of a program.

Parts are arbitrary labels, ranks are not. The agreement of two matrices A and B is

    2 sum_ij min(A_ij, B_ij) / (sum A + sum B)      (Sorensen's index, 1 when equal, 0 when disjoint)

Finding the best permutation is a quadratic assignment problem. Up to ``EXACT_PARTS`` parts all permutations
are tried; beyond, the best of several starts, each improved by exchanging pairs of parts until no exchange
helps: a lower end of what is possible. Starts are the parts as they are, and *growths*: one part is given to
one rank, then again and again the part and rank that share most traffic with those already placed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commanalyzer.foundation.errors import ConfigError, MachineModelError
from commanalyzer.foundation.quantities import format_bytes, format_percent, format_seconds, parse_seconds
from commanalyzer.graph.value_graph import Float64, Int64
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
    # Without imbalances: that of the run is not known, and in the rest of the gap.
    items = [(d.method, d.communication) for d in prediction.chosen(set(times) - {1}, model)]
    points = {point.num_nodes: point for point in scaling_bound(prediction.work.amount, items, known).points}
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


EXACT_PARTS = 7
_MAX_SWEEPS = 50
_MAX_GROWTHS = 64
_IMPROVED_GROWTHS = 6
_NAMED_PAIRS = 3  # in the sentence that sums a comparison up


@dataclass(frozen=True, slots=True)
class Relabelling:
    """Parts in the order of ranks."""

    order: Int64  # [p], part that plays rank r
    agreement: float  # Sorensen's index of the reordered predicted and the counted matrix, 0 to 1
    is_exact: bool  # all permutations were tried


def best_relabelling(predicted: Int64, counted: Int64) -> Relabelling:
    """Numbering of parts that maximises the agreement of two int64[p, p] matrices."""
    p = len(counted)
    total = int(predicted.sum()) + int(counted.sum())
    if p <= EXACT_PARTS:
        order = _exhaustive(predicted, counted)
    else:
        starts = [np.arange(p, dtype=np.int64), *_grown(predicted, counted)]
        found = [_improved(start, predicted, counted) for start in starts]
        order = max(found, key=lambda item: _shared(item, predicted, counted))
    shared = _shared(order, predicted, counted)
    return Relabelling(order, 2 * shared / total if total else 1.0, p <= EXACT_PARTS)


def reorder(matrix: Int64, order: Int64) -> Int64:
    """``matrix`` with part ``order[r]`` in row and column r."""
    return matrix[np.ix_(order, order)]


def _shared(order: Int64, predicted: Int64, counted: Int64) -> int:
    return int(np.minimum(reorder(predicted, order), counted).sum())


def _exhaustive(predicted: Int64, counted: Int64) -> Int64:
    p = len(counted)
    orders = np.array(list(itertools.permutations(range(p))), dtype=np.int64).reshape(-1, p)
    candidates = predicted[orders[:, :, None], orders[:, None, :]]
    # The first of equals: parts keep their numbers where nothing is gained.
    return np.asarray(orders[int(np.argmax(np.minimum(candidates, counted).sum(axis=(1, 2))))])


def _grown(predicted: Int64, counted: Int64) -> list[Int64]:
    """The best growths from the ranks that talk most and least, one per part that may play them."""
    wanted, found = _profile(counted), _profile(predicted)
    distance = np.abs(wanted[:, None, :] - found[None, :, :]).sum(axis=2)  # of rank (row) and part (column)
    traffic = counted.sum(axis=0) + counted.sum(axis=1)
    orders = []
    for rank in (int(np.argmax(traffic)), int(np.argmin(traffic))):
        seeds = np.argsort(distance[rank], kind="stable")[:_MAX_GROWTHS].tolist()
        orders += [_growth(rank, part, distance, predicted, counted) for part in seeds]
    orders.sort(key=lambda order: -_shared(order, predicted, counted))
    return orders[:_IMPROVED_GROWTHS]


def _growth(rank: int, part: int, distance: Float64, predicted: Int64, counted: Int64) -> Int64:
    """int64[p], order grown from ``part`` at ``rank``; O(p^3). Ties go to parts of similar traffic."""
    p = len(counted)
    order = np.zeros(p, dtype=np.int64)
    score = -distance / (1.0 + 2.0 * float(distance.max()))  # less than a byte
    for _ in range(p):
        order[rank] = part
        score += np.minimum(counted[:, rank][:, None], predicted[:, part][None, :])
        score += np.minimum(counted[rank][:, None], predicted[part][None, :])
        score[rank, :] = -np.inf
        score[:, part] = -np.inf
        rank, part = map(int, np.unravel_index(int(np.argmax(score)), score.shape))
    return order


def _profile(matrix: Int64) -> Float64:
    """float64[p, 2p], sorted amounts that each part sends and receives: independent of numbering."""
    sent, received = np.sort(matrix, axis=1), np.sort(matrix.T, axis=1)
    return np.concatenate([sent, received], axis=1).astype(np.float64)


def _improved(order: Int64, predicted: Int64, counted: Int64) -> Int64:
    """``order`` after exchanging the best pair, again and again, until no exchange helps."""
    for _ in range(_MAX_SWEEPS * len(order)):
        gain, first, second = _best_exchange(order, predicted, counted)
        if gain <= 0:
            break
        order = order.copy()
        order[[first, second]] = order[[second, first]]
    return order


def _best_exchange(order: Int64, predicted: Int64, counted: Int64) -> tuple[int, int, int]:
    """Gain of shared bytes and the two ranks whose parts to exchange."""
    current = reorder(predicted, order)
    found = (0, 0, 0)
    for first in range(len(order) - 1):
        gains = _exchange_gains(current, counted, first)
        second = int(np.argmax(gains))
        if gains[second] > found[0]:
            found = (int(gains[second]), first, second)
    return found


def _exchange_gains(current: Int64, counted: Int64, first: int) -> Int64:
    """int64[p], gain of exchanging what plays rank ``first`` with what plays each other rank; O(p^2).

    Rows and columns of the two ranks change; for the 2 x 2 block where they meet the sums over rows and
    columns are corrected.
    """
    p = len(current)
    same = np.minimum(current, counted)
    gains = np.zeros(p, dtype=np.int64)
    for a, b in ((current, counted), (current.T, counted.T)):
        kept = np.minimum(a, b)
        # Row `first` is filled from row `j`, row `j` from row `first`; columns as they are.
        swapped = np.minimum(a, b[first]) + np.minimum(a[first], b)
        plain = kept[first] + kept
        change = swapped - plain
        # Entries in columns `first` and `j` are treated below.
        gains += change.sum(axis=1) - change[:, first] - np.diagonal(change)
    diagonal, counted_diagonal = np.diagonal(current), np.diagonal(counted)
    pairs = (
        (current[first], counted[:, first]),
        (current[:, first], counted[first]),
        (diagonal, np.full(p, counted[first, first])),
        (np.full(p, current[first, first]), counted_diagonal),
    )
    block = sum(np.minimum(a, b) for a, b in pairs)
    before = same[first] + same[:, first] + np.diagonal(same) + same[first, first]
    gains += block - before
    gains[first] = 0
    return gains


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted against counted communication of one decomposition.

    Attributes:
        prediction: The predicted result.
        predicted: Its compared decomposition.
        counted: The counted part of the MPI run.
        candidates: All predicted decompositions for that many parts, the compared one included.
        relabelling: Part that plays each rank.
        predicted_bytes: int64[p, p], predicted matrix in the order of ranks.
        measured: Times of the MPI program against the bounds; ``None`` where none were given.
    """

    prediction: AnalysisResult
    predicted: Decomposition
    counted: Decomposition
    candidates: tuple[Decomposition, ...]
    relabelling: Relabelling
    predicted_bytes: Int64
    measured: MeasuredRuns | None = None

    @property
    def ratio(self) -> float | None:
        """Predicted over counted bytes; ``None`` when nothing was counted."""
        return ratio(self.predicted.comm_bytes, self.counted.comm_bytes)

    @property
    def accuracy(self) -> float | None:
        """``1 - |predicted - counted| / counted`` of the totals; ``None`` when nothing was counted."""
        return accuracy(self.predicted.comm_bytes, self.counted.comm_bytes)

    @property
    def difference(self) -> Int64:
        """int64[p, p], predicted less counted bytes, in the order of ranks."""
        return self.predicted_bytes - self.counted.communication.comm_bytes

    def __repr__(self) -> str:
        agreement = format_percent(self.relabelling.agreement)
        return f"Comparison(p={self.predicted.nodes}, agreement {agreement}). {self.verdict}"

    @property
    def least(self) -> Decomposition:
        """The least that was found by any means, in the model of the compared decomposition."""
        return self.prediction.best(self.predicted.nodes, self.predicted.model)

    def excess(self, division: Decomposition) -> tuple[int, int]:
        """Bytes that the program sends beyond ``division``, at least and at most; negative: fewer."""
        sent, needed = self.counted.comm_bytes, division.communication
        return sent - needed.high_bytes, sent - needed.low_bytes

    @property
    def is_worse(self) -> bool | None:
        """The program sends more than the least found; ``None`` where the bracket leaves it open."""
        low, high = self.excess(self.least)
        return True if low > 0 else None if high > 0 else False

    @property
    def verdict(self) -> str:
        """Whether the program sends more than it must, against what, and between which ranks: a sentence."""
        answer = {True: "Yes", False: "No, as far as is known", None: "It cannot be said"}
        least = "" if self.least is self.predicted else f", {self._beyond(self.least)}, the least found"
        chosen = self._beyond(self.predicted) + ("" if least else ", the least found")
        sent = format_bytes(self.counted.comm_bytes)
        return (
            f"More than it must send? {answer[self.is_worse]}: the program sends {sent}, {chosen}{least}"
            f"{self._places()}."
        )

    def _beyond(self, division: Decomposition) -> str:
        low, high = self.excess(division)
        if low < 0 < high:
            ends = [format_bytes(getattr(division.communication, f"{end}_bytes")) for end in ("low", "high")]
            return f"which is inside the bracket {ends[0]} to {ends[1]} of {division.method}"
        if not (low or high):
            return f"exactly as {division.method}"
        amount = " to ".join(dict.fromkeys(map(format_bytes, sorted((abs(low), abs(high))))))
        share = ratio(abs(self.counted.comm_bytes - division.comm_bytes), division.comm_bytes)
        amount += "" if share is None else f" ({format_percent(share)})"
        return f"{amount} {'more' if high > 0 else 'less'} than {division.method}"

    def _places(self) -> str:
        """Where more is sent than predicted, the largest pairs first; empty where nowhere."""
        pairs = [(i, j, b - a) for i, j, a, b in self.largest_differences(self.difference.size) if b > a]
        if not pairs:
            return ""
        named = ", ".join(f"{i} to {j} (+{format_bytes(amount)})" for i, j, amount in pairs[:_NAMED_PAIRS])
        rest = f" and {len(pairs) - _NAMED_PAIRS} other pairs" if len(pairs) > _NAMED_PAIRS else ""
        return f"; ranks that send more than predicted: {named}{rest}"

    def largest_differences(self, limit: int) -> list[tuple[int, int, int, int]]:
        """(source, target, predicted, counted bytes) of the rank pairs that differ most, largest first."""
        size = np.abs(self.difference)
        first = np.argsort(-size, axis=None, kind="stable")[:limit]
        first = first[size.ravel()[first] > 0]
        sources, targets = np.unravel_index(first, size.shape)
        counted = self.counted.communication.comm_bytes[sources, targets]
        predicted = self.predicted_bytes[sources, targets]
        columns = (sources, targets, predicted, counted)
        return list(zip(*(column.tolist() for column in columns), strict=True))


def compare(
    predicted: AnalysisResult, counted: AnalysisResult, *, model: str = "", method: str = "", region: str = ""
) -> Comparison:
    """Comparison of the predicted decomposition for as many parts as there were ranks.

    When they are empty, ``model`` is the leading one of the prediction, ``method`` its cheapest, and
    ``region``, marked in the counted run, what this was counted for. A :class:`ConfigError` if they are not
    in the results, or these are of the wrong kinds.
    """
    if predicted.counted is not None:
        raise ConfigError("expected a prediction as the first result, found a counted MPI run")
    if counted.counted is None:
        raise ConfigError(
            "expected a counted MPI run as the second result, found a prediction",
            hint="make one with: commanalyzer count -o counted.cmz -- mpiexec -n 4 ./program",
        )
    ranks = counted.counted.ranks
    if ranks not in predicted.nodes:
        known = ", ".join(map(str, predicted.nodes)) or "none"
        raise ConfigError(
            f"expected a prediction for {ranks} nodes, found {known}",
            hint=f"make one from the same result with: commanalyzer partition RESULT --nodes {ranks}",
        )
    chosen = predicted.decomposition(ranks, model, method)
    seen = counted.decomposition(ranks, method=f"region {region}" if region else "")
    found = best_relabelling(chosen.communication.comm_bytes, seen.communication.comm_bytes)
    return Comparison(
        prediction=predicted,
        predicted=chosen,
        counted=seen,
        candidates=tuple(d for d in predicted.decompositions if d.nodes == ranks),
        relabelling=found,
        predicted_bytes=reorder(chosen.communication.comm_bytes, found.order),
    )


def ratio(predicted: int, counted: int) -> float | None:
    """``predicted`` over ``counted``; ``None`` when nothing was counted."""
    return predicted / counted if counted else None


def accuracy(predicted: int, counted: int) -> float | None:
    """``1 - |predicted - counted| / counted``, negative when more than twice as much is predicted."""
    return 1.0 - abs(predicted - counted) / counted if counted else None
