"""Classes of the threads of several runs: the value that classification gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import ProfileError

Index = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Source:
    """What the members of a group receive from one relative rank.

    Attributes:
        relative: To be added to the own rank, modulo the number of ranks; a rank if ``is_absolute``.
        is_absolute: All members receive from the same rank.
        sizes: Bytes: least, largest, median, mean, standard deviation.
        messages: Messages, likewise.
    """

    relative: int
    is_absolute: bool
    sizes: tuple[float, float, float, float, float]
    messages: tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that receive from the same relative ranks: nested arithmetic sequences.

    Attributes:
        start: First rank.
        dimensions: Stride and iterations of each dimension, strides increasing.
        sources: What the members receive, by relative rank.
    """

    start: int
    dimensions: tuple[tuple[int, int], ...]
    sources: tuple[Source, ...] = ()

    def ranks(self) -> tuple[int, ...]:
        """All members: the dimensions written out."""
        found = np.array([self.start], dtype=np.int64)
        for stride, iterations in self.dimensions:
            found = (found[None, :] + stride * np.arange(iterations, dtype=np.int64)[:, None]).ravel()
        return tuple(np.sort(found).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class RunClasses:
    """Classes of one run.

    Attributes:
        scale: Scaling parameters.
        threads: Process and thread number of each thread.
        classes: int64[T], class of each thread, from 0.
        groups: Of the communication pattern; none for clusters.
        topology: Of the pattern, such as ``mesh 3 x 3``; empty for clusters.
        reduced: float64[T, D], principal components; D = 0 for patterns.
    """

    scale: Mapping[str, float]
    threads: tuple[tuple[int, int], ...]
    classes: Index
    groups: tuple[Group, ...] = ()
    topology: str = ""
    reduced: Floats | None = None

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
    """Classes of several runs.

    Attributes:
        application: Name of the program.
        method: ``clusters`` or ``pattern``.
        names: One per class: what its threads are, or letters.
        runs: One per profile, in their order.
        votes: Pairs of runs (voting, voted) and the class that each cluster of the voted run, in the order of
            its classes, was voted to be.
    """

    application: str
    method: str
    names: tuple[str, ...]
    runs: tuple[RunClasses, ...]
    votes: Mapping[tuple[int, int], tuple[int, ...]]

    def counts(self) -> Index:
        """int64[runs, classes], threads of each class in each run."""
        return np.stack([np.bincount(run.classes, minlength=len(self.names)) for run in self.runs])


def letters(count: int) -> tuple[str, ...]:
    """Names of classes: A, B, ... Z, A1, B1, ..."""
    return tuple(chr(ord("A") + i % 26) + (str(i // 26) if i >= 26 else "") for i in range(count))
