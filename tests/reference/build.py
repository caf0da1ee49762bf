"""Trace -> value communication graph (paper Section 4.2.1).

Input: a :class:`Trace` and the site table of the module that wrote it. Output: :class:`ValueGraph`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.graph.value_graph import Rows, Site, ValueGraph
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.trace import Trace
from tests.reference.arrays import Bool, Int32, Int64, UInt8
from tests.reference.chains import Chains, make_chains
from tests.reference.expand import FlatRows, expand_rows, fill_lengths, pointer, segment_positions
from tests.reference.families import without_families
from tests.reference.homes import Extents, WordIndex, number_homes
from tests.reference.naming import name_homes

_NEVER = np.iinfo(np.int64).max


def build_graph(trace: Trace, table: SiteTable) -> ValueGraph:
    """Graph of everything that was recorded.

    Returns:
        The graph; chains that never happened inside the region are left out, their values are inputs.
    """
    tables = Tables.of(trace)
    trace = without_families(trace)
    rows = _Rows.read(trace, table)
    flat = _without_literals(expand_rows(trace), trace, table)
    index = _number_words(trace, rows, flat)
    defining_rows = np.flatnonzero(rows.defines)
    vertex_of_row = np.full(len(rows.count), -1, np.int32)
    vertex_of_row[defining_rows] = len(index.home) + np.arange(len(defining_rows), dtype=np.int32)
    source, role = _sources(flat, index, vertex_of_row)
    sink = _sinks(rows, index, vertex_of_row)
    chains = make_chains(flat, source, role, sink, rows.fold, rows.self_label, rows.is_register)
    num_vertices = len(index.home) + len(defining_rows)
    fills = _fills(trace, rows, index)
    is_input = _inputs(rows, flat, source, sink, fills, num_vertices, len(index.home))
    is_read = source[
        (source >= 0) & (rows.count[np.repeat(np.arange(len(rows.count)), np.diff(flat.row_start))] > 0)
    ]
    # what was stored between executions of the region and is read: each sees the last version at most
    entering = np.bincount(sink[~rows.is_fill], rows.outside[~rows.is_fill], num_vertices).astype(np.int64)
    np.add.at(entering, fills.vertex, rows.outside[fills.row])
    entering[np.setdiff1d(np.arange(num_vertices), is_read)] = 0
    entering = np.minimum(entering, max(trace.statistics.region_entries - 1, 0))
    return _assemble(
        trace, table, tables, rows, index, defining_rows, sink, chains, fills, is_input, entering
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Per trace row: count, site, kind.

    ``sink`` is a word, or the defining row if ``is_update``. Rows that define a vertex of their own are those
    of register values and of lifetimes in workspaces.
    """

    count: Int64
    outside: Int64
    site: Int64
    sink: Int64
    is_register: Bool
    is_fill: Bool
    is_update: Bool
    defines: Bool
    width_bytes: Int64
    fold: Int64
    self_label: Int64

    @classmethod
    def read(cls, trace: Trace, table: SiteTable) -> "_Rows":
        flags = trace.heads["flags"].astype(np.int64)
        site = trace.heads["site"].astype(np.int64)
        width = np.array([s.width_bytes for s in table.sites] or [0], dtype=np.int64)
        fold = np.array([int(s.fold) for s in table.sites] or [0], dtype=np.int64)
        own = np.array([s.self_label for s in table.sites] or [0], dtype=np.int64)
        is_update = (flags & abi.ROW_UPDATE) != 0
        return cls(
            trace.cells["count"].astype(np.int64) % (1 << 40),
            trace.cells["count"].astype(np.int64) >> 40,
            site,
            trace.heads["sink"].astype(np.int64),
            (flags & abi.ROW_REGISTER) != 0,
            (flags & abi.ROW_FILL) != 0,
            is_update,
            ((flags & (abi.ROW_REGISTER | abi.ROW_TEMPORARY)) != 0) & ~is_update,
            width[site],
            fold[site],
            own[site],
        )


@dataclass(frozen=True, slots=True)
class _Fills:
    """(row, vertex) of every home that a fill covers."""

    row: Int64
    vertex: Int64


def _without_literals(flat: FlatRows, trace: Trace, table: SiteTable) -> FlatRows:
    """What is read from constant variables has no source."""
    constant = [n for n, record in enumerate(table.globals) if record.is_constant]
    extents = np.asarray(trace.extents)
    is_literal = (extents["kind"] == abi.EXTENT_GLOBAL) & np.isin(extents["object"], constant)
    row = Extents(trace).row_of(_words(flat.label))
    dropped = _is_memory_label(flat.label) & np.append(is_literal, False)[row]
    return replace(flat, label=np.where(dropped, np.uint64(0), flat.label))


