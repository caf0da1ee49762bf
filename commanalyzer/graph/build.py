"""Trace -> value communication graph (paper Section 4.2.1).

Input: a :class:`Trace` and the site table of the module that wrote it. Output: :class:`GraphStore`. The
rows of the trace pass by in chunks: only sums per vertex, one chunk and what is coded are in memory.

Work of every vertex: the operations of its sites, each kind by its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from commanalyzer.foundation.work import DEFAULT_WEIGHTS, Operations, WorkWeights
from commanalyzer.graph.homes import Homes, Names, Ranges, find_homes, name_homes
from commanalyzer.graph.reading.tables import CHUNK, SITE, Chunk, Tables
from commanalyzer.graph.storage.coding import read_only
from commanalyzer.graph.storage.spill import Spill
from commanalyzer.graph.storage.store import GraphStore, StoreWriter, row_columns
from commanalyzer.graph.value_graph import (
    Array,
    Bool,
    Float64,
    Int32,
    Int64,
    Rows,
    Site,
    UInt8,
    pointer_from_counts,
)
from commanalyzer.program.ir.cfg import reached
from commanalyzer.recording.abi import ROW_REGISTER
from commanalyzer.recording.instrument.sites import SiteRecord, SiteTable
from commanalyzer.recording.trace import Trace

OUTSIDE_BITS = 40  # bits of a count below what happened between executions of the region


def build_store(
    trace: Trace,
    table: SiteTable,
    *,
    spill: Spill | None = None,
    weights: WorkWeights = DEFAULT_WEIGHTS,
) -> GraphStore:
    """Graph of everything that was recorded, its columns in ``spill`` (default: memory).

    Where only a region of the run was counted, values from outside it are inputs. Chains that never happened
    inside of it are left out, their values are inputs. What made them anew between its executions is a row
    without sources: it happened as often, but at most once before each execution, since a region sees the
    last one only.
    """
    tables = Tables.of(trace)
    sites = SiteColumns.of(table)
    homes = find_homes(trace, tables, sites.width_bytes, table.globals)
    writer = StoreWriter(spill or Spill())
    vertices = Vertices.make(tables, homes)
    entries = trace.statistics.region_entries
    _add_chunks(tables, homes, sites, vertices, writer, has_outside=entries > 0)
    if entries:
        _add_entering(vertices, entries, len(table.sites), writer)
    columns = partial(row_columns, writer.row_columns_coded(), writer.pages)
    happened = np.zeros(len(table.sites) + 1, np.bool_)
    for (site,) in columns(("row_site",)):
        happened[site] = True
    names, named = Names(table, trace, tables), sites_of(trace, table, happened)
    named += (Site("(outside the region)", "", 0, "input", 8),) if entries > 1 else ()
    work = vertex_work(columns, named, vertices.count, weights)
    vertex_writer = _VertexWriter(vertices, work, writer)
    _add_homes(trace, names, homes, vertex_writer)
    _add_defined(trace, names, tables, homes, sites, vertex_writer)
    return writer.finish(tuple(names.objects), named)


@dataclass(frozen=True, slots=True)
class SiteColumns:
    """Per site: width of its values, fold, and which label is the sink's own version in it."""

    width_bytes: Int64
    fold: Int64
    self_label: Int64

    @classmethod
    def of(cls, table: SiteTable) -> SiteColumns:
        """Columns of the sites of a module."""
        names = (f.name for f in fields(cls))
        return cls(*(np.array([getattr(s, name) for s in table.sites] or [0], np.int64) for name in names))


@dataclass(frozen=True, slots=True)
class Vertices:
    """Sums per vertex; those that rows define follow the homes."""

    of_row: Int32  # [R], vertex that a row defines, -1 for none; by what labels call the row
    state: UInt8  # [V], what happened first (:mod:`commanalyzer.graph.reading.form_kernels`)
    versions: Int64  # [V], stores
    producer: Int32  # [V], site of the first store, -1 for none
    outside: Int64  # [V], stores between executions of the region, then those that enter it

    @classmethod
    def make(cls, tables: Tables, homes: Homes) -> Vertices:
        """Numbers of all vertices, nothing noted about them."""
        of_row = np.full(max(tables.num_rows, len(tables.kept)), -1, np.int32)
        count = homes.count
        for rows in tables.defining():
            of_row[tables.names_of(rows)] = np.arange(count, count + len(rows))
            count += len(rows)
        if len(tables.kept):
            of_row = of_row[tables.kept]
        stores = np.zeros((2, count), np.int64)
        return cls(of_row, np.zeros(count, np.uint8), stores[0], np.full(count, -1, np.int32), stores[1])

    @property
    def count(self) -> int:
        """Number of vertices V."""
        return len(self.state)


