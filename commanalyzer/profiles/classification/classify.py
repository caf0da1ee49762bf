"""Classifies the threads of several runs: profiles -> :class:`Classes`.

Topology of a communication pattern: relative sources of all ranks -> grid of ranks and place in it.

A pattern is regular on a grid if one set D of steps explains it: every rank receives from exactly those of
its neighbours at the steps in D that the grid has (a mesh ends at its borders, a torus does not).

Communication groups: lists of ranks -> nested arithmetic sequences with what their members receive.

Reference: X. Wu, F. Mueller, *ScalaExtrap: trace-based communication extrapolation for SPMD programs*, ACM
TOPLAS 34(1), 2012; *IBM Exascale Extrapolator manual*, Appendix B.3.

Clusters of every run -> classes that mean the same in all runs, by votes of neighbouring scales.

The run with the most clusters defines the classes. Then the nearest run that is not matched yet (in the
logarithms of the scaling parameters) is matched: each of its nearest matched runs votes for the assignment
with the least distance of mean profiles, and the majority decides.

Reference: G. Mariani et al., *Classification of thread profiles for scaling application behavior*; *IBM
Exascale Extrapolator manual*, Section 5.1 and ``absoluteEdgeMatching`` in Appendix B.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.classification.classes import (
    Classes,
    Floats,
    Index,
    MessageSource,
    RankGroup,
    RunClasses,
    features_of,
    letters,
    processes_of,
)
from commanalyzer.profiles.values import Profile

_SAME = 1e-9  # relative: a feature that differs by less is the same in all threads
_ALIKE = 1e-6  # of the extent of all components: threads that are nearer are the same
MOST_CLASSES = 12
"""Classes that are tried; a 3-D grid has four kinds of places, a plane whose sides are told apart nine."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Threads of one run in principal components, float64[T, D], and how many are different."""

    points: Floats
    num_distinct: int


def reduce_features(table: Floats) -> Reduced:
    """Principal components of standardised features with eigenvalues above 1, at least one.

    ``table``: float64[T, F], features of the threads of one run.
    """
    centre, spread = table.mean(axis=0), table.std(axis=0)
    telling = spread > _SAME * np.maximum(np.abs(centre), 1e-30)
    if not telling.any():
        return Reduced(np.zeros((len(table), 1)), 1)
    from sklearn.decomposition import PCA

    standard = (table[:, telling] - centre[telling]) / spread[telling]
    fitted = PCA(svd_solver="full").fit(standard)
    # Kaiser: standardised features have the variance 1 (scikit-learn divides by T - 1).
    eigenvalues = fitted.explained_variance_ * (len(table) - 1) / len(table)
    kept = max(int((eigenvalues > 1.0).sum()), 1)
    points = np.asarray(fitted.transform(standard)[:, :kept], dtype=np.float64)
    extent = max(float(np.ptp(points, axis=0).max()), 1e-30)
    return Reduced(points, len(np.unique(np.round(points / (extent * _ALIKE)), axis=0)))


def choose_number(runs: Sequence[Reduced]) -> int:
    """Number of classes with the best mean silhouette of all runs.

    One class if all threads of every run are alike. A run with fewer different threads than classes has as
    many clusters as different threads; one where all threads differ has no silhouette and does not count.

    Reference: P. Rousseeuw, *Silhouettes*, J. Comp. Appl. Math. 20, 1987.
    """
    most = min(max(run.num_distinct for run in runs), MOST_CLASSES)
    if most == 1:
        return 1
    scores = {}
    for count in range(2, most + 1):
        own = [s for run in runs if (s := _silhouette(run, count)) is not None]
        if own:
            scores[count] = float(np.mean(own))
    # Runs where all threads differ have no silhouette for so many classes.
    return max(scores, key=lambda count: (round(scores[count], 9), -count)) if scores else most


def cluster(run: Reduced, count: int) -> Index:
    """int64[T], cluster of each thread; fewer clusters where fewer threads differ."""
    number = min(count, run.num_distinct)
    if number == 1:
        return np.zeros(len(run.points), dtype=np.int64)
    from sklearn.cluster import AgglomerativeClustering

    return np.asarray(AgglomerativeClustering(number).fit_predict(run.points), dtype=np.int64)