def _is_memory_label(label: NDArray[np.uint64]) -> Bool:
    return np.asarray((label != 0) & ((label & np.uint64(abi.REGISTER)) == 0))


def _words(label: NDArray[np.uint64]) -> Int64:
    return np.asarray((label & np.uint64(abi.WORD_MASK)).astype(np.int64))


def _stores(rows: _Rows) -> Int64:
    return np.flatnonzero(~rows.defines & ~rows.is_update & ~rows.is_fill)


def _number_words(trace: Trace, rows: _Rows, flat: FlatRows) -> WordIndex:
    """Vertices of all words that are stored to or read."""
    stored = _stores(rows)
    label = flat.label[_is_memory_label(flat.label)]
    return number_homes(Extents(trace), rows.sink[stored], rows.width_bytes[stored], np.unique(_words(label)))


def _sources(flat: FlatRows, index: WordIndex, vertex_of_row: Int32) -> tuple[Int32, UInt8]:
    """Vertex (-1 for none) and role of every label."""
    label, words, in_memory = flat.label, _words(flat.label), _is_memory_label(flat.label)
    named = ~in_memory & ((label & np.uint64(abi.NOTHING)) != abi.NOTHING) & (label != 0)
    source = np.full(len(label), -1, np.int32)
    source[in_memory] = index.vertex_of(words[in_memory])
    source[named] = vertex_of_row[words[named]]
    role = np.where(label & np.uint64(abi.CONTROL), int(SourceRole.CONTROL), 0).astype(np.uint8)
    role[(label & np.uint64(abi.ADDRESS)) != 0] = int(SourceRole.ADDRESS)
    return source, role


def _sinks(rows: _Rows, index: WordIndex, vertex_of_row: Int32) -> Int64:
    """Sink vertex per row, -1 for fills."""
    sink = vertex_of_row.astype(np.int64)
    stored = _stores(rows)
    sink[stored] = index.vertex_of(rows.sink[stored])
    sink[rows.is_update] = vertex_of_row[rows.sink[rows.is_update]]
    return sink


def _fills(trace: Trace, rows: _Rows, index: WordIndex) -> _Fills:
    """Homes that were filled; filled words that nobody else uses are no values."""
    fills = np.flatnonzero(rows.is_fill)
    first = rows.sink[fills]
    last = first + fill_lengths(trace, fills) if len(fills) else first
    low, high = np.searchsorted(index.home, first), np.searchsorted(index.home, last)
    lengths = (high - low).astype(np.int64)
    return _Fills(np.repeat(fills, lengths), np.repeat(low, lengths) + segment_positions(lengths))


def _inputs(
    rows: _Rows, flat: FlatRows, source: Int32, sink: Int64, fills: _Fills, num_vertices: int, num_memory: int
) -> Bool:
    """Homes that were read before anything was stored there; registers defined outside the region.

    Rows are in the order of their first occurrence, so the first row that reads a home and the first one that
    stores to it tell which came first.
    """
    row = np.repeat(np.arange(len(rows.count)), np.diff(flat.row_start))
    first_read = np.full(num_vertices, _NEVER, np.int64)
    known = source >= 0
    known &= rows.count[row] > 0
    first_read[source[known][::-1]] = row[known][::-1]  # of repeated indices the last assignment stays
    first_stored = np.full(num_vertices, _NEVER, np.int64)
    stores = np.flatnonzero(~rows.is_fill & (rows.count > 0))[::-1]
    first_stored[sink[stores]] = stores
    filled = rows.count[fills.row] > 0
    np.minimum.at(first_stored, fills.vertex[filled], fills.row[filled])
    is_input = (first_read <= first_stored) & (first_read != _NEVER)
    happens = np.bincount(sink[sink >= num_memory], rows.count[sink >= num_memory], num_vertices)
    is_input[num_memory:] = happens[num_memory:] == 0
    return np.asarray(is_input)


def _worker(table: SiteTable, happened: set[int], site: int) -> int:
    """The site whose values have the work of ``site``: the first reader that has values."""
    without, found = {site} - happened, {site} & happened
    while fresh := {r for s in without for r in table.sites[s].readers} - without - found:
        without, found = without | (fresh - happened), found | (fresh & happened)
    return min(found, default=site)


def _sites(trace: Trace, table: SiteTable, happened: set[int]) -> tuple[Site, ...]:
    counters = np.asarray(trace.block_counters).astype(np.int64)
    workers = [_worker(table, happened, number) for number in range(len(table.sites))]
    done = np.zeros((len(workers), 3), np.int64)  # one site after the other
    for s, worker in zip(table.sites, workers, strict=True):
        for c, cost in s.cost_terms:
            done[worker] += counters[c] * np.array((cost.flops, cost.integer, cost.memory))
    return tuple(
        Site(
            s.source.lstrip("@"),
            s.place.file,
            s.place.line,
            s.kind,
            s.width_bytes,
            s.fold,
            flops,
            integer,
            memory,
            s.loop,
        )
        for s, (flops, integer, memory) in zip(table.sites, done.tolist(), strict=True)
    )


