"""Sizes of the ladder, and what blocks of equal size would communicate by theory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.e2e import theory

_WORD = theory.WORD_BYTES
_SQUARES = {4: (2, 2), 16: (4, 4), 64: (8, 8)}
_BOXES = {4: (2, 2, 1), 16: (4, 2, 2), 64: (4, 4, 4)}
_STEPS = 3
_KMEANS = (34, 5, 2)  # features, clusters, iterations


@dataclass(frozen=True, slots=True)
class Series:
    """A workload at growing sizes.

    Attributes:
        name: Workload.
        arguments: With ``{}`` for the size.
        sizes: Ascending.
        theory: Bytes for a size and a number of nodes; ``None`` where there is no formula for it.
    """

    name: str
    arguments: str
    sizes: tuple[int, ...]
    theory: Callable[[int, int], int | None]

    def command(self, size: int) -> tuple[str, ...]:
        """Arguments of the program."""
        return tuple(self.arguments.format(size).split())


def _heat2d(n: int, p: int) -> int:
    return _WORD * _STEPS * theory.heat2d_words_per_step(n, *_SQUARES[p])


def _stencil3d(n: int, p: int) -> int:
    return _WORD * _STEPS * theory.stencil3d_words_per_step(n, *_BOXES[p])


def _matmul(n: int, p: int) -> int:
    return _WORD * theory.matmul_words(n, *_SQUARES[p])


def _kmeans(_objects: int, p: int) -> int:
    features, clusters, iterations = _KMEANS
    return theory.kmeans_bytes(features, clusters, iterations, p)


def _hydro3d(n: int, p: int) -> int | None:
    """Two steps of 9 D + 2 F + 2 (p - 1) words; cubes need a cube of nodes (workloads/hydro3d/README.md)."""
    q = round(p ** (1.0 / 3.0))
    if q**3 != p or n % q:
        return None
    copies, faces = (q * (n // q + 1)) ** 3 - (n + 1) ** 3, 3 * (q - 1) * n * n
    return 2 * _WORD * int(9 * copies + 2 * faces + 2 * (p - 1))


SERIES = (
    Series("heat2d", f"{{}} {_STEPS}", (512, 1024, 2048, 4096, 8192), _heat2d),
    Series("stencil3d", f"{{}} {_STEPS}", (32, 64, 128, 192, 256), _stencil3d),
    Series("matmul", "{}", (64, 128, 256, 512, 768), _matmul),
    Series("hydro3d", "{} 2", (12, 20, 28, 40, 60), _hydro3d),
    Series("kmeans", "{} 34 5 2", (10_000, 30_000, 100_000, 300_000, 1_000_000), _kmeans),
)


def chosen_series(names: Iterable[str]) -> tuple[Series, ...]:
    """Series of the given workloads, all for none."""
    wanted = set(names)
    return tuple(series for series in SERIES if not wanted or series.name in wanted)