def _add_chunks(
    tables: Tables,
    homes: Homes,
    sites: SiteColumns,
    vertices: Vertices,
    writer: StoreWriter,
    *,
    has_outside: bool,
) -> None:
    """Append all rows, fills last. The rows of a chunk are coded while the next is formed."""
    fills = [np.zeros((0, 4), np.int64)]
    with ThreadPoolExecutor(max_workers=1) as coder:
        coded: Future[None] | None = None
        for chunk in tables.chunks():
            if has_outside:
                inside, between = chunk.cells.copy(), chunk.cells.copy()
                inside[:, 1] &= (1 << OUTSIDE_BITS) - 1
                between[:, 1] >>= OUTSIDE_BITS
                _note_outside(replace(chunk, cells=read_only(between)), tables, homes, vertices)
                chunk = replace(chunk, cells=read_only(inside))
            rows = _form(chunk, tables, homes, sites, vertices)
            fills.append(_fills(chunk))
            if coded is not None:
                coded.result()
            coded = coder.submit(writer.add_rows, rows)
        if coded is not None:
            coded.result()
    for filled in _filled(np.concatenate(fills), homes):
        np.add.at(vertices.versions, *filled[:2])
        writer.add_rows(_without_sources(*filled))


def _note_outside(chunk: Chunk, tables: Tables, homes: Homes, vertices: Vertices) -> None:
    """Add up stores between executions of the region; the cells of ``chunk`` count these."""
    from commanalyzer.graph.reading.form_kernels import count_stores, find_sinks

    places = homes.ranges.starts, homes.ranges.base, homes.vertex, vertices.of_row
    happened = np.flatnonzero(chunk.cells[:, 1])
    heads, sinks = read_only(chunk.heads[happened]), np.empty(len(happened), np.int32)
    find_sinks(heads, read_only(tables.names_of(chunk.origin[happened])), places, sinks)
    plain = sinks >= 0
    stored = sinks[plain], chunk.cells[happened[plain], 1], (heads[plain, 1] & SITE).astype(np.int32)
    count_stores(*stored, vertices.outside, np.empty_like(vertices.producer))
    for home, count, _ in _filled(_fills(chunk), homes):
        np.add.at(vertices.outside, home, count)


def _add_entering(vertices: Vertices, entries: int, site: int, writer: StoreWriter) -> None:
    """Append what changed between executions of the region and was read."""
    from commanalyzer.graph.reading.form_kernels import READ

    entering = np.where(vertices.state & READ, np.minimum(vertices.outside, entries - 1), 0)
    vertex = np.flatnonzero(entering).astype(np.int32)
    vertices.outside[:] = entering
    vertices.versions[:] += entering
    writer.add_rows(_without_sources(vertex, entering[vertex], np.full(len(vertex), site, np.int32)))