def _assemble(
    trace: Trace,
    table: SiteTable,
    tables: Tables,
    rows: _Rows,
    index: WordIndex,
    defining_rows: Int64,
    sink: Int64,
    chains: Chains,
    fills: _Fills,
    is_input: Bool,
    entering: Int64,
) -> ValueGraph:
    """Final arrays: rows that happened, in order of first occurrence, fills behind them."""
    happened = rows.count > 0
    kept = np.flatnonzero(~rows.is_fill & happened)
    filled = happened[fills.row]
    fill_row, fill_sink = fills.row[filled], fills.vertex[filled]
    enters = np.flatnonzero(entering)
    outside = np.full(len(enters), len(table.sites))
    row_sink = np.concatenate([sink[kept], fill_sink, enters])
    row_count = np.concatenate([rows.count[kept], rows.count[fill_row], entering[enters]])
    row_site = np.concatenate([rows.site[kept], rows.site[fill_row], outside])
    sites = _sites(trace, table, set(row_site.tolist()))
    nothing = np.zeros(len(fill_row) + len(enters), np.int64)
    if trace.statistics.region_entries > 1:
        sites += (Site("(outside the region)", "", 0, "input", 8),)
    terms_per_row = np.bincount(chains.term_row, minlength=len(rows.count))[kept]
    source, role, source_ptr = _of_rows(chains, happened)
    num_vertices = len(is_input)
    home_object, home_offset, objects = name_homes(index, defining_rows, trace, table, tables)
    term_ptr = pointer(np.concatenate([terms_per_row, nothing]))
    named_width = rows.width_bytes[defining_rows].astype(np.uint8)
    return ValueGraph(
        home_object=home_object,
        home_offset=home_offset,
        width_bytes=np.concatenate([index.width_bytes, named_width]),
        versions=np.bincount(row_sink, row_count, num_vertices).astype(np.int64) + is_input,
        is_temporary=np.concatenate([np.zeros(len(index.home), np.bool_), ~rows.is_register[defining_rows]]),
        is_input=is_input,
        producer_site=_producers(rows, sink, kept, num_vertices),
        work_flops=_work(row_sink, row_count, row_site, np.diff(term_ptr), sites, num_vertices),
        rows=Rows(
            row_sink=row_sink.astype(np.int32),
            row_count=row_count,
            row_site=row_site.astype(np.int32),
            row_fold=np.concatenate([chains.fold[kept], nothing + int(Fold.NONE)]).astype(np.uint8),
            row_accumulates=np.concatenate([chains.accumulates[kept], nothing.astype(bool)]),
            term_ptr=term_ptr,
            source_ptr=source_ptr,
            source=source,
            source_role=role,
        ),
        objects=objects,
        sites=sites,
    )


def _of_rows(chains: Chains, happened: Bool) -> tuple[Int32, UInt8, Int64]:
    """Sources, roles and term pointer of the rows that happened."""
    alive = happened[chains.term_row]
    lengths = np.diff(chains.source_ptr)
    of_source = np.repeat(alive, lengths)
    return chains.source[of_source], chains.role[of_source], pointer(lengths[alive])


def _producers(rows: _Rows, sink: Int64, kept: Int64, num_vertices: int) -> Int32:
    producer = np.full(num_vertices, -1, np.int32)
    backwards = kept[::-1]  # the first row of a vertex is written last
    producer[sink[backwards]] = rows.site[backwards]
    return producer


def _work(
    row_sink: Int64,
    row_count: Int64,
    row_site: Int64,
    num_terms: Int64,
    sites: tuple[Site, ...],
    num_vertices: int,
) -> NDArray[np.float64]:
    """Operations per vertex, accesses where there are no others, in proportion to the terms it computed."""
    share = row_count * np.maximum(num_terms, 1)
    computed = np.array([s.flops + s.integer_ops for s in sites] or [0], dtype=np.float64)
    moved = np.array([s.memory_ops for s in sites] or [0], dtype=np.float64)
    flops = computed if computed.any() else moved
    per_site = np.bincount(row_site, weights=share, minlength=len(flops))
    rate = np.divide(flops, per_site, out=np.zeros_like(flops), where=per_site > 0)
    flops_of = np.bincount(row_sink, weights=share * rate[row_site], minlength=num_vertices)
    return np.asarray(flops_of, dtype=np.float64)
