"""Which memory is a workspace: each fact by hand, what a whole run bears out, and the recorder's list."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.graph.contraction.workspaces import readings, workspace_pieces, write_workspaces
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.graph.value_graph import HomeKind, HomeObject, ValueGraph
from commanalyzer.program.ir.names.debug_info import SourcePlace
from commanalyzer.recording.abi import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.recording.instrument.sites import ObjectRecord, SiteTable
from tests.graphs import Row, build, folded, homed, row
from tests.unit.graph.reading.test_ranges import trace_of

STEPS = 3
ELEMENTS = 8
X, U, W, D, R = 0, 8, 16, 17, 18  # inputs, elements, workspace, a second word, a register


def elements(*workspace: Row, steps: int = STEPS, count: int = ELEMENTS) -> list[Row]:
    """Elements U.. written once per step, of ``count`` elements; and what happens in the workspace."""
    return [*(row(U + e, X + e, count=steps) for e in range(count)), *workspace]


def per_element(count: int = ELEMENTS, steps: int = STEPS) -> list[Row]:
    """The word W holds a number of each element in turn."""
    return [row(W, X + e, count=steps) for e in range(count)]


def found(rows: Sequence[Row], registers: Sequence[int] = (R,), num_vertices: int = 19) -> list[int]:
    mask = readings(GraphStore.of(build(num_vertices, rows, registers=registers)))[0]
    return [int(v) for v in np.flatnonzero(mask)]


# --- more lifetimes than the data they are made of, with different sources ---------------------------------


def test_a_word_that_every_element_uses_is_a_workspace() -> None:
    assert found(elements(*per_element())) == [W]


def test_different_chains_of_different_places_are_no_workspace() -> None:
    one = [row(W, X + e, count=12) for e in range(4)]
    other = [Row(W, [[X + e]], 12, copies=e > 1) for e in range(4)]
    assert found(elements(*one)) == [W]
    assert found(elements(Row(W, [[X]], 12), Row(W, [[X + 1]], 12, copies=True))) == []
    assert found(elements(*other)) == [W]


@pytest.mark.parametrize(("commonest", "expected"), [(6, [W]), (7, [])])
def test_no_chain_may_be_more_than_a_quarter(commonest: int, expected: list[int]) -> None:
    others = [
        row(W, X + e, count=(24 - commonest) // 3 + (e == 1) * ((24 - commonest) % 3)) for e in (1, 2, 3)
    ]
    assert found(elements(row(W, X, count=commonest), *others)) == expected


# --- companions: what is renewed together with the word -----------------------------------------------------


def test_a_force_on_a_particle_that_meets_others_in_every_step_is_none() -> None:
    """The word of the force has other sources in every step, and is renewed when the positions are."""
    n, steps = 8, 12
    force, x = n, 0
    rows = [row(force + i, i, (i + 1 + t) % n) for i in range(n) for t in range(steps) if (t + i) % 7]
    rows += [row(x + i, force + i, count=steps, accumulates=True) for i in range(n)]
    assert found(rows, registers=(), num_vertices=2 * n) == []


# --- copies -------------------------------------------------------------------------------------------------


def scattered(*rows: Row, places: int) -> list[int]:
    counts = np.zeros(19, np.int64)
    counts[[W, D]] = places
    graph = GraphStore.of(build(19, rows, registers=[R]))
    return [int(v) for v in np.flatnonzero(readings(graph, counts)[0])]


def test_words_that_are_copied_to_every_element_are_workspaces() -> None:
    """Behind the first step, all rows of the array are known by the names W and D."""
    pair = [row(W, W, D, count=24, accumulates=True), row(D, R, count=24), row(R, W, D, count=24)]
    assert scattered(*pair, places=8) == [W, D]
    assert scattered(*pair, places=0) == []
    assert scattered(*pair, places=3) == []


def test_a_parameter_that_is_copied_to_many_places_is_none() -> None:
    assert scattered(row(W, X, X + 1, count=24), row(D, X, count=24), places=8) == []


def test_what_is_made_of_nothing_for_each_element_is_a_workspace_though_it_is_copied_on() -> None:
    """W and D are constructed for 8 elements, of two arrays; what is copied to many more is a parameter."""
    pair = [row(W, count=8), row(D, count=8)]
    assert scattered(*pair, places=16) == [W, D]
    assert scattered(*pair, places=32) == []
    assert scattered(row(W, X, count=8), places=16) == []


def test_an_array_whose_steps_are_saved_is_none() -> None:
    """Every version is copied to another place, but the word is renewed together with its neighbour U."""
    state = [row(W, W, U, count=24, accumulates=True), row(U, W, count=24)]
    assert scattered(*state, places=24) == []


# --- computed from a workspace ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", [[row(D, W, count=24)], [row(R, W, count=24), row(D, R, count=24)]])
def test_what_is_computed_from_a_workspace_is_one(way: list[Row]) -> None:
    assert found(elements(*per_element(), *way)) == [W, D]


def test_what_saw_few_contents_is_none() -> None:
    # W holds 8 contents 12 times each; D needs four times 12 lifetimes.
    contents = per_element(steps=12)
    assert found(elements(*contents, row(D, W, count=47))) == [W]
    assert found(elements(*contents, row(D, W, count=48))) == [W, D]


def test_an_array_that_is_computed_from_a_workspace_is_none() -> None:
    """Its contents never occur twice, but the data of one element are renewed as often as the array."""
    steps, x, y = 12, 0, 1
    rows = [row(W, x, 2 + (e + t) % 6) for e in range(8) for t in range(steps)]
    rows += [row(x, y, count=steps, accumulates=True), row(y, W, count=steps)]
    rows += [row(2 + k, y, count=steps, accumulates=True) for k in range(6)]
    assert y not in found(rows)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("in_registers", [False, True])
def test_long_chains_take_linear_time(in_registers: bool, order: int) -> None:
    """A chain of 100,000 values, its rows from the first to the last or the other way round."""
    length, first = 100_000, 19
    count = 1 if in_registers else 24
    links = [row(first + k + 1, first + k, count=count) for k in range(length - 1)][::order]
    chain = range(first, first + length)
    rows = [*per_element(), row(first, W, count=count), *links, row(D, chain[-1], count=24)]
    begin = time.process_time()
    expected = [W, D] if in_registers else [W, D, *chain]
    assert found(rows, registers=chain if in_registers else (), num_vertices=first + length) == expected
    assert time.process_time() - begin < 60


# --- doubt --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "likely", "other"), [(1, 0, 0), (2, 0, 0), (3, 0, 1), (4, 1, 0), (7, 1, 0), (8, 1, 1)]
)
def test_few_elements_are_in_doubt(count: int, likely: int, other: int) -> None:
    graph = GraphStore.of(build(19, elements(*per_element(count)), registers=[R]))
    assert [int(mask.sum()) for mask in readings(graph)] == [likely, other]


# --- a whole run bears out what was found in its beginning -------------------------------------------------

LIVES = 19  # lifetimes of W, as vertices


def others(rows: Sequence[Row], lifetimes: int = ELEMENTS) -> list[int]:
    """Workspaces besides W, whose lifetimes are vertices from LIVES on."""
    graph = build(LIVES + lifetimes, rows, registers=[R])
    named = np.arange(LIVES + lifetimes) >= LIVES
    offset = np.where(named, 8 * W, graph.home_offset)
    mask = readings(GraphStore.of(replace(graph, is_temporary=named, home_offset=offset)))[0]
    return [int(v) for v in np.flatnonzero(mask)]


def lives() -> list[Row]:
    """Every element has a lifetime of its own in each step, and writes its result."""
    begun = [row(LIVES + e, X + e, count=STEPS) for e in range(ELEMENTS)]
    return [*begun, *(row(U + e, LIVES + e, count=STEPS) for e in range(ELEMENTS))]


def test_another_workspace_contradicts() -> None:
    assert others([*lives(), *(row(D, LIVES + e, count=STEPS) for e in range(ELEMENTS))]) == [D]


def test_what_gathers_other_lifetimes_in_every_step_does_not() -> None:
    """A grid point gets charge from other particles in every step, and is renewed when these have moved."""
    steps, n = 12, 12
    rows = [row(X, LIVES, count=steps, accumulates=True), row(U, count=steps)]
    rows += [row(LIVES + t, X) for t in range(n)]
    rows += [folded(U, [LIVES + t], accumulates=True) for t in range(n)]
    assert others(rows, lifetimes=n) == []


# --- the recorder's list ----------------------------------------------------------------------------------


NO_PATHS = trace_of([])


def record(key: str, offset: int = 0) -> ObjectRecord:
    return ObjectRecord(key, key, "@main", SourcePlace(), offset)


def placed() -> tuple[ValueGraph, SiteTable]:
    """Six words: two of a local array at recursion depth 1, two of the heap, a global, other memory."""
    names, frames = [record("@other"), record("@g")], [(), (record("@f/%x"), record("@f/%y", 32))]
    sites = SiteTable(globals=names, allocations=[record("@main/%a")], frames=frames)
    objects = (
        HomeObject(HomeKind.STACK, "y", key="@f/%y", depth=1),
        HomeObject(HomeKind.HEAP, "a", key="@main/%a"),
        HomeObject(HomeKind.GLOBAL, "g", key="@g"),
        HomeObject(HomeKind.UNKNOWN, "other memory"),
    )
    graph = build(6, [row(5, *range(5))], widths={1: 4, 4: 2})
    return homed(graph, [0, 0, 1, 1, 2, 3], [8, 0, 24, 0, 4, 0], objects), sites


def test_pieces_are_the_bytes_of_extents_in_order() -> None:
    graph, sites = placed()
    pieces = workspace_pieces(graph, np.arange(6) < 5, sites, NO_PATHS)
    assert pieces.dtype == PIECE
    # Heap blocks follow a header of 16 bytes; y is 32 bytes behind the start of its frame.
    assert pieces.tolist() == [
        (EXTENT_GLOBAL, 1, 0, 4, 8),
        (EXTENT_HEAP, 0, 0, 16, 24),
        (EXTENT_HEAP, 0, 0, 40, 48),
        (EXTENT_STACK, 1, 1, 32, 36),
        (EXTENT_STACK, 1, 1, 40, 48),
    ]


def test_the_file_says_how_many_rows_and_pieces(tmp_path: Path) -> None:
    graph, sites = placed()
    mask = np.arange(6) == 2
    write_workspaces(tmp_path / "list", GraphStore.of(graph), mask, sites, NO_PATHS)
    data = (tmp_path / "list").read_bytes()
    header = np.frombuffer(data[: WORKSPACE.itemsize], WORKSPACE)
    assert header.tolist() == [(64 * graph.num_rows + 2**20, 1, 0)]
    pieces = np.frombuffer(data[WORKSPACE.itemsize :], PIECE)
    assert pieces.tolist() == workspace_pieces(graph, mask, sites, NO_PATHS).tolist()
