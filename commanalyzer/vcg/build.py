"""Trace -> value communication graph (paper Section 4.2.1).

Input: a :class:`Trace` and the site table of the module that wrote it. Output: :class:`ValueGraph`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commanalyzer.abi.hooks import ADDRESS, CONTROL, REGISTER, WORD_MASK
from commanalyzer.abi.trace_layout import ROW_FILL, ROW_REGISTER
from commanalyzer.instrument.sites import SiteTable
from commanalyzer.trace.reader import Trace
from commanalyzer.vcg.expand import FlatRows, expand_rows, fill_lengths
from commanalyzer.vcg.graph import Fold, Site, SourceRole, ValueGraph
from commanalyzer.vcg.homes import HomeTable, alias_words, name_homes

Int64 = NDArray[np.int64]
UInt64 = NDArray[np.uint64]
Bool = NDArray[np.bool_]

_FIRST_NEVER = np.iinfo(np.int64).max


def build_graph(trace: Trace, table: SiteTable, *, has_regions: bool = False) -> ValueGraph:
    """Graph of everything that was recorded.

    Args:
        trace: Recording.
        table: Sites and objects of the instrumented module.
        has_regions: Only part of the run was counted: values from outside it are inputs.

    Returns:
        The graph; chains that never happened inside the region are left out, their values are inputs.
    """
    rows = _Rows.read(trace, table)
    flat = expand_rows(trace)
    homes, sink, source = _vertices(trace, rows, flat)
    chains = _Chains.make(rows, flat, sink, source)
    fill_row, fill_sink = _fills(trace, rows, homes)
    first_sink = _first(sink[rows.stores], rows.stores, homes.num_vertices)
    np.minimum.at(first_sink, fill_sink, fill_row)
    first_source = _first(source, flat.row, homes.num_vertices)
    # registers are read after they are defined, in any order of rows
    is_input = (first_source <= first_sink) & (first_source != _FIRST_NEVER)
    is_input[len(homes.words) :] = rows.count[homes.register_rows] == 0
    if has_regions:
        is_input |= first_source != _FIRST_NEVER
    sites = _sites(trace, table)
    return _assemble(trace, table, rows, homes, sink, chains, fill_row, fill_sink, is_input, sites)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Per trace row: count, site, kind."""

    count: Int64
    site: Int64
    sink_word: UInt64
    is_register: Bool
    is_fill: Bool
    width_bytes: Int64
    fold: Int64
    self_label: Int64

    @property
    def stores(self) -> Int64:
        """Rows that create a version in memory or a register value."""
        return np.flatnonzero(~self.is_fill)

    @classmethod
    def read(cls, trace: Trace, table: SiteTable) -> _Rows:
        flags = trace.heads["flags"].astype(np.int64)
        site = trace.heads["site"].astype(np.int64)
        width = np.array([s.width_bytes for s in table.sites] or [0], dtype=np.int64)
        fold = np.array([int(s.fold) for s in table.sites] or [0], dtype=np.int64)
        own = np.array([s.self_label for s in table.sites] or [0], dtype=np.int64)
        return cls(
            trace.cells["count"].astype(np.int64),
            site,
            np.asarray(trace.heads["sink"]),
            (flags & ROW_REGISTER) != 0,
            (flags & ROW_FILL) != 0,
            width[site],
            fold[site],
            own[site],
        )


def _vertices(trace: Trace, rows: _Rows, flat: FlatRows) -> tuple[HomeTable, Int64, Int64]:
    """Homes, sink vertex per row (-1 for fills) and source vertex per flat source."""
    is_memory = ~rows.is_register & ~rows.is_fill
    stored, inverse = np.unique(rows.sink_word[is_memory], return_inverse=True)
    width = np.zeros(len(stored), np.int64)
    np.maximum.at(width, inverse, rows.width_bytes[is_memory])
    in_memory = (flat.label & np.uint64(REGISTER)) == 0
    words = flat.label & np.uint64(WORD_MASK)
    base = words.copy()
    base[in_memory] = alias_words(words[in_memory], stored, width)
    homes = HomeTable(np.union1d(stored, base[in_memory]), np.flatnonzero(rows.is_register).astype(np.int64))
    sink = np.full(len(rows.count), -1, np.int64)
    sink[is_memory] = np.searchsorted(homes.words, rows.sink_word[is_memory])
    sink[homes.register_rows] = len(homes.words) + np.arange(len(homes.register_rows))
    return homes, sink, homes.vertices_of_labels(flat.label, base)


