"""The irregular workloads once more, in numpy: who reads what from whom.

The models share nothing with the C code but the definition of the data. Reads are counted one by one: they
are the oracles of :mod:`tests.e2e.theory_irregular`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
_MASK = np.uint64(0xFFFFFFFF)


def scramble(index: Ints) -> Ints:
    """The workloads' hash of 32-bit integers, int64 in [0, 2^32)."""
    x = np.asarray(index).astype(np.uint64) & _MASK
    x = (x ^ (x >> np.uint64(16))) * np.uint64(0x7FEB352D) & _MASK
    x = (x ^ (x >> np.uint64(15))) * np.uint64(0x846CA68B) & _MASK
    return (x ^ (x >> np.uint64(16))).astype(np.int64)


def square_blocks(n: int, q: int) -> Ints:
    """int64[n * n], owner of each point of an n x n grid in q x q blocks."""
    block = np.arange(n) * q // n
    return (block[:, None] * q + block[None, :]).ravel()


# --- cg ---------------------------------------------------------------------------------------------------


def poisson(n: int, dimensions: int) -> Doubles:
    """Dense matrix of the 5- or 7-point stencil, points in natural order."""
    line = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    matrix = np.zeros((1, 1))
    for _ in range(dimensions):
        matrix = np.kron(matrix, np.eye(n)) + np.kron(np.eye(len(matrix)), line)
    return matrix


# --- pic --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParticleRun:
    """What a run of ``pic`` ends with, and who was where.

    Attributes:
        potential: float64[n * n].
        x: float64[K], positions.
        y: float64[K].
        vx: float64[K], velocities.
        vy: float64[K].
        corners: For each step int64[K, 4], grid points whose field each particle feels.
    """

    potential: Doubles
    x: Doubles
    y: Doubles
    vx: Doubles
    vy: Doubles
    corners: tuple[Ints, ...]


def _corners(n: int, x: Doubles, y: Doubles) -> tuple[Ints, Doubles]:
    j, i = x.astype(np.int64), y.astype(np.int64)
    fx, fy = x - j, y - i
    points = [(i + above) % n * n + (j + right) % n for above in (0, 1) for right in (0, 1)]
    weights = [(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy]
    return np.stack(points, axis=1), np.stack(weights, axis=1)


def particles_in_cells(n: int, per_cell: int, steps: int, sweeps: int, charge: float = 1.0) -> ParticleRun:
    """Run the model of ``pic``; the force is ``charge`` times the field of all charges."""
    k = np.arange(n * n * per_cell)
    u = scramble(4 * k[:, None] + np.arange(4) + 1) / 2.0**32
    x, y = k // per_cell % n + u[:, 0], k // per_cell // n + u[:, 1]
    vx, vy = 0.5 * (2 * u[:, 2] - 1), 0.5 * (2 * u[:, 3] - 1)
    phi: Doubles = np.zeros((n, n))
    history = []
    for _ in range(steps):
        points, weights = _corners(n, x, y)
        history.append(points)
        rho = charge * np.bincount(points.ravel(), weights.ravel(), minlength=n * n).reshape(n, n)
        for _ in range(sweeps):
            around = np.roll(phi, 1, 0) + np.roll(phi, -1, 0) + np.roll(phi, 1, 1) + np.roll(phi, -1, 1)
            phi = 0.25 * (around + charge * per_cell - rho)
        ex, ey = (0.5 * (np.roll(phi, 1, axis) - np.roll(phi, -1, axis)).ravel() for axis in (1, 0))
        fx, fy = (charge * (weights * e[points]).sum(axis=1) for e in (ex, ey))
        vx, vy = vx - 0.1 * fx, vy - 0.1 * fy
        x, y = (x + 0.1 * vx) % n, (y + 0.1 * vy) % n
    return ParticleRun(phi.ravel(), x, y, vx, vy, tuple(history))


def foreign_points(points: Ints, point_owner: Ints, particle_owner: Ints) -> int:
    """Number of (grid point, part) pairs where a part has particles at a point that it does not own."""
    parts = int(point_owner.max()) + 1
    reader = np.repeat(particle_owner, points.shape[1])
    pairs = np.unique(points.ravel() * parts + reader)
    return int(np.count_nonzero(point_owner[pairs // parts] != pairs % parts))


# --- pagerank ---------------------------------------------------------------------------------------------


def edges(n: int, graph: str, degree: int) -> tuple[Ints, Ints]:
    """Sources and targets of all edges of ``pagerank``'s graphs."""
    number = np.arange(n * degree)
    if graph == "smallworld":
        origin, k = number // degree, number % degree
        distance = np.where(k < degree // 2, k - degree // 2, k - degree // 2 + 1)
        random = scramble(2 * number + 1)
        return origin, np.where(random % 10 == 0, scramble(random) % n, (origin + distance) % n)
    origin, target, random = np.zeros_like(number), np.zeros_like(number), scramble(number + 1)
    for bit in range(n.bit_length() - 1):
        random = scramble(random + 0x9E3779B9)
        percent = random % 100
        origin += (percent >= 76).astype(np.int64) << bit
        target += (((percent >= 57) & (percent < 76)) | (percent >= 95)).astype(np.int64) << bit
    return origin, target


def power_iteration(n: int, graph: str, degree: int, iterations: int) -> Doubles:
    """Ranks float64[n] after some iterations."""
    origin, target = edges(n, graph, degree)
    out = np.bincount(origin, minlength=n)
    rank = np.full(n, 1.0 / n)
    for _ in range(iterations):
        everywhere = (0.15 + 0.85 * rank[out == 0].sum()) / n
        rank = everywhere + 0.85 * np.bincount(target, rank[origin] / out[origin], minlength=n)
    return rank


def remote_readers(owner: Ints, origin: Ints, target: Ints) -> int:
    """Number of (vertex, part) pairs where a part that does not own a vertex has an edge from it."""
    parts = int(owner.max()) + 1
    pairs = np.unique(origin * parts + owner[target])
    return int(np.count_nonzero(owner[pairs // parts] != pairs % parts))
