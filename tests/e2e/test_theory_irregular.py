"""The formulas of ``theory_irregular`` against counting, and the numbers that the READMEs quote."""

import itertools

import numpy as np
import pytest

from tests.e2e import irregular_models as models
from tests.e2e import theory_irregular as theory
from tests.unit.test_theory import grid_owner, stencil_words

Value = tuple[str, int, int, int]


def adi_reads(n: int, steps: int) -> list[tuple[Value, int]]:
    """(value, point that reads it) in all half steps; a value is (name, half step, row, column).

    Every point computes its own cp, dp and new value; half step h makes field h + 1 from field h.
    """
    reads: list[tuple[Value, int]] = []
    for h, i, j in itertools.product(range(2 * steps), range(n), range(n)):
        along, across = ((0, 1), (1, 0)) if h % 2 == 0 else ((1, 0), (0, 1))
        here = i * n + j
        for name, version, (di, dj), sign in (
            ("field", h, across, -1),
            ("field", h, across, 1),
            ("cp", h, along, -1),
            ("dp", h, along, -1),
            ("field", h + 1, along, 1),
        ):
            row, column = i + sign * di, j + sign * dj
            if 0 <= row < n and 0 <= column < n:
                reads.append(((name, version, row, column), here))
    return reads


@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("parts", [(1, 1), (2, 2), (4, 1), (1, 3), (3, 2)])
def test_adi_words(n: int, steps: int, parts: tuple[int, int]) -> None:
    rows, columns = (np.arange(n) * count // n for count in parts)
    owner = (rows[:, None] * parts[1] + columns[None, :]).ravel()
    sent = {
        (value, owner[reader])
        for value, reader in adi_reads(n, steps)
        if owner[value[2] * n + value[3]] != owner[reader]
    }
    assert theory.adi_words(n, steps, *parts) == len(sent)


@pytest.mark.parametrize(
    ("q", "bytes_in_blocks", "bytes_in_slabs"), [(2, 10_496, 16_128), (4, 31_488, 80_640)]
)
def test_adi_table(q: int, bytes_in_blocks: int, bytes_in_slabs: int) -> None:
    assert 8 * theory.adi_words(32, 5, q, q) == bytes_in_blocks
    assert 8 * theory.adi_words(32, 5, q * q, 1) == bytes_in_slabs
    assert theory.adi_flops(32, 5) == 151_680


@pytest.mark.parametrize(
    ("n", "parts", "total"), [(32, (2, 2), 22_448), (32, (4, 4), 71_280), (12, (2, 2, 2), 142_832)]
)
def test_cg_table(n: int, parts: tuple[int, ...], total: int) -> None:
    halo = theory.cg_halo(n, parts)
    assert halo == stencil_words(n, len(parts), grid_owner(n, parts))
    assert 8 * theory.cg_words(halo, 20, int(np.prod(parts))) == total


@pytest.mark.parametrize(
    ("q", "pairs", "stay", "guard", "moves", "change"),
    [
        (2, [68, 74, 93, 106, 115], 32_448, 340, 27, 30_528),
        (4, [144, 168, 191, 211, 235], 65_784, 720, 49, 61_856),
    ],
)
def test_pic_table(q: int, pairs: list[int], stay: int, guard: int, moves: int, change: int) -> None:
    n, per_cell, steps, sweeps = 16, 4, 5, 4
    blocks = models.square_blocks(n, q)
    corners = models.particles_in_cells(n, per_cell, steps, sweeps).corners
    potential = theory.pic_potential_words(n, q, sweeps, steps)
    first = np.repeat(blocks, per_cell)
    assert [models.foreign_points(c, blocks, first) for c in corners] == pairs
    assert pairs[0] == 2 * n * q + q * q
    assert 8 * (potential + theory.pic_particle_words(sum(pairs))) == stay
    owners = [blocks[c[:, 0]] for c in corners]
    assert sum(models.foreign_points(c, blocks, o) for c, o in zip(corners, owners, strict=True)) == guard
    assert sum(np.count_nonzero(a != b) for a, b in itertools.pairwise(owners)) == moves
    assert 8 * (potential + theory.pic_migrating_words(guard, moves)) == change


@pytest.mark.parametrize("q", [2, 3])
def test_pic_potential_is_a_periodic_stencil(q: int) -> None:
    n = 8
    owner = models.square_blocks(n, q)
    point = np.arange(n * n).reshape(n, n)
    shifted = [np.roll(point, shift, axis).ravel() for axis in (0, 1) for shift in (1, -1)]
    halo = models.remote_readers(owner, np.concatenate(shifted), np.tile(point.ravel(), 4))
    assert theory.pic_potential_words(n, q, 3, 2) == 7 * halo


@pytest.mark.parametrize(
    ("graph", "p", "pairs", "total"),
    [
        ("smallworld", 4, 607, 49_040),
        ("smallworld", 16, 879, 72_720),
        ("kronecker", 4, 1185, 95_280),
        ("kronecker", 16, 2618, 211_840),
    ],
)
def test_pagerank_table(graph: str, p: int, pairs: int, total: int) -> None:
    blocks = np.arange(1024) * p // 1024
    assert models.remote_readers(blocks, *models.edges(1024, graph, 8)) == pairs
    assert 8 * theory.pagerank_words(pairs, 10, p) == total
