"""Classifies the threads of several runs: profiles -> :class:`Classes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.classification.classes import Classes, RunClasses, letters
from commanalyzer.profiles.classification.clusters import choose_number, cluster, reduce_features
from commanalyzer.profiles.classification.features import features_of, processes_of
from commanalyzer.profiles.classification.groups import find_groups
from commanalyzer.profiles.classification.matching import match_runs
from commanalyzer.profiles.classification.topology import Topology, find_topology, place_names
from commanalyzer.profiles.values import Profile

Method = Literal["clusters", "pattern"]
Floats = NDArray[np.float64]
METHODS: tuple[Method, ...] = ("clusters", "pattern")


def classify(
    profiles: Sequence[Profile], method: Method, *, number: int | None = None, directed: bool = False
) -> Classes:
    """Classes of the threads of all runs.

    Args:
        profiles: Runs of one application with the same scaling parameters.
        method: ``clusters`` of all metrics, or regularity of the communication ``pattern``.
        number: Number of clusters; by silhouette when ``None``.
        directed: Ranks that differ only by the direction of their neighbours (first and last, the corners of
            a grid) are told apart.

    Raises:
        ProfileError: If there is no profile, they are of different applications or parameters, a pattern is
            wanted where nothing is known about communication, or a pattern is irregular.
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
    reduced = [reduce_features(table) for table in features.tables]
    count = number or choose_number(reduced)
    clusters = [cluster(run, count) for run in reduced]
    found, votes = match_runs(features.tables, clusters, _scales(profiles))
    runs = tuple(
        RunClasses(profile.scale, _threads(profile), classes, reduced=run.points)
        for profile, classes, run in zip(profiles, found, reduced, strict=True)
    )
    most = 1 + max(int(classes.max()) for classes in found)
    return Classes(profiles[0].application, "clusters", letters(most), runs, votes)


def exchanged(profile: Profile) -> tuple[Floats, Floats]:
    """float64[P, P] each, bytes and messages that a process (row) receives from another (column).

    Raises:
        ProfileError: If a profile does not say what is received.
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


def _pattern(profile: Profile) -> tuple[Topology, list[int]]:
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
        raise ProfileError(
            "expected a regular pattern (all-to-all, ring, mesh, torus), found another",
            where=f"{profile.application}, {_scale_text(profile)}",
            hint="classify by --method clusters",
        )
    return found, roots


def _scale_text(profile: Profile) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in sorted(profile.scale.items()))
