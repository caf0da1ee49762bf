"""Lower bounds: never above what any division of small grids sends; stated only where they hold."""

from itertools import combinations, product

import numpy as np
import pytest

from commanalyzer.division.bounds import Structure, recognise
from commanalyzer.division.regular.shapes import Array, Shaped
from tests.graphs import Row, build, row

_NEAR = ((-1, 0), (0, -1), (0, 1), (1, 0))


def _family(*arrays: int, edge: int) -> list[Shaped]:
    """Square arrays of values that follow each other, from the given ones on."""
    index = np.arange(edge * edge, dtype=np.int32)
    return [
        Shaped(Array(number + 1, (index + first).astype(np.int32), index, (edge * edge,)), (edge, edge))
        for number, first in enumerate(arrays)
    ]


def _found(rows: list[Row], *arrays: int, edge: int) -> Structure | None:
    return recognise(build(len(arrays) * edge * edge, rows), [_family(*arrays, edge=edge)])


def _stencil(edge: int, to: int, source: int, count: int, *, own: bool = True) -> list[Row]:
    """Rows of the points inside, from the neighbours of another array or the same."""
    rows = []
    for i, j in product(range(1, edge - 1), repeat=2):
        near = [source + (i + di) * edge + j + dj for di, dj in _NEAR]
        here = [source + i * edge + j] if own and source != to else []
        rows.append(row(to + i * edge + j, *near, *here, count=count, accumulates=own and source == to))
    return rows


@pytest.mark.parametrize(("edge", "dims", "reach"), [(4, 2, 1), (4, 2, 2), (3, 2, 1), (2, 3, 1)])
def test_no_half_of_a_grid_needs_less(edge: int, dims: int, reach: int) -> None:
    """All divisions of the points into two halves: every point that the other half reads is sent once."""
    points = np.array(list(product(range(edge), repeat=dims)))
    near = np.abs(points[:, None] - points[None]).sum(axis=2) <= reach
    n = len(points)
    owned = np.zeros((len(list(combinations(range(n), n // 2))), n), np.bool_)
    for number, chosen in enumerate(combinations(range(n), n // 2)):
        owned[number, list(chosen)] = True
    sent = ((owned @ near > 0) & ~owned).sum(axis=1) + ((~owned @ near > 0) & owned).sum(axis=1)
    larger = 2.0 * (n - n // 2) / n
    bound = Structure("grid", edge, dims, 1, 1, reach, shares=np.full(n, 1 / n)).bound_bytes(2, larger)
    assert int(sent.min()) / 2 <= bound <= int(sent.min())


def test_shares_of_the_work_limit_the_points_of_a_part() -> None:
    even = Structure("grid", 16, 2, 3, 8, shares=np.full(256, 1 / 256))
    beside = Structure("grid", 16, 2, 3, 8, shares=np.full(256, 1 / 1024))  # three quarters are other work
    assert even.bound_bytes(4, 1.0) > even.bound_bytes(4, 1.1) > 0
    assert beside.bound_bytes(4, 1.0) == 0  # one part may hold all points
    assert beside.bound_bytes(16, 1.0) == even.bound_bytes(4, 1.0)


def test_blocks_send_what_is_usual() -> None:
    """Two parts along one axis and three along the other, whose ends meet: faces cross cuts both ways."""
    part = np.add.outer(np.arange(12) // 6 * 3, np.arange(12) // 4)
    sent = sum(np.count_nonzero(part != np.roll(part, 1, axis)) for axis in (0, 1)) * 2
    assert Structure("grid", 10, 2, 5, 8, extent=12).usual_bytes(6) == sent * 5 * 8
    # A block of the result needs its rows of one factor and its columns of the other, 32 x 16 each.
    assert Structure("product", 32, 2, 1, 8).usual_bytes(4) == 4 * 2 * (32 * 16 - 16 * 16) * 8


def test_products_need_what_the_proof_says() -> None:
    # Eight parts: 3 n^2 (2 - 1) words.
    assert Structure("product", 32, 2, 1, 8).bound_bytes(8, 1.0) == pytest.approx(3 * 32**2 * 8, abs=1)


@pytest.mark.parametrize("own", [True, False])
def test_two_arrays_without_the_own_place_have_no_bound(own: bool) -> None:
    """Red places of one array need black ones of the other only: two halves that exchange nothing."""
    n = 8
    rows = _stencil(n, n * n, 0, 3, own=own) + _stencil(n, 0, n * n, 3, own=own)
    found = _found(rows, 0, n * n, edge=n)
    assert (found is not None) == own
    if found is None:  # the division that shows it: nothing is sent
        colour = np.add(*np.divmod(np.arange(n * n), n)) % 2
        owner = np.concatenate((colour, 1 - colour))
        assert all(owner[r.sink] == owner[s] for r in rows for (term,) in [r.terms] for s in term)
    else:
        assert (found.kind, found.edge, found.dims) == ("grid", n - 2, 2)


def test_a_value_that_is_read_in_many_steps_of_a_sum_crosses_once_a_round() -> None:
    """Each of 5 versions of u is read by 4 sums per point; what never changes is sent once, if at all."""
    n, rows = 8, []
    for i, j in product(range(1, n - 1), repeat=2):
        for di, dj in _NEAR:
            rows.append(row(n * n + i * n + j, (i + di) * n + j + dj, i * n + j, count=5, accumulates=True))
    changes = [row(k, count=5, accumulates=True) for k in range(n * n)]
    starts = [row(n * n + i * n + j, count=5) for i, j in product(range(1, n - 1), repeat=2)]
    found, combined = (_found(each, 0, n * n, edge=n) for each in (starts + rows + changes, rows + changes))
    assert found is not None
    assert found.rounds == 5
    assert combined is not None
    assert combined.rounds == 1  # a sum that goes on and is not read: its terms are sent once, added up
    assert _found(rows, 0, n * n, edge=n) is None


def test_readers_of_the_same_versions_do_not_add_up() -> None:
    """V and w are both computed from each of 4 versions of u."""
    n = 8
    rows = [r for to in (1, 2) for r in _stencil(n, to * n * n, 0, 4)]
    found = _found(rows + _stencil(n, 0, 0, 4), 0, n * n, 2 * n * n, edge=n)
    assert found is not None
    assert found.rounds == 4