def _form(chunk: Chunk, tables: Tables, homes: Homes, sites: SiteColumns, vertices: Vertices) -> Rows:
    """Rows of a chunk in final form."""
    from commanalyzer.graph.reading import form_kernels as kernels
    from commanalyzer.graph.reading.trace_kernels import CACHED, Places

    ranges = homes.ranges
    num_rows, num_labels = len(chunk.end), len(chunk.label)
    sink, site, sinks = np.empty((3, num_rows), np.int32)
    count, terms = np.empty((2, num_rows), np.int64)
    fold, accumulates = np.empty(num_rows, np.uint8), np.empty(num_rows, np.bool_)
    term_sources = np.empty(num_labels, np.int64)
    source, role = np.empty(num_labels, np.int32), np.empty(num_labels, np.uint8)
    places = ranges.starts, ranges.base, homes.vertex, vertices.of_row
    kernels.find_sinks(chunk.heads, tables.names_of(chunk.origin), places, sinks)
    kernels.find_sources(chunk.label, chunk.end, places, np.zeros(CACHED, np.int64))
    columns = chunk.heads, chunk.cells, chunk.origin, chunk.label, chunk.end, chunk.filled
    rows, num_terms, sources = kernels.form_rows(
        kernels.Read(*columns, sinks, tables.groups),
        chunk.group,
        Places(ranges.starts, ranges.length, ranges.base, homes.vertex),
        (sites.self_label, sites.fold),
        vertices.state,
        (sink, count, site, fold, accumulates, terms, term_sources, source, role),
    )
    kernels.count_stores(sink[:rows], count[:rows], site[:rows], vertices.versions, vertices.producer)
    return Rows(
        sink[:rows], count[:rows], site[:rows], fold[:rows], accumulates[:rows],
        pointer_from_counts(terms[:rows]), pointer_from_counts(term_sources[:num_terms]),
        source[:sources], role[:sources],
    )  # fmt: skip


def _fills(chunk: Chunk) -> Int64:
    """int64[n, 4], the fills of a chunk that happened: first word, words, count, site."""
    rows = np.flatnonzero(chunk.filled)
    count = chunk.cells[rows, 1]
    columns = (chunk.heads[rows, 0], chunk.filled[rows], count, chunk.heads[rows, 1] & SITE)
    return np.asarray(np.stack(columns, axis=1)[count > 0])


def _filled(fills: Int64, homes: Homes) -> Iterator[tuple[Int32, Int64, Int32]]:
    """Homes that fills cover, with counts and sites; filled words that nobody else uses are no values."""
    from commanalyzer.graph.reading.trace_kernels import Places, next_filled

    places = Places(homes.ranges.starts, homes.ranges.length, homes.ranges.base, homes.vertex)
    fill, dense = 0, 0
    while fill < len(fills):
        home, count, site = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int32)
        rows, fill, dense = next_filled(fills, fill, dense, places, (home, count, site))
        yield home[:rows], count[:rows], site[:rows]


def _without_sources(sink: Int32, count: Int64, site: Int32) -> Rows:
    none, nothing, pointer = np.zeros(len(sink), np.uint8), np.zeros(0, np.uint8), np.zeros(1, np.int64)
    terms = np.zeros(len(sink) + 1, np.int64)
    return Rows(
        sink, count, site, none, none.astype(np.bool_), terms, pointer, nothing.astype(np.int32), nothing
    )


@dataclass(frozen=True, slots=True)
class _VertexWriter:
    """Appends vertices, some at a time."""

    vertices: Vertices
    work: Float64
    writer: StoreWriter

    def add(
        self, first: int, places: tuple[Int64, Int64], width: UInt8, is_input: Bool, temporary: Bool
    ) -> None:
        """Append vertices from ``first`` on, with their objects and offsets."""
        object_of, offset = places
        part = slice(first, first + len(object_of))
        self.writer.add_vertices(
            {
                "home_object": object_of.astype(np.int32),
                "home_offset": offset,
                "width_bytes": width,
                "versions": self.vertices.versions[part] + is_input,
                "is_temporary": temporary,
                "is_input": is_input,
                "producer_site": self.vertices.producer[part],
                "work_flops": self.work[part],
            }
        )


def _add_homes(trace: Trace, names: Names, homes: Homes, writer: _VertexWriter) -> None:
    """Append the homes. Inputs are those that were read before anything was stored there.

    Rows are in the order in which they first happened, inside the region if there is one.
    """
    from commanalyzer.graph.reading.form_kernels import FIRST_READ

    first = 0
    for home, width in homes.widths():
        behind = first + len(home)
        is_input = (writer.vertices.state[first:behind] & FIRST_READ) != 0
        places = name_homes(names, homes.ranges, trace, home)
        writer.add(first, places, width, is_input, np.zeros(len(home), np.bool_))
        first = behind


