"""Classes of the threads of several runs: the value that classification gives.

All metrics of Table 2 are features of clusters: scalars, fractions of instructions (all lengths), functions,
communication (what is received, from how many, and, if told apart, from lower or higher ranks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.documents import Fields, document_text, load_document, reading, typed
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.profiles.metrics import Metrics, metrics_of
from commanalyzer.profiles.values import Profile


def processes_of(profile: Profile) -> int:
    """Number of processes of a run."""
    return 1 + max(rank.process_id for rank in profile.ranks)


def run_metrics(profile: Profile) -> list[Metrics]:
    """Metrics of every thread of a run."""
    return [metrics_of(rank, processes_of(profile)) for rank in profile.ranks]


def features_of(profiles: Sequence[Profile], *, directed: bool) -> list[Floats]:
    """float64[T, F] per run, features of all threads; what is not known of some thread is left out for all.

    ``directed``: sources at lower and at higher ranks are told apart.
    """
    rows = [[_features(m, processes_of(p), directed) for m in run_metrics(p)] for p in profiles]
    common = set.intersection(*(set(row) for run in rows for row in run))
    names = [name for name in rows[0][0] if name in common]
    return [np.array([[row[n] for n in names] for row in run]) for run in rows]


def _features(metrics: Metrics, processes: int, directed: bool) -> dict[str, float]:
    found = {name: float(value) for name, value in metrics.scalars.items()}
    for name, mix in metrics.mixes.items():
        found[name] = float(mix.sum())
        found |= {f"{name}[{i},{j}]": float(mix[i, j]) for i, j in zip(*np.nonzero(mix), strict=True)}
    for name, function in metrics.functions.items():
        if len(function):
            found[f"{name}:end"] = float(function[-1, 1])
            found[f"{name}:mean"] = float(function[:, 1].mean())
    relative, size, _ = metrics.communication.T
    found["sources"] = float(len(relative))
    found["largest_source_bytes"] = float(size.max(initial=0.0))
    if directed:
        ahead = relative <= processes / 2
        found["sources_ahead"] = float(ahead.sum())
        found["sources_behind"] = float((~ahead | (relative == processes / 2)).sum())
    return found


Index = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MessageSource:
    """What the members of a group receive from one relative rank."""

    relative: int  # to be added to the own rank, modulo the number of ranks; a rank if ``is_absolute``
    is_absolute: bool  # all members receive from the same rank
    sizes: tuple[float, ...]  # bytes: least, largest, median, mean, standard deviation
    messages: tuple[float, ...]  # messages, likewise


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks that receive from the same relative ranks: nested arithmetic sequences."""

    start: int  # first rank
    dimensions: tuple[tuple[int, int], ...]  # stride and iterations of each dimension, strides increasing
    sources: tuple[MessageSource, ...] = ()  # what the members receive, by relative rank

    def ranks(self) -> tuple[int, ...]:
        """All members: the dimensions written out."""
        found = np.array([self.start], dtype=np.int64)
        for stride, iterations in self.dimensions:
            found = (found[None, :] + stride * np.arange(iterations, dtype=np.int64)[:, None]).ravel()
        return tuple(np.sort(found).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class RunClasses:
    """Classes of one run."""

    scale: Mapping[str, float]  # scaling parameters
    threads: tuple[tuple[int, int], ...]  # process and thread number of each thread
    classes: Index  # [T], class of each thread, from 0
    groups: tuple[RankGroup, ...] = ()  # of the communication pattern; none for clusters
    topology: str = ""  # of the pattern, such as ``mesh 3 x 3``; empty for clusters
    reduced: Floats | None = None  # [T, D], principal components; D = 0 for patterns

    def __post_init__(self) -> None:
        if len(self.classes) != len(self.threads):
            raise ProfileError(
                f"expected a class for each of {len(self.threads)} threads, found {len(self.classes)}"
            )

    def members(self, number: int) -> Index:
        """int64, places of the threads of a class."""
        return np.flatnonzero(self.classes == number)


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of several runs."""

    application: str
    method: str  # ``clusters`` or ``pattern``
    names: tuple[str, ...]  # one per class: what its threads are, or letters
    runs: tuple[RunClasses, ...]  # one per profile, in their order
    # Pairs of runs (voting, voted) and the class that each cluster of the voted run, in the order of its
    # classes, was voted to be
    votes: Mapping[tuple[int, int], tuple[int, ...]]

    def counts(self) -> Index:
        """int64[runs, classes], threads of each class in each run."""
        return np.stack([np.bincount(run.classes, minlength=len(self.names)) for run in self.runs])


def letters(count: int) -> tuple[str, ...]:
    """Names of classes: A, B, ... Z, A1, B1, ..."""
    return tuple(chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "") for i in range(count))


KIND = "commanalyzer.classes"
SCHEMA = 1
_SPREAD = ("min", "max", "median", "mean", "stdev")


@dataclass(frozen=True, slots=True)
class _Vote:
    voter: int
    voted: int
    classes: tuple[int, ...]


def classes_json(classes: Classes) -> str:
    """JSON text; communication groups with the names of Appendix B.3."""
    known = {"application": classes.application, "method": classes.method, "classes": classes.names}
    votes = [_Vote(*pair, vote) for pair, vote in sorted(classes.votes.items())]
    runs = [_run(run) for run in classes.runs]
    return document_text({"kind": KIND, "schema": SCHEMA, **known, "runs": runs, "votes": votes})


def load_classes(path: Path) -> Classes:
    """Classes saved in ``path``; ``ArtifactError`` if it is missing, of another kind or damaged."""
    hint = "write one with: commanalyzer classify ... -o classes.json"
    content = load_document(path, KIND, SCHEMA, what="a file of classes", hint=hint)
    with reading(path, "classes"):
        votes = typed(content["votes"], list[_Vote])
        own = {**content, "names": content["classes"], "runs": list(map(_run_of, content["runs"]))}
        return replace(
            typed(own | {"votes": {}}, Classes), votes={(v.voter, v.voted): v.classes for v in votes}
        )


def _run(run: RunClasses) -> dict[str, object]:
    found = {name: getattr(run, name) for name in ("scale", "threads", "classes", "topology")}
    components = {} if run.reduced is None else {"components": run.reduced}
    return {**found, "groups": [_group(group) for group in run.groups], **components}


def _group(group: RankGroup) -> dict[str, object]:
    dimensions = {
        f"dimension{i + 1}": {"stride": stride, "iterations": iterations}
        for i, (stride, iterations) in enumerate(group.dimensions)
    }
    vector = [
        {
            "absoluteSrc" if source.is_absolute else "relativeSrc": source.relative,
            **{f"{name}Size": value for name, value in zip(_SPREAD, source.sizes, strict=True)},
            **{f"{name}Msgs": value for name, value in zip(_SPREAD, source.messages, strict=True)},
        }
        for source in group.sources
    ]
    count = len(group.dimensions)
    return {"startRank": group.start, "dimensions": count, **dimensions, "communicationVector": vector}


def _run_of(content: Fields) -> dict[str, object]:
    """Fields of a :class:`RunClasses` of what :func:`_run` gives."""
    groups = []
    for group in content["groups"]:
        own = [group[f"dimension{i + 1}"] for i in range(group["dimensions"])]
        dimensions = [(d["stride"], d["iterations"]) for d in own]
        sources = list(map(_source_of, group["communicationVector"]))
        groups.append({"start": group["startRank"], "dimensions": dimensions, "sources": sources})
    return {**content, "groups": groups, "reduced": content.get("components")}


def _source_of(content: Fields) -> dict[str, object]:
    absolute = "absoluteSrc" in content
    relative = content["absoluteSrc" if absolute else "relativeSrc"]
    sizes, messages = ([content[f"{name}{what}"] for name in _SPREAD] for what in ("Size", "Msgs"))
    return {"relative": relative, "is_absolute": absolute, "sizes": sizes, "messages": messages}
