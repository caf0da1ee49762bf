"""Regular divisions: grids, dimensions and arrays that are tried, against theory for small products."""

from dataclasses import replace

import numpy as np
import pytest

from commanalyzer.division.regular.layouts import Cut, Layouts
from commanalyzer.division.regular.shapes import Shaped, find_arrays, shape_families
from commanalyzer.graph.value_graph import Bool, ValueGraph
from tests.counts import count_volume
from tests.graphs import Row, build, folded, homed, row
from tests.unit.division.measures import none_removed, portfolio_of
from tests.unit.division.regular.test_divisions import shaped, with_arrays


def product_rows(first: int, one: int, other: int, n: int, m: int, k: int) -> list[Row]:
    """Rows of c = a b, c at ``first`` of n rows of m, a at ``one`` of n rows of k, b at ``other``."""
    return [
        folded(first + m * i + j, [one + k * i + q, other + m * q + j], accumulates=True)
        for i, j, q in np.ndindex(n, m, k)
    ]


def product(n: int, m: int, k: int, second: int = 0, idle: int = 0) -> ValueGraph:
    """Graph of c = a b, of e = c d with ``second`` columns, and of ``idle`` elements that nothing reads."""
    sizes = [("c", n * m), ("a", n * k), ("b", k * m)]
    rows = product_rows(0, n * m, n * m + n * k, n, m, k)
    if second:
        start = n * m + n * k + k * m
        sizes += [("d", m * second), ("e", n * second)]
        rows += product_rows(start + m * second, 0, start, n, second, m)
    return computed(with_arrays(*sizes, *([("list", idle)] if idle else [])), rows)


def computed(bare: ValueGraph, rows: list[Row]) -> ValueGraph:
    """The arrays of a graph without rows, computed by these rows, which work once each."""
    graph = build(bare.num_vertices, rows)
    work = np.bincount(graph.rows.row_sink, minlength=graph.num_vertices).astype(np.float64)
    return homed(replace(graph, work_flops=work), bare.home_object, bare.home_offset, bare.objects)


def test_lists_that_no_value_is_computed_from_do_no_work() -> None:
    plain, listed = (portfolio_of(product(6, 6, 6, idle=idle), 4).layouts for idle in (0, 36))
    found = [[(cut.name, cut.grain) for cut in layouts.cuts(4, 1.03)[0]] for layouts in (plain, listed)]
    assert len(listed.heavy) == len(plain.heavy) == 1
    assert found[0] == found[1]