def _add_defined(
    trace: Trace, names: Names, tables: Tables, homes: Homes, sites: SiteColumns, writer: _VertexWriter
) -> None:
    """Append register values and lifetimes in workspaces; inputs are those from outside the region."""
    vertices, ranges = writer.vertices, homes.ranges
    is_register, is_slot = np.zeros(len(sites.fold), np.bool_), np.zeros(ranges.size, np.bool_)
    for site, word in _defined(tables, ranges):
        is_register[site[word < 0]] = True
        is_slot[word[word >= 0]] = True
    register_object, words = names.registers(is_register), np.flatnonzero(is_slot)
    word_object, word_offset = name_homes(names, ranges, trace, words)
    first = homes.count
    for site, word in _defined(tables, ranges):
        behind, is_word = first + len(site), word >= 0
        object_of, offset = register_object[site], np.arange(first, behind) - homes.count
        place = np.searchsorted(words, word[is_word])
        object_of[is_word], offset[is_word] = word_object[place], word_offset[place]
        is_input = vertices.versions[first:behind] == vertices.outside[first:behind]
        writer.add(first, (object_of, offset), sites.width_bytes[site].astype(np.uint8), is_input, is_word)
        first = behind


def _defined(tables: Tables, ranges: Ranges) -> Iterator[tuple[Int64, Int64]]:
    """Sites of rows that define vertices; dense number of the word, -1 for register values."""
    for rows in tables.defining():
        sink, site = tables.heads[rows].T
        is_word = (site >> 48) & ROW_REGISTER == 0
        word = np.full(len(rows), -1)
        word[is_word] = ranges.number(sink[is_word])
        yield site & SITE, word


RowColumns = Callable[[tuple[str, ...]], Iterator[tuple[Array, ...]]]


def sites_of(trace: Trace, table: SiteTable, happened: Bool) -> tuple[Site, ...]:
    """Return the sites of a program, with the operations that a run of it did for their values.

    A register that is made of one value alone (Newton's iteration on an element) is no value beside it: what
    was done at sites where nothing ``happened`` (bool[S], rows) was done for the first site with values that
    reads it, directly or through others of these.
    """
    counters = np.asarray(trace.block_counters).astype(np.int64)
    done = [
        sum((cost.times(int(counters[c])) for c, cost in s.cost_terms), Operations()) for s in table.sites
    ]
    for site in np.flatnonzero(~happened[: len(done)]).tolist():
        readers = reached([site], lambda number: () if happened[number] else table.sites[number].readers)
        if (reader := min(filter(happened.__getitem__, readers), default=-1)) >= 0:
            done[reader], done[site] = done[reader] + done[site], Operations()
    return tuple(map(_site, table.sites, done))


def _site(record: SiteRecord, done: Operations) -> Site:
    return Site(
        *(record.source.lstrip("@"), record.place.file, record.place.line, record.kind, record.width_bytes),
        *(record.fold, done.flops, done.integer, done.memory, record.loop),
    )


def weights_in_use(sites: tuple[Site, ...], weights: WorkWeights) -> WorkWeights:
    """Return the weights that hold for a program with these sites (:meth:`WorkWeights.applied`)."""
    return weights.applied(sum((s.operations for s in sites), Operations()))


def vertex_work(
    row_columns: RowColumns, sites: tuple[Site, ...], num_vertices: int, weights: WorkWeights
) -> Float64:
    """Return float64[V], the work of each site shared among its values by the terms that each took.

    ``row_columns`` yields columns of all rows, by name; ``weights`` are those that the user said.
    """
    used = weights_in_use(sites, weights)
    site_work = np.array([used.of(s.operations) for s in sites] or [0], dtype=np.float64)
    per_site, work = np.zeros(len(site_work)), np.zeros(num_vertices)
    for site, count, terms in row_columns(("row_site", "row_count", "row_terms")):
        np.add.at(per_site, site, (count * np.maximum(terms, 1)).astype(np.float64))
    rate = np.divide(site_work, per_site, out=np.zeros_like(site_work), where=per_site > 0)
    for sink, site, count, terms in row_columns(("row_sink", "row_site", "row_count", "row_terms")):
        np.add.at(work, sink, count * np.maximum(terms, 1) * rate[site])
    return work


def with_weights(store: GraphStore, weights: WorkWeights) -> GraphStore:
    """Return the same graph with the work of its vertices by other weights."""
    return store.with_work(vertex_work(store.row_columns, store.sites, store.num_vertices, weights))