def _silhouette(run: Reduced, count: int) -> float | None:
    number = min(count, run.num_distinct)
    if number < 2 or len(run.points) <= number:
        return None
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(run.points, cluster(run, number)))


_VOTERS = 3
"""Neighbours that vote: an odd number decides; more would let far scales outvote near ones."""


def match_runs(
    tables: Sequence[Floats], clusters: Sequence[Index], scales: Floats
) -> tuple[list[Index], dict[tuple[int, int], tuple[int, ...]]]:
    """Classes int64[T] of every run, and the votes.

    ``tables``: float64[T, F] per run; ``clusters``: int64[T] per run, from 0; ``scales``: float64[runs,
    parameters], positive.
    """
    means = _means(tables, clusters)
    places = np.log(scales)
    first = max(range(len(means)), key=lambda i: (len(means[i]), len(tables[i]), -i))
    number: dict[int, Index] = {first: np.arange(len(means[first]))}
    while len(number) < len(means):
        waiting = [i for i in range(len(means)) if i not in number]
        run = min(waiting, key=lambda i: (min(_far(places, i, j) for j in number), i))
        near = sorted(number, key=lambda j: (_far(places, run, j), j))[:_VOTERS]
        ballots = [number[j][_nearest(means[run], means[j])] for j in near]
        number[run] = _majority(ballots, len(means[first]), means[run], means[near[0]], number[near[0]])
    votes = {
        (voter, voted): tuple(number[voter][_nearest(means[voted], means[voter])].tolist())
        for voted in number
        for voter in sorted((j for j in number if j != voted), key=lambda j: _far(places, voted, j))[:_VOTERS]
        if len(means[voter]) >= len(means[voted])
    }
    return [number[i][clusters[i]] for i in range(len(means))], votes


def _means(tables: Sequence[Floats], clusters: Sequence[Index]) -> list[Floats]:
    """Mean profiles in units of each feature's spread over all threads of all runs, extents in logarithms."""
    every = np.concatenate(tables)
    logs = (every >= 0).all(axis=0)
    shown = [np.where(logs, np.log1p(np.maximum(t, 0)), t) for t in tables]
    spread = np.concatenate(shown).std(axis=0)
    scaled = [t / np.where(spread > 0, spread, 1.0) for t in shown]
    return [
        np.stack([table[own == c].mean(axis=0) for c in range(int(own.max()) + 1)])
        for table, own in zip(scaled, clusters, strict=True)
    ]


def _far(places: Floats, first: int, second: int) -> float:
    return float(np.linalg.norm(places[first] - places[second]))


def _nearest(own: Floats, other: Floats) -> Index:
    """int64, cluster of ``other`` for each one of ``own``: each once, with the least sum of distances."""
    distance = np.linalg.norm(own[:, None, :] - other[None, :, :], axis=2)
    if len(own) > len(other):
        return np.asarray(np.argmin(distance, axis=1), dtype=np.int64)
    return np.asarray(linear_sum_assignment(distance)[1], dtype=np.int64)


def _majority(ballots: Sequence[Index], count: int, own: Floats, other: Floats, numbers: Index) -> Index:
    """Class of each cluster: each class once, with the most votes; the nearest voter decides ties."""
    votes = np.zeros((len(own), count))
    for ballot in ballots:
        votes[np.arange(len(own)), ballot] += 1.0
    distance = np.linalg.norm(own[:, None, :] - other[None, :, :], axis=2)
    tie = np.full((len(own), count), distance.max(initial=0.0))
    tie[:, numbers] = distance
    cost = -votes + 0.5 * tie / max(float(tie.max()), 1e-30)
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)


_Sequence = tuple[int, tuple[tuple[int, int], ...]]


def find_groups(received: Floats, messages: Floats, common: Sequence[int]) -> tuple[RankGroup, ...]:
    """Groups of ranks with the same relative sources, the lowest start first.

    ``received`` (bytes) and ``messages``: float64[P, P], of a rank (row) from another (column). ``common``
    ranks, that all others receive from, are sources by their own number.
    """
    count = len(received)
    absolute = np.zeros(count, dtype=bool)
    absolute[list(common)] = True
    kinds: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for rank in range(count):  # one row of the matrix each
        sources = np.flatnonzero(received[rank] > 0)
        fixed = sources[absolute[sources]]
        relative = np.sort((sources[~absolute[sources]] - rank) % count)
        kinds.setdefault((tuple(relative.tolist()), tuple(fixed.tolist())), []).append(rank)
    found = [
        RankGroup(start, dimensions, _sources(group, kind, received, messages))
        for kind, ranks in kinds.items()
        for start, dimensions in sequences(ranks)
        for group in [np.array(RankGroup(start, dimensions).ranks())]
    ]
    return tuple(sorted(found, key=lambda group: group.start))