def test_what_is_divided_first_is_no_temporary() -> None:
    rows = [row(v, v - 16, v - 2, v + 2, v + 16, count=4) for v in range(16, 112) if v // 2 % 8 % 7]
    rows += [row(128 + p, 2 * p, 2 * p + 1, count=4) for p in range(64)]  # of both values of a point
    found = layouts_of(computed(with_arrays(("u", 128), ("temporary", 64)), rows)).cuts(4, 1.1)[0]
    assert "blocks 1x4 of rows of u[8x8]" in [cut.name for cut in found]
    assert not any("temporary" in cut.name.partition(" and ")[0] for cut in found)


def layouts_of(graph: ValueGraph, hubs: Bool | None = None) -> Layouts:
    return portfolio_of(graph, 4, hubs).layouts


def best(graph: ValueGraph, parts: int) -> tuple[str, int]:
    """Name and bytes of the cheapest cut; what follows is where it costs nothing."""
    portfolio = portfolio_of(graph, parts)
    names = {cut.name for cut in portfolio.layouts.cuts(parts, 1.03)[0]}
    found = {c.method: c.part for c in portfolio.candidates(parts) if c.method in names}
    volumes = {name: count_volume(graph, part, parts).total_bytes for name, part in found.items()}
    return min(volumes.items(), key=lambda item: item[1])


@pytest.mark.parametrize(("n", "m", "k"), [(12, 16, 14), (16, 12, 14)])
def test_a_product_of_matrices_that_are_not_square(n: int, m: int, k: int) -> None:
    # Rows of a go to the parts of a row of blocks, columns of b to those of a column: one copy of each.
    assert best(product(n, m, k), 4) == (f"blocks 2x2 of c[{n}x{m}]", 8 * (n * k + k * m))


def test_a_product_of_products_cuts_both_results() -> None:
    n, m, k, last = 12, 16, 14, 20
    name, total = best(product(n, m, k, last), 4)
    assert sorted(name.split(" and ")) == [f"blocks 2x2 of c[{n}x{m}]", f"blocks 2x2 of e[{n}x{last}]"]
    assert total == 8 * (n * k + k * m + n * m + m * last)


def test_a_matrix_keeps_its_own_shape_beside_vectors_that_look_square() -> None:
    # 16 elements may be 4 x 4, and 16 x 16 entries 16 of each; rows of the matrix show that they are not.
    n = 16
    graph = product(n, 1, n)
    arrays = find_arrays(graph, none_removed(graph))
    assert (n, n) in {family[0].extents for family in shape_families(graph, arrays)}


def test_without_nets_the_grids_of_least_surface_are_listed() -> None:
    graph = with_arrays(("u", 16))
    cuts = Layouts(graph, [[shaped(graph, "u", (4, 4))]], None).cuts(4, 1.03)[0]
    assert [cut.name for cut in cuts] == ["blocks 1x4 of u as 4x4", "blocks 2x2 of u as 4x4"]
    eight = Layouts(graph, [[shaped(graph, "u", (4, 4))]], None).cuts(8, 1.03)[0]
    (cut,) = (c for c in eight if c.name[0] == "s")
    # 4x2: halves of rows
    assert (cut.name, owners(cut, graph)) == ("slabs 8 of u", [i // 2 for i in range(16)])


@pytest.mark.parametrize(("halo", "grain"), [(0, 1.0), (1, 4 / 3 * 4 / 3)])
def test_rows_without_work_are_not_shared_out(halo: int, grain: float) -> None:
    # 4 x 4 points in 2 x 2 blocks; with a halo before them, 3 rows and columns work: 2 and 1.
    graph = with_arrays(("u", 16))
    work = np.zeros((4, 4))
    work[halo:, halo:] = 1.0
    graph = replace(graph, work_flops=np.append(work, np.zeros(graph.num_vertices - 16)))
    cuts = {c.name: c for c in Layouts(graph, [[shaped(graph, "u", (4, 4))]], None).cuts(4, 1.03)[0]}
    assert cuts["blocks 2x2 of u as 4x4"].grain == pytest.approx(grain)


def owners(cut: Cut, graph: ValueGraph) -> list[int]:
    return [int(x) for x in cut.owners(graph.num_vertices)]


def test_arrays_of_several_values_per_point_may_follow() -> None:
    graph = with_arrays(("u", 16), ("entry", 80))
    family = [shaped(graph, "u", (4, 4)), replace(shaped(graph, "entry", (4, 4)), components=5)]
    cuts = {cut.name: cut for cut in Layouts(graph, [family], None).cuts(4, 1.03)[0]}
    assert owners(cuts["blocks 2x2 of u as 4x4, entries follow"], graph)[16:] == [-1] * 80


def test_grids_that_differ_by_what_hubs_cost_are_all_kept() -> None:
    # t = a x and y = a^T t with a 32 x 32. A sketch without the hubs t takes cutting rows to be free.
    n, entries = 32, 32 * 32
    x, t, y = entries, entries + n, entries + 2 * n
    rows = [folded(t + i, [n * i + j, x + j], accumulates=True) for i in range(n) for j in range(n)]
    rows += [folded(y + j, [n * i + j, t + i], accumulates=True) for i in range(n) for j in range(n)]
    graph = computed(with_arrays(("a", entries), ("x", n), ("t", n), ("y", n)), rows)
    hubs = (np.arange(graph.num_vertices) >= t) & (np.arange(graph.num_vertices) < y)
    expected = {"blocks 2x8", "blocks 4x4", "blocks 8x2"}
    likely, others = layouts_of(graph, hubs).cuts(16, 1.03)
    assert expected <= {cut.name.split(" of")[0] for cut in (*likely, *others)}


def test_only_shapes_that_the_program_shows_are_told_as_such() -> None:
    graph = with_arrays(("u", 48), ("w", 49))
    u, w = find_arrays(graph, none_removed(graph))
    planes = [[Shaped(u, (6, 8), is_known=True)], [Shaped(w, (7, 7))]]
    lines = [[Shaped(u, (48,))], [Shaped(w, (49,))]]
    names = {
        cut.name.removesuffix(" by work")
        for families in (planes, lines)
        for cut in Layouts(graph, families, None).cuts(4, 1.03)[0]
    }
    assert {"blocks 2x2 of u[6x8]", "blocks 2x2 of w as 7x7", "slabs 4 of u", "slabs 4 of w"} <= names


def test_rows_that_the_program_steps_by_are_known() -> None:
    rows = tuple((48 + 8 * i + j, 8 * i + j - 8, 8 * i + j + 8) for i in range(1, 5) for j in range(1, 7))
    graph = with_arrays(("u", 48), ("v", 48), ("w", 100), rows=rows)
    families = shape_families(graph, find_arrays(graph, none_removed(graph)))
    found = {s.extents: s.is_known for family in families for s in family if len(s.extents) == 2}
    assert found[6, 8]
    assert not found[10, 10]
