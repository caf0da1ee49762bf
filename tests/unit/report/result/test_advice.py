import io
from dataclasses import replace

import pytest

from commanalyzer.division.selection import leading
from commanalyzer.report.result.text import advice_lines, make_console, show_candidates
from tests.samples import offer


def test_slabs_are_compared_with_the_cheapest_blocks() -> None:
    items = [offer("blocks 2x2", 100, best=True), offer("slabs 4", 250)]
    assert advice_lines(items) == [
        "Cheapest regular division: blocks 2x2, 300 B",
        "1D slabs (slabs 4) move 2.5 times more than blocks 2x2",
    ]


def test_names_with_shapes_and_cuts_by_work_are_regular_divisions() -> None:
    items = [offer("metis cut", 100, best=True), offer("blocks 2x2 of 24x24 by work", 90)]
    assert advice_lines(items)[0] == "Cheapest regular division: blocks 2x2 of 24x24 by work, 270 B"


@pytest.mark.parametrize(
    "name",
    [
        "cyclic 2x2 of 60x60",
        "blocks 2x2 of 40x44 and cyclic 4x1 of 40x52, others follow by work",
        "blocks 4x1 of 60x48, sums follow",
        "blocks 2x2 of 40x44 and slabs 4 of domain.x, others follow by work",
        "blocks 2x1x2 of points as 5x60x8",
    ],
)
def test_names_of_several_arrays_are_regular_divisions_of_the_first(name: str) -> None:
    assert offer(name, 90).grid == tuple(map(int, name.split()[1].split("x")))


def test_a_cheaper_division_that_is_less_balanced_is_not_advised() -> None:
    items = [
        offer("blocks 2x2", 100, best=True, imbalance=1.02),
        offer("blocks 4x1", 50, imbalance=1.4),
    ]
    assert advice_lines(items)[0] == "Cheapest regular division: blocks 2x2, 300 B"


def test_refined_divisions_are_not_regular() -> None:
    assert advice_lines([offer("blocks 2x2 refined", 100, best=True)]) == []


def test_all_candidates_fit_80_columns_and_long_names_are_folded() -> None:
    stream = io.StringIO()
    best = offer("mt-kahypar km1 without tasks refined", 10**9, nodes=64, best=True)
    best = replace(best, communication=replace(best.communication, high_bytes=64 * 10**9))
    items = [offer("metis cut", 10**8, nodes=64), best]
    show_candidates(items, make_console(stream, 80))
    title, heads, *rows = stream.getvalue().splitlines()
    assert title.strip() == "64 nodes, model volume: 2 candidates, * least found"
    assert heads.split()[-2:] == ["found", "in"]
    assert max(map(len, [heads, *rows])) <= 80
    assert [row.split()[0] for row in rows] == ["mt-kahypar", "without", "refined", "metis"]
    # 63 pairs of 1 GB, node i sends to i + 1 only: all but both ends have two neighbours.
    assert rows[0].split()[-9:-2] == ["63", "GB", "63", "2.0/2", "1.000", "+1.6", "%"]
    assert rows[-1].split()[-3] == "exact"


def test_nothing_is_divided_by_nothing() -> None:
    items = [offer("metis cut", 0, best=True), offer("blocks 2x2", 0), offer("slabs 4", 100)]
    assert advice_lines(items)[1:] == ["1D slabs (slabs 4) move 300 B more than blocks 2x2"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([("metis cut", 80, 1.0), ("blocks 2x2", 100, 1.0)], ["blocks 2x2", "metis cut"]),
        ([("metis cut", 100, 1.0), ("blocks 2x2", 100, 1.0)], ["blocks 2x2"]),
        ([("metis cut", 80, 1.0), ("blocks 2x2", 90, 2.0)], ["metis cut"]),  # nobody writes it: not balanced
        (
            [("metis cut", 80, 1.0), ("partition of u[9], others follow", 84, 1.0)],
            ["partition of u", "metis cut"],
        ),
        # A table is written where blocks send a quarter more, not before.
        ([("partition of u[9], others follow", 80, 1.0), ("blocks 2x2", 100, 1.0)], ["blocks", "partition"]),
        ([("partition of u[9], others follow", 80, 1.0), ("blocks 2x2", 104, 1.0)], ["partition"]),
    ],
)
def test_what_one_would_write_comes_first(items: list[tuple[str, int, float]], expected: list[str]) -> None:
    found = [offer(m, size, imbalance=w, best=i == 0) for i, (m, size, w) in enumerate(items)]
    shown = [d.method for d in leading(found)]
    assert len(shown) == len(expected) and all(map(str.startswith, shown, expected))
