"""Builds small value graphs from Python lists, for tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.value_graph import OF_VERTICES, HomeKind, HomeObject, Rows, Site, ValueGraph

Source = int | tuple[int, SourceRole]


@dataclass(frozen=True, slots=True)
class Row:
    """One value-flow chain: sink, terms (lists of sources), how often, fold, own previous version read.

    ``copies`` says that its site stores an unchanged value.
    """

    sink: int
    terms: Sequence[Sequence[Source]] = ()
    count: int = 1
    fold: Fold = Fold.NONE
    accumulates: bool = False
    copies: bool = False


def row(sink: int, *sources: Source, count: int = 1, accumulates: bool = False) -> Row:
    """A row that combines its sources in one piece (no fold)."""
    return Row(sink, [list(sources)] if sources else [], count, Fold.NONE, accumulates)


def folded(sink: int, *terms: Sequence[Source], count: int = 1, accumulates: bool = False) -> Row:
    """A sum of terms."""
    return Row(sink, terms, count, Fold.SUM, accumulates)


def copied(sink: int, source: int, count: int = 1) -> Row:
    """A store of an unchanged value."""
    return Row(sink, [[source]], count, copies=True)


def build(
    num_vertices: int,
    rows: Sequence[Row],
    *,
    inputs: Sequence[int] = (),
    registers: Sequence[int] = (),
    exits: Sequence[int] = (),
    widths: Mapping[int, int] | None = None,
    work: Mapping[int, float] | None = None,
    versions: Mapping[int, int] | None = None,
) -> ValueGraph:
    """Return the graph; versions default to what the rows create, inputs to sources that no row creates."""
    made = [0] * num_vertices
    for r in rows:
        made[r.sink] += r.count
    plain = [[[_plain(s) for s in term] for term in r.terms] for r in rows]
    read = {s for terms in plain for term in terms for s, _ in term}
    is_input = [v in inputs or (v in read and made[v] == 0) for v in range(num_vertices)]
    total = [made[v] + is_input[v] for v in range(num_vertices)]
    for v, k in (versions or {}).items():
        total[v] = k
    home = [1 if v in registers else 2 if v in exits else 0 for v in range(num_vertices)]
    terms = [term for row_terms in plain for term in row_terms]
    return ValueGraph(
        home_object=np.array(home, dtype=np.int32),
        home_offset=np.arange(num_vertices, dtype=np.int64) * 8,
        width_bytes=np.array([(widths or {}).get(v, 8) for v in range(num_vertices)], dtype=np.uint8),
        versions=np.array(total, dtype=np.int64),
        is_temporary=np.zeros(num_vertices, dtype=np.bool_),
        is_input=np.array(is_input, dtype=np.bool_),
        producer_site=np.array([0 if m else -1 for m in made], dtype=np.int32),
        work_flops=np.array([(work or {}).get(v, 0.0) for v in range(num_vertices)], dtype=np.float64),
        rows=Rows(
            row_sink=np.array([r.sink for r in rows], dtype=np.int32),
            row_count=np.array([r.count for r in rows], dtype=np.int64),
            row_site=np.array([r.copies for r in rows], dtype=np.int32),
            row_fold=np.array([int(r.fold) for r in rows], dtype=np.uint8),
            row_accumulates=np.array([r.accumulates for r in rows], dtype=np.bool_),
            term_ptr=_pointer([len(r.terms) for r in rows]),
            source_ptr=_pointer([len(term) for term in terms]),
            source=np.array([s for term in terms for s, _ in term], dtype=np.int32),
            source_role=np.array([int(role) for term in terms for _, role in term], dtype=np.uint8),
        ),
        objects=(
            HomeObject(HomeKind.HEAP, "memory"),
            HomeObject(HomeKind.REGISTER, "tmp", function="main"),
            HomeObject(HomeKind.REGISTER, "return", function="main"),
        ),
        sites=(Site("main", "test.c", 7, "store", 8), Site("main", "test.c", 8, "copy", 8)),
    )


def homed(graph: ValueGraph, number: ArrayLike, offset: ArrayLike, homes: Iterable[HomeObject]) -> ValueGraph:
    """The graph with values that live in these objects, by number, at these bytes of them."""
    objects, home = tuple(homes), np.array(number, np.int32)
    return replace(graph, home_object=home, home_offset=np.array(offset, np.int64), objects=objects)


def plain_rows(
    sink: Sequence[int], source: Sequence[int], pointers: tuple[ArrayLike, ArrayLike], *, count: int,
    site: Sequence[int], fold: Sequence[int] | int = Fold.NONE,
) -> Rows:  # fmt: skip
    """Rows by their columns, ``pointers`` to terms and sources; all by data, none accumulates."""
    term_ptr, source_ptr = (np.asarray(pointer, np.int64) for pointer in pointers)
    return Rows(
        np.array(sink, np.int32), np.full(len(sink), count), np.array(site, np.int32),
        np.full(len(sink), fold, np.uint8), np.zeros(len(sink), np.bool_), term_ptr, source_ptr,
        np.array(source, np.int32), np.zeros(len(source), np.uint8),
    )  # fmt: skip


def _plain(source: Source) -> tuple[int, SourceRole]:
    return source if isinstance(source, tuple) else (source, SourceRole.DATA)


def _pointer(lengths: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


def chain(n: int, *, count: int = 1) -> ValueGraph:
    """1-D three-point stencil, ping-pong: vertices 0..n-1 (old) and n..2n-1 (new), copied back by rows."""
    rows = [row(n + i, *(j for j in (i - 1, i, i + 1) if 0 <= j < n), count=count) for i in range(n)]
    rows += [row(i, n + i, count=count) for i in range(n)]
    return build(2 * n, rows, inputs=range(n))


def grid_parts(n: int, q: int, copies: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Owner of each cell of an n x n grid in q x q blocks, repeated for ``copies`` arrays."""
    i, j = np.divmod(np.arange(n * n), n)
    part = (i * q // n) * q + j * q // n
    return np.tile(part, copies).astype(np.int32)


def grid(n: int, *, count: int = 1, fold: bool = False) -> ValueGraph:
    """2-D five-point stencil on n x n cells updated in place from themselves and four neighbours."""
    rows = []
    for i in range(n):
        for j in range(n):
            near = [
                a * n + b
                for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
                if 0 <= a < n and 0 <= b < n
            ]
            cell = n * n + i * n + j
            old = i * n + j
            if fold:
                rows.append(folded(cell, [old], *([s] for s in near), count=count))
            else:
                rows.append(row(cell, old, *near, count=count))
    rows += [row(k, n * n + k, count=count) for k in range(n * n)]
    return build(2 * n * n, rows, inputs=range(n * n), work={n * n + k: 5.0 for k in range(n * n)})


def assert_same_graph(found: ValueGraph, expected: ValueGraph) -> None:
    """All arrays, their types and all names are the same."""
    assert (found.objects, found.sites) == (expected.objects, expected.sites)
    columns = ({n: getattr(g, n) for n in OF_VERTICES} | g.rows._asdict() for g in (found, expected))
    for (name, left), right in zip(next(columns).items(), next(columns).values(), strict=True):
        assert left.dtype == right.dtype, name
        assert np.array_equal(left, right), name


def flows_of(graph: ValueGraph) -> Iterator[tuple[int, int, int]]:
    start = graph.rows.row_ptr
    for r, sink in enumerate(graph.rows.row_sink.tolist()):
        for source in graph.rows.source[start[r] : start[r + 1]].tolist():
            yield r, sink, source