def sequences(ranks: Sequence[int]) -> list[_Sequence]:
    """Start and (stride, iterations) of as few nested sequences as a greedy search needs.

    Runs of equal stride are joined first, then equal runs at equal distances, and so on.
    """
    level: list[_Sequence] = [(rank, ()) for rank in sorted(ranks)]
    while True:
        joined = _joined(level)
        if len(joined) == len(level):
            return level
        level = joined


def _joined(level: Sequence[_Sequence]) -> list[_Sequence]:
    """Sequences of the same shape at equal distances as one of one more dimension."""
    by_shape: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for start, shape in level:
        by_shape.setdefault(shape, []).append(start)
    found: list[_Sequence] = []
    for shape, starts in by_shape.items():
        first = 0
        while first < len(starts):
            last = first + 1
            while (
                last + 1 < len(starts)
                and starts[last + 1] - starts[last] == starts[first + 1] - starts[first]
            ):
                last += 1
            # Two that stand alone are a sequence only if nothing longer starts at the second one.
            if last < len(starts) and (last - first > 1 or not _starts_longer(starts, last)):
                stride = starts[first + 1] - starts[first]
                found.append((starts[first], (*shape, (stride, last - first + 1))))
                first = last + 1
            else:
                found.append((starts[first], shape))
                first += 1
    return sorted(found)


def _starts_longer(starts: Sequence[int], at: int) -> bool:
    return at + 2 < len(starts) and starts[at + 2] - starts[at + 1] == starts[at + 1] - starts[at]


_SPREAD = (np.min, np.max, np.median, np.mean, np.std)


def _sources(
    ranks: NDArray[np.int64],
    kind: tuple[tuple[int, ...], tuple[int, ...]],
    received: Floats,
    messages: Floats,
) -> tuple[MessageSource, ...]:
    found = []
    for is_absolute, numbers in zip((False, True), kind, strict=True):
        for number in numbers:
            source = np.full(len(ranks), number) if is_absolute else (ranks + number) % len(received)
            tables = (table[ranks, source] for table in (received, messages))
            values = (tuple(float(of(table)) for of in _SPREAD) for table in tables)
            found.append(MessageSource(number, is_absolute, *values))
    return tuple(found)


Flags = NDArray[np.bool_]
MOST_DIMENSIONS = 3
PLACES = {1: ("end", "inner"), 2: ("corner", "edge", "interior"), 3: ("corner", "edge", "face", "interior")}
"""By dimensions of the grid, then by dimensions with neighbours on both sides."""


@dataclass(frozen=True, slots=True, eq=False)
class RankTopology:
    """A regular pattern."""

    kind: str  # ``none``, ``all-to-all``, ``ring``, ``mesh`` or ``torus``
    extents: tuple[int, ...]  # ranks along each dimension, the slowest one first
    lower: Flags  # [P, dimensions], something is received from a lower place along the dimension
    upper: Flags  # likewise, from a higher one

    @property
    def text(self) -> str:
        """For people: ``mesh 3 x 3``."""
        return f"{self.kind} {' x '.join(map(str, self.extents))}" if self.extents else self.kind


def find_topology(receives: Flags) -> RankTopology | None:
    """Topology of a pattern, the one with the fewest dimensions and the most cubic; ``None`` if irregular.

    ``receives``: bool[P, P], rank (row) receives from rank (column).
    """
    count = len(receives)
    nothing = np.zeros((count, 0), dtype=bool)
    if not receives.any():
        return RankTopology("none", (), nothing, nothing)
    if count > 2 and (receives | np.eye(count, dtype=bool)).all():
        return RankTopology("all-to-all", (), nothing, nothing)
    for dimensions in range(1, MOST_DIMENSIONS + 1):
        for extents in sorted(_extents(count, dimensions), key=lambda e: (sum(e), e)):
            for wraps in (False, True):
                found = _on_grid(receives, extents, wraps)
                if found is not None:
                    return found
    return None