def _first(vertex: Int64, row: Int64, num_vertices: int) -> Int64:
    """First row in which each vertex occurs."""
    result = np.full(num_vertices, _FIRST_NEVER, np.int64)
    np.minimum.at(result, vertex, row)
    return result


def _fills(trace: Trace, rows: _Rows, homes: HomeTable) -> tuple[Int64, Int64]:
    """(row, vertex) of every home that a fill covers; filled words that nobody else uses are no values."""
    fills = np.flatnonzero(rows.is_fill)
    if not len(fills):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = rows.sink_word[fills]
    last = first + fill_lengths(trace, fills).astype(np.uint64)
    low, high = np.searchsorted(homes.words, first), np.searchsorted(homes.words, last)
    lengths = (high - low).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    vertex = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts - low, lengths)
    return np.repeat(fills, lengths), vertex


@dataclass(frozen=True, slots=True)
class _Chains:
    """Sources in final form: self-sources removed, one entry per (row, term, source), strongest role.

    Attributes:
        row, term, source, role: int64[S], sorted by row, then term.
        fold: int64[R], after the run: a site's fold holds only where the sink really was its own operand.
        accumulates: bool[R].
    """

    row: Int64
    term: Int64
    source: Int64
    role: Int64
    fold: Int64
    accumulates: Bool

    @classmethod
    def make(cls, rows: _Rows, flat: FlatRows, sink: Int64, source: Int64) -> _Chains:
        is_self = source == sink[flat.row]
        accumulates = np.zeros(len(rows.count), bool)
        accumulates[flat.row[is_self]] = True
        by_operation = np.zeros(len(rows.count), bool)
        by_operation[flat.row[is_self & (flat.position == rows.self_label[flat.row])]] = True
        fold = np.where(rows.is_register | by_operation, rows.fold, int(Fold.NONE))
        role = np.zeros(len(source), np.int64)
        role[(flat.label & np.uint64(CONTROL)) != 0] = int(SourceRole.CONTROL)
        role[(flat.label & np.uint64(ADDRESS)) != 0] = int(SourceRole.ADDRESS)
        term = np.where(fold[flat.row] == int(Fold.NONE), 0, flat.term)
        keep = ~is_self
        order = np.lexsort((role[keep], source[keep], term[keep], flat.row[keep]))
        row, term, source, role = (a[keep][order] for a in (flat.row, term, source, role))
        fresh = np.ones(len(row), bool)
        fresh[1:] = (row[1:] != row[:-1]) | (term[1:] != term[:-1]) | (source[1:] != source[:-1])
        return cls(row[fresh], term[fresh], source[fresh], role[fresh], fold, accumulates)


def _sites(trace: Trace, table: SiteTable) -> tuple[Site, ...]:
    counters = np.asarray(trace.block_counters).astype(np.int64)
    return tuple(
        Site(
            s.function.lstrip("@"),
            s.place.file,
            s.place.line,
            s.kind,
            s.width_bytes,
            s.fold,
            int(sum(int(counters[c]) * flops for c, flops in s.flop_terms)),
        )
        for s in table.sites
    )


