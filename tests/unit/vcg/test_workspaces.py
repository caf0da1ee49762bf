"""Which memory is a workspace: each fact by hand, programs that have none, and the recorder's list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.abi.trace_layout import EXTENT_GLOBAL, EXTENT_HEAP, EXTENT_STACK, PIECE, WORKSPACE
from commanalyzer.instrument.sites import ObjectRecord, SiteTable
from commanalyzer.ir.debug_info import SourcePlace
from commanalyzer.vcg.graph import HomeKind, HomeObject, SourceRole, ValueGraph
from commanalyzer.vcg.store import GraphStore
from commanalyzer.vcg.workspaces import (
    find_workspaces,
    workspace_pieces,
    workspaces_confirmed,
    write_workspaces,
)
from tests.graphs import Row, build, folded, row
from tests.unit.vcg.test_ranges import trace_of

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
    mask = find_workspaces(GraphStore.of(build(num_vertices, rows, registers=registers)))
    return [int(v) for v in np.flatnonzero(mask)]


# --- more lifetimes than arrays, with different sources ---------------------------------------------------


def test_a_word_that_every_element_uses_is_a_workspace() -> None:
    assert found(elements(*per_element())) == [W]


@pytest.mark.parametrize(("count", "expected"), [(3, []), (4, [W])])
def test_four_times_the_lifetimes_of_the_arrays_are_needed(count: int, expected: list[int]) -> None:
    assert found(elements(*per_element(count))) == expected


def test_the_same_chain_over_and_over_is_no_workspace() -> None:
    # A scalar that is set again for each element, from the same source.
    assert found(elements(row(W, X, count=ELEMENTS * STEPS))) == []


def test_different_chains_of_different_places_are_no_workspace() -> None:
    two = [row(W, X, count=12), Row(W, [[X + 1]], 12, copies=True)]
    assert found(elements(*two)) == []
    assert found(elements(row(W, X, count=12), row(W, X + 1, count=12))) == [W]


@pytest.mark.parametrize(("commonest", "expected"), [(12, [W]), (13, [])])
def test_no_chain_may_be_more_than_half(commonest: int, expected: list[int]) -> None:
    assert found(elements(row(W, X, count=commonest), row(W, X + 1, count=24 - commonest))) == expected


def test_stores_that_read_the_word_begin_no_lifetime() -> None:
    carried = [row(W, X + e, count=STEPS, accumulates=True) for e in range(ELEMENTS)]
    assert found(elements(*carried)) == []


def test_register_values_are_no_memory() -> None:
    assert found(elements(*per_element()), registers=[W]) == []


# --- computed from a workspace ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", [[row(D, W, count=24)], [row(R, W, count=24), row(D, R, count=24)]])
def test_what_is_computed_from_a_workspace_is_one(way: list[Row]) -> None:
    assert found(elements(*per_element(), *way)) == [W, D]


def test_what_saw_no_more_than_one_content_is_none() -> None:
    # W holds 8 contents 12 times each; D begins 12 lifetimes: it may have seen the same content each time.
    contents = per_element(steps=12)
    assert found(elements(*contents, row(D, W, count=12))) == [W]
    assert found(elements(*contents, row(D, W, count=13))) == [W, D]


def test_reach_is_passed_on_along_levels() -> None:
    # D and D + 2 are computed from W level by level; the second only through D.
    rows = elements(*per_element(), row(D, W, count=24), row(D + 2, D, count=24))
    assert found(rows, num_vertices=20) == [W, D, D + 2]


# --- programs without workspaces --------------------------------------------------------------------------


def test_the_bins_of_a_histogram_are_none() -> None:
    items, bins = 64, 4
    rows = [row(items + b, count=STEPS) for b in range(bins)]
    rows += [
        folded(items + i % bins, [(i, SourceRole.ADDRESS)], count=STEPS, accumulates=True)
        for i in range(items)
    ]
    assert found(rows, registers=(), num_vertices=items + bins) == []


def test_the_sums_and_memberships_of_kmeans_are_none() -> None:
    n, k = 24, 2
    member, total, centroid = n, 2 * n, 2 * n + k
    rows = [row(total + c, count=STEPS) for c in range(k)]
    for i in range(n):
        nearest = [(v, SourceRole.CONTROL) for v in (i, centroid, centroid + 1)]
        rows.append(row(member + i, *nearest, count=STEPS))
        rows += [folded(total + (i + s) % k, [i], accumulates=True) for s in range(STEPS)]
    rows += [row(centroid + c, total + c, count=STEPS) for c in range(k)]
    assert found(rows, registers=(), num_vertices=2 * n + 2 * k) == []


def test_a_graph_without_rows_has_none() -> None:
    assert found([]) == []
    assert find_workspaces(GraphStore.of(build(0, []))).tolist() == []


# --- a whole run bears out what was found in its beginning -------------------------------------------------

LIVES = 19  # lifetimes of W, as vertices


def confirmed(rows: Sequence[Row], lifetimes: int = ELEMENTS) -> bool:
    """Vertices from LIVES on are lifetimes of one word."""
    graph = build(LIVES + lifetimes, rows, registers=[R])
    named = np.arange(LIVES + lifetimes) >= LIVES
    offset = np.where(named, 8 * W, graph.home_offset)
    return workspaces_confirmed(GraphStore.of(replace(graph, is_temporary=named, home_offset=offset)))


def lives(count: int = STEPS) -> list[Row]:
    """Every element has a lifetime of its own in each step, and writes its result."""
    return [
        r
        for e in range(ELEMENTS)
        for r in (row(LIVES + e, X + e, count=count), row(U + e, LIVES + e, count=STEPS))
    ]


def test_the_workspaces_of_the_beginning_are_all() -> None:
    assert confirmed(lives())


@pytest.mark.parametrize("way", [per_element(), [row(D, LIVES + e, count=STEPS) for e in range(ELEMENTS)]])
def test_another_workspace_contradicts(way: list[Row]) -> None:
    assert not confirmed([*lives(), *way])


def test_a_word_that_reads_one_lifetime_many_times_does_not() -> None:
    assert confirmed([*lives(), row(D, LIVES, count=ELEMENTS * STEPS)])


def test_a_word_that_reads_several_contradicts_even_if_one_is_commonest() -> None:
    assert not confirmed([*lives(), row(D, LIVES, count=23), row(D, LIVES + 1, count=1)])


def test_a_word_with_few_lifetimes_in_the_end_contradicts() -> None:
    assert not confirmed([*lives(count=1), *(row(U + e, X + e, count=9) for e in range(ELEMENTS))])


def test_a_word_whose_lifetimes_are_mostly_one_contradicts() -> None:
    assert confirmed([*lives(), row(LIVES, X + 1, count=18)])
    assert not confirmed([*lives(), row(LIVES, X + 1, count=50)])


# --- the recorder's list ----------------------------------------------------------------------------------


NO_PATHS = trace_of([])


def record(key: str, offset: int = 0) -> ObjectRecord:
    return ObjectRecord(key, key, "@main", SourcePlace(), offset)


def placed() -> tuple[ValueGraph, SiteTable]:
    """Six words: two of a local array at recursion depth 1, two of the heap, a global, other memory."""
    sites = SiteTable(
        globals=[record("@other"), record("@g")],
        allocations=[record("@main/%a")],
        frames=[(), (record("@f/%x"), record("@f/%y", 32))],
    )
    objects = (
        HomeObject(HomeKind.STACK, "y", key="@f/%y", depth=1),
        HomeObject(HomeKind.HEAP, "a", key="@main/%a"),
        HomeObject(HomeKind.GLOBAL, "g", key="@g"),
        HomeObject(HomeKind.UNKNOWN, "other memory"),
    )
    graph = replace(
        build(6, [row(5, *range(5))], widths={1: 4, 4: 2}),
        home_object=np.array([0, 0, 1, 1, 2, 3], dtype=np.int32),
        home_offset=np.array([8, 0, 24, 0, 4, 0], dtype=np.int64),
        objects=objects,
    )
    return graph, sites


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
    assert header.tolist() == [(64 * graph.num_rows + 2**20, 1)]
    pieces = np.frombuffer(data[WORKSPACE.itemsize :], PIECE)
    assert pieces.tolist() == workspace_pieces(graph, mask, sites, NO_PATHS).tolist()