def _extents(count: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    if dimensions == 1:
        yield (count,)
        return
    for extent in range(2, count // 2 + 1):
        if count % extent == 0:
            yield from ((extent, *rest) for rest in _extents(count // extent, dimensions - 1) if rest[0] > 1)


def _on_grid(receives: Flags, extents: Sequence[int], wraps: bool) -> RankTopology | None:
    """The pattern on this grid, ``None`` if no set of steps explains it."""
    places = np.stack(np.unravel_index(np.arange(len(receives)), extents), axis=1)
    steps = places[None, :, :] - places[:, None, :]  # [rank, source, dimension]
    sizes = np.array(extents)
    if wraps:
        if (sizes < 3).any():
            return None  # both neighbours of a dimension are the same rank: a mesh
        steps = (steps + 1) % sizes - 1
    near = (np.abs(steps) <= 1).all(axis=2) & ~np.eye(len(receives), dtype=bool)
    if (receives & ~near).any():
        return None
    code = ((steps + 1) * 3 ** np.arange(len(extents))).sum(axis=2)
    used = np.zeros(3 ** len(extents), dtype=bool)
    used[code[receives]] = True
    if not (receives == (near & used[np.where(near, code, 0)])).all():
        return None
    lower = (receives[:, :, None] & (steps == -1)).any(axis=1)
    upper = (receives[:, :, None] & (steps == 1)).any(axis=1)
    kind = ("ring" if len(extents) == 1 else "torus") if wraps else "mesh"
    return RankTopology(kind, tuple(extents), lower, upper)


def place_names(topology: RankTopology, dimensions: int, *, directed: bool) -> list[str]:
    """What each rank is on the grid.

    ``corner``, ``edge``, ``face`` or ``interior`` (in one dimension ``end`` or ``inner``), by the number of
    dimensions with neighbours on both sides. ``directed`` tells the sides apart (``first``, ``inner``,
    ``last``; ``corner (-, +)`` has lower neighbours only in the first dimension, higher ones only in the
    second). ``dimensions``: of the grids of all runs, two ranks are a grid of any number of them.
    """
    own = topology.lower.shape[1]
    if topology.kind not in ("mesh",) or not own:
        return ["every"] * len(topology.lower)
    both = (topology.lower & topology.upper).sum(axis=1)
    plain = [PLACES[dimensions][n] for n in both.tolist()]
    if not directed:
        return plain
    sides = np.where(topology.lower & topology.upper, "*", np.where(topology.lower, "-", "+"))
    if own == 1:
        return [{"+": "first", "*": "inner", "-": "last"}[side] for side in sides[:, 0].tolist()]
    return [
        name if name == "interior" else f"{name} ({', '.join(row)})"
        for name, row in zip(plain, sides.tolist(), strict=True)
    ]


Method = Literal["clusters", "pattern"]


def classify(
    profiles: Sequence[Profile], method: Method, *, number: int | None = None, directed: bool = False
) -> Classes:
    """Classes of the threads of all runs.

    ``profiles``: runs of one application with the same scaling parameters. ``method``: ``clusters`` of all
    metrics, or regularity of the communication ``pattern``. ``number``: number of clusters; by silhouette
    when ``None``. ``directed``: ranks that differ only by the direction of their neighbours (first and last,
    the corners of a grid) are told apart. Raises ``ProfileError`` if there is no profile, they are of
    different applications or parameters, a pattern is wanted where nothing is known about communication, or a
    pattern is irregular.
    """
    _check(profiles)
    return (_by_clusters if method == "clusters" else _by_pattern)(profiles, number, directed)


def _check(profiles: Sequence[Profile]) -> None:
    if not profiles:
        raise ProfileError("expected profiles, found none")
    first = profiles[0]
    for profile in profiles:
        if profile.application != first.application:
            raise ProfileError(
                f"expected profiles of one application, found {first.application} and {profile.application}"
            )
        if set(profile.scale) != set(first.scale):
            raise ProfileError(
                f"expected the scaling parameters {', '.join(sorted(first.scale))} in all profiles, "
                f"found {', '.join(sorted(profile.scale)) or 'none'}",
                where=profile.application,
            )
        if any(value <= 0 for value in profile.scale.values()):
            raise ProfileError("expected positive scaling parameters", where=profile.application)


def _threads(profile: Profile) -> tuple[tuple[int, int], ...]:
    return tuple((rank.process_id, rank.thread_id) for rank in profile.ranks)


def _scales(profiles: Sequence[Profile]) -> Floats:
    names = sorted(profiles[0].scale)
    return np.array([[p.scale[n] for n in names] for p in profiles]).reshape(len(profiles), len(names))


def _by_clusters(profiles: Sequence[Profile], number: int | None, directed: bool) -> Classes:
    features = features_of(profiles, directed=directed)
    reduced = [reduce_features(table) for table in features]
    count = number or choose_number(reduced)
    clusters = [cluster(run, count) for run in reduced]
    found, votes = match_runs(features, clusters, _scales(profiles))
    runs = tuple(
        RunClasses(profile.scale, _threads(profile), classes, reduced=run.points)
        for profile, classes, run in zip(profiles, found, reduced, strict=True)
    )
    most = 1 + max(int(classes.max()) for classes in found)
    return Classes(profiles[0].application, "clusters", letters(most), runs, votes)


def exchanged(profile: Profile) -> tuple[Floats, Floats]:
    """float64[P, P] each, bytes and messages that a process (row) receives from another (column).

    Raises ``ProfileError`` if a profile does not say what is received.
    """
    count = processes_of(profile)
    received, messages = np.zeros((count, count)), np.zeros((count, count))
    for rank in profile.ranks:
        if rank.exchange is None:
            raise ProfileError(
                "expected what every rank receives (mpiCommunicationVector), found none",
                where=f"{profile.application}, process {rank.process_id}",
                hint="classify by --method clusters",
            )
        received[rank.process_id, rank.exchange.source] += rank.exchange.received_bytes
        messages[rank.process_id, rank.exchange.source] += rank.exchange.received_messages
    np.fill_diagonal(received, 0.0)
    np.fill_diagonal(messages, 0.0)
    return received, messages


def _by_pattern(profiles: Sequence[Profile], number: int | None, directed: bool) -> Classes:
    if number is not None:
        raise ProfileError("expected no number of classes with --method pattern: the pattern gives it")
    found = [_pattern(profile) for profile in profiles]
    dimensions = max(topology.lower.shape[1] for topology, _ in found)
    wraps = any(topology.kind not in ("mesh", "none") for topology, _ in found)
    made = []
    for topology, roots in found:
        own = place_names(topology, dimensions, directed=directed)
        if wraps and len(own) <= 2:  # too few ranks to tell a ring from a mesh
            own = ["every"] * len(own)
        made.append(["root" if rank in roots else name for rank, name in enumerate(own)])
    # The classes of the run with the most come first, in the order of their lowest ranks.
    order = sorted(made, key=lambda own: -len(set(own)))
    names = tuple(dict.fromkeys(name for own in order for name in own))
    runs = tuple(
        RunClasses(
            profile.scale,
            _threads(profile),
            np.array([names.index(own[rank.process_id]) for rank in profile.ranks], dtype=np.int64),
            groups=find_groups(*exchanged(profile), roots),
            topology=topology.text + (f" with {len(roots)} roots" if roots else ""),
        )
        for profile, own, (topology, roots) in zip(profiles, made, found, strict=True)
    )
    return Classes(profiles[0].application, "pattern", names, runs, {})


def _pattern(profile: Profile) -> tuple[RankTopology, list[int]]:
    """The topology, and processes that all others receive from, or that receive from all others.

    Those (roots) are a class of their own; the rest of the pattern must be regular.
    """
    receives = exchanged(profile)[0] > 0
    found = find_topology(receives)
    roots: list[int] = []
    if found is None:
        others = len(receives) - 1
        is_root = (receives.sum(axis=0) == others) | (receives.sum(axis=1) == others)
        roots = np.flatnonzero(is_root).tolist()
        receives[is_root, :] = False
        receives[:, is_root] = False
        found = find_topology(receives) if roots else None
    if found is None:
        scale = ", ".join(f"{name} = {value:g}" for name, value in sorted(profile.scale.items()))
        raise ProfileError(
            "expected a regular pattern (all-to-all, ring, mesh, torus), found another",
            where=f"{profile.application}, {scale}",
            hint="classify by --method clusters",
        )
    return found, roots