def _assemble(
    trace: Trace,
    table: SiteTable,
    rows: _Rows,
    homes: HomeTable,
    sink: Int64,
    chains: _Chains,
    fill_row: Int64,
    fill_sink: Int64,
    is_input: Bool,
    sites: tuple[Site, ...],
) -> ValueGraph:
    """Final arrays: rows that happened, in order of first occurrence, fills behind them."""
    kept = np.flatnonzero(~rows.is_fill & (rows.count > 0))
    number = np.full(len(rows.count), -1, np.int64)
    number[kept] = np.arange(len(kept))
    alive = number[chains.row] >= 0
    row, term, source, role = (a[alive] for a in (chains.row, chains.term, chains.source, chains.role))
    starts_term = np.ones(len(row), bool)
    starts_term[1:] = (row[1:] != row[:-1]) | (term[1:] != term[:-1])
    term_first = np.flatnonzero(starts_term)
    terms_per_row = np.bincount(number[row[term_first]], minlength=len(kept))
    fill_alive = rows.count[fill_row] > 0
    fill_row, fill_sink = fill_row[fill_alive], fill_sink[fill_alive]
    row_sink = np.concatenate([sink[kept], fill_sink])
    row_count = np.concatenate([rows.count[kept], rows.count[fill_row]])
    row_site = np.concatenate([rows.site[kept], rows.site[fill_row]])
    nothing = np.zeros(len(fill_row), np.int64)
    term_ptr = np.concatenate([[0], np.cumsum(np.concatenate([terms_per_row, nothing]))]).astype(np.int64)
    source_ptr = np.concatenate([term_first, [len(row)]]).astype(np.int64)
    versions = np.bincount(row_sink, weights=row_count, minlength=homes.num_vertices).astype(np.int64)
    home_object, home_offset, objects = name_homes(homes, trace, table)
    return ValueGraph(
        home_object=home_object,
        home_offset=home_offset,
        width_bytes=_widths(rows, homes, sink, kept),
        versions=versions + is_input,
        is_input=is_input,
        producer_site=_producers(rows, sink, kept, homes.num_vertices),
        work_flops=_work(row_sink, row_count, row_site, np.diff(term_ptr), sites, homes.num_vertices),
        row_sink=row_sink.astype(np.int32),
        row_count=row_count,
        row_site=row_site.astype(np.int32),
        row_fold=np.concatenate([chains.fold[kept], nothing]).astype(np.uint8),
        row_accumulates=np.concatenate([chains.accumulates[kept], nothing.astype(bool)]),
        term_ptr=term_ptr,
        source_ptr=source_ptr,
        source=source.astype(np.int32),
        source_role=role.astype(np.uint8),
        objects=objects,
        sites=sites,
    )


def _widths(rows: _Rows, homes: HomeTable, sink: Int64, kept: Int64) -> NDArray[np.uint8]:
    """Width of the widest value stored at each home; inputs that were never stored: see the text.

    An input has no store that tells its width. Neighbouring homes of the same array do: 8 when the words of
    inputs around it are two apart, 4 otherwise.
    """
    width = np.zeros(homes.num_vertices, np.int64)
    stores = rows.stores
    np.maximum.at(width, sink[stores], rows.width_bytes[stores])
    del kept
    unknown = np.flatnonzero(width[: len(homes.words)] == 0)
    if len(unknown):
        gap = np.diff(homes.words, append=homes.words[-1:] + np.uint64(2))
        width[unknown] = np.where(gap[unknown] == 1, 4, 8)
    return width.astype(np.uint8)


def _producers(rows: _Rows, sink: Int64, kept: Int64, num_vertices: int) -> NDArray[np.int32]:
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
    """Floating-point operations per vertex: those of a site in proportion to the terms that it computed."""
    share = row_count * np.maximum(num_terms, 1)
    flops = np.array([s.flops for s in sites] or [0], dtype=np.float64)
    per_site = np.bincount(row_site, weights=share, minlength=len(flops))
    rate = np.divide(flops, per_site, out=np.zeros_like(flops), where=per_site > 0)
    return np.asarray(np.bincount(row_sink, weights=share * rate[row_site], minlength=num_vertices))
