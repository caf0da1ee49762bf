"""Trace -> value communication graph (paper Section 4.2.1), row by row.

Input: a :class:`Trace` and the site table of the module that wrote it. Output: :class:`ValueGraph`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.graph.homes import Names
from commanalyzer.graph.reading.tables import Tables
from commanalyzer.graph.value_graph import HomeObject, Rows, Site, ValueGraph
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.trace import Trace
from tests.reference.homes import Extents, Homes
from tests.reference.rows import Row, rows_of_trace

Term = dict[int, int]
"""Vertices and roles of the sources."""


@dataclass
class Chain:
    """A row of the graph."""

    sink: int
    count: int
    site: int
    fold: int = int(Fold.NONE)
    accumulates: bool = False
    terms: Sequence[Term] = ()


def build_graph(trace: Trace, table: SiteTable) -> ValueGraph:
    """Graph of everything that was recorded.

    Returns:
        The graph; chains that never happened inside the region are left out, their values are inputs.
    """
    reader = _Reader(trace, table)
    homes, num_vertices = reader.homes, len(reader.homes.home) + len(reader.defining)
    rows = [(row, reader.sinks(row), [reader.source(label) for label in row.sources]) for row in reader.rows]
    first_read, first_stored = dict[int, int](), dict[int, int]()
    entering, made = [0] * num_vertices, [0] * num_vertices
    for number, (row, sinks, sources) in enumerate(rows):
        for vertex, _ in sources if row.count else ():
            first_read.setdefault(vertex, number)
        for vertex in sinks:
            entering[vertex] += row.outside
            made[vertex] += row.count
            if row.count:
                first_stored.setdefault(vertex, number)
    is_input = [not count for count in made]
    for vertex in range(len(homes.home)):  # read before anything was stored there
        is_input[vertex] = first_read.get(vertex, len(rows)) <= first_stored.get(vertex, len(rows) - 1)
    # what was stored between executions of the region and is read: each sees the last version at most
    most = max(trace.statistics.region_entries - 1, 0)
    entering = [min(count, most) * (vertex in first_read) for vertex, count in enumerate(entering)]
    happened = [entry for entry in rows if entry[0].count]
    is_fill = [bool(row.flags & abi.ROW_FILL) for row, *_ in happened]
    chains = [reader.chain(*entry) for entry, fills in zip(happened, is_fill, strict=True) if not fills]
    producer = {chain.sink: chain.site for chain in reversed(chains)}
    for (row, sinks, _), fills in zip(happened, is_fill, strict=True):
        chains += [Chain(vertex, row.count, row.site) for vertex in sinks if fills]
    chains += [Chain(vertex, count, len(table.sites)) for vertex, count in enumerate(entering) if count]
    sites = _sites(trace, table, {chain.site for chain in chains})
    if trace.statistics.region_entries > 1:
        sites += (Site("(outside the region)", "", 0, "input", 8),)
    columns, (home_object, home_offset, objects) = _columns(chains), reader.places()
    widths = [*homes.width_bytes, *(table.sites[row.site].width_bytes for row in reader.defining)]
    is_lifetime = [not row.flags & abi.ROW_REGISTER for row in reader.defining]
    versions = np.bincount(columns.row_sink, columns.row_count, num_vertices).astype(np.int64)
    return ValueGraph(
        home_object=np.array(home_object, np.int32),
        home_offset=np.array(home_offset, np.int64),
        width_bytes=np.array(widths, np.uint8),
        versions=versions + np.array(is_input, np.bool_),
        is_temporary=np.array([False] * len(homes.home) + is_lifetime, np.bool_),
        is_input=np.array(is_input, np.bool_),
        producer_site=np.array([producer.get(vertex, -1) for vertex in range(num_vertices)], np.int32),
        work_flops=_work(columns, sites, num_vertices),
        rows=columns,
        objects=objects,
        sites=sites,
    )


class _Reader:
    """Rows of a trace, and which vertices their sinks and labels are.

    Words of memory come first, then what rows define: register values and lifetimes in workspaces.
    """

    def __init__(self, trace: Trace, table: SiteTable) -> None:
        self._trace, self._table, self._extents = trace, table, Extents(trace)
        self.rows, defines = rows_of_trace(trace), abi.ROW_REGISTER | abi.ROW_TEMPORARY
        self.defining = [r for r in self.rows if r.flags & defines and not r.flags & abi.ROW_UPDATE]
        stores = [r for r in self.rows if not r.flags & (defines | abi.ROW_UPDATE | abi.ROW_FILL)]
        labels = {label for row in self.rows for label in row.sources}
        in_memory = {label & abi.WORD_MASK for label in labels if label and not label & abi.REGISTER}
        read = {word for word in in_memory if not self._is_literal(word)}
        self.homes = Homes(self._extents, ((r.sink, table.sites[r.site].width_bytes) for r in stores), read)
        self._read = read
        self._named = {row.name: len(self.homes.home) + n for n, row in enumerate(self.defining)}

    def _is_literal(self, word: int) -> bool:
        """What is read from constant variables has no source."""
        if (row := self._extents.row_of(word)) < 0:
            return False
        extent = self._trace.extents[row]
        return bool(
            extent["kind"] == abi.EXTENT_GLOBAL and self._table.globals[int(extent["object"])].is_constant
        )

    def source(self, label: int) -> tuple[int, int]:
        """Vertex (-1 for none) and role of a label."""
        word, vertex = label & abi.WORD_MASK, -1
        if label & abi.REGISTER:
            vertex = self._named[word] if label & abi.NOTHING != abi.NOTHING else -1
        elif label and word in self._read:
            vertex = self.homes.vertex[word]
        if label & abi.ADDRESS:
            return vertex, int(SourceRole.ADDRESS)
        return vertex, int(SourceRole.CONTROL if label & abi.CONTROL else SourceRole.DATA)

    def sinks(self, row: Row) -> Sequence[int]:
        """Vertices that a row stores to: one, or the homes that a fill covers and that others use."""
        if row.flags & abi.ROW_FILL:
            return self.homes.between(row.sink, row.sink + row.labels[0])
        if row.flags & abi.ROW_UPDATE:
            return (self._named[row.sink],)
        if row.flags & (abi.ROW_REGISTER | abi.ROW_TEMPORARY):
            return (self._named[row.name],)
        return (self.homes.vertex[row.sink],)

    def chain(self, row: Row, sinks: Sequence[int], sources: list[tuple[int, int]]) -> Chain:
        """The chain of a row: terms ordered by vertex, of equal sources the one with the strongest role."""
        (sink,), site = sinks, self._table.sites[row.site]
        own = {place for place, (vertex, _) in enumerate(sources) if vertex == sink}
        # the fold of a site holds where the sink really was its own operand
        fold = site.fold if row.flags & abi.ROW_REGISTER or site.self_label in own else Fold.NONE
        ends = [len(sources)] if fold == Fold.NONE else accumulate((len(row.labels), *map(len, row.terms)))
        found = []
        for begin, end in pairwise((0, *ends)):
            term: Term = {}
            for vertex, role in sorted(sources[begin:end]):
                if vertex not in (-1, sink):
                    term.setdefault(vertex, role)
            found += [term] if term else []
        return Chain(sink, row.count, row.site, int(fold), bool(own), found)

    def places(self) -> tuple[list[int], list[int], tuple[HomeObject, ...]]:
        """Object and byte offset of every vertex, and all objects; register values of a site are one."""
        names = Names(self._table, self._trace, Tables.of(self._trace))
        in_memory = self._places_of(names, self.homes.home)
        is_register = np.zeros(len(self._table.sites), np.bool_)
        registers = [row.site for row in self.defining if row.flags & abi.ROW_REGISTER]
        is_register[registers] = True
        of_site = names.registers(is_register).tolist()
        slots = sorted({row.sink for row in self.defining if not row.flags & abi.ROW_REGISTER})
        in_slot = dict(zip(slots, self._places_of(names, slots), strict=True))
        named = [
            (of_site[row.site], n) if row.flags & abi.ROW_REGISTER else in_slot[row.sink]
            for n, row in enumerate(self.defining)
        ]
        number, offset = zip(*in_memory, *named, strict=True) if in_memory or named else ((), ())
        return list(number), list(offset), tuple(names.objects)

    def _places_of(self, names: Names, words: list[int]) -> list[tuple[int, int]]:
        """Object number and byte offset of words in increasing order."""
        found: list[tuple[int, int]] = []
        size = self._trace.word_bytes
        for row, group in groupby(words, self._extents.row_of):
            offset = np.array(list(group)) * size
            if row < 0:
                found += [(0, at) for at in offset.tolist()]
                continue
            extent = self._trace.extents[row]
            within = offset + int(extent["offset"]) - int(self._trace.words_at(extent["start"])) * size
            number, shift = names.resolve(extent, within)
            numbers = np.broadcast_to(number, within.shape).tolist()
            found += zip(numbers, (within - shift).tolist(), strict=True)
        return found


def _columns(chains: list[Chain]) -> Rows:
    terms = [term for chain in chains for term in chain.terms]
    return Rows(
        row_sink=np.array([chain.sink for chain in chains], np.int32),
        row_count=np.array([chain.count for chain in chains], np.int64),
        row_site=np.array([chain.site for chain in chains], np.int32),
        row_fold=np.array([chain.fold for chain in chains], np.uint8),
        row_accumulates=np.array([chain.accumulates for chain in chains], np.bool_),
        term_ptr=np.array([0, *accumulate(len(chain.terms) for chain in chains)], np.int64),
        source_ptr=np.array([0, *accumulate(map(len, terms))], np.int64),
        source=np.array([vertex for term in terms for vertex in term], np.int32),
        source_role=np.array([role for term in terms for role in term.values()], np.uint8),
    )


def _worker(table: SiteTable, happened: set[int], site: int) -> int:
    """The site whose values have the work of ``site``: the first reader that has values."""
    without, found = {site} - happened, {site} & happened
    while fresh := {r for s in without for r in table.sites[s].readers} - without - found:
        without, found = without | (fresh - happened), found | (fresh & happened)
    return min(found, default=site)


def _sites(trace: Trace, table: SiteTable, happened: set[int]) -> tuple[Site, ...]:
    counters = trace.block_counters.tolist()
    workers = [_worker(table, happened, number) for number in range(len(table.sites))]
    done = np.zeros((len(workers), 3), np.int64)  # one site after the other
    for s, worker in zip(table.sites, workers, strict=True):
        for c, cost in s.cost_terms:
            done[worker] += counters[c] * np.array((cost.flops, cost.integer, cost.memory))
    return tuple(
        Site(s.source.lstrip("@"), s.place.file, s.place.line, s.kind, s.width_bytes, s.fold, f, i, m, s.loop)
        for s, (f, i, m) in zip(table.sites, done.tolist(), strict=True)
    )


def _work(rows: Rows, sites: tuple[Site, ...], num_vertices: int) -> NDArray[np.float64]:
    """Operations per vertex, accesses where there are no others, in proportion to the terms it computed."""
    share = rows.row_count * np.maximum(np.diff(rows.term_ptr), 1)
    computed = np.array([s.flops + s.integer_ops for s in sites] or [0], dtype=np.float64)
    moved = np.array([s.memory_ops for s in sites] or [0], dtype=np.float64)
    flops = computed if computed.any() else moved
    per_site = np.bincount(rows.row_site, weights=share, minlength=len(flops))
    rate = np.divide(flops, per_site, out=np.zeros_like(flops), where=per_site > 0)
    flops_of = np.bincount(rows.row_sink, weights=share * rate[rows.row_site], minlength=num_vertices)
    return np.asarray(flops_of, dtype=np.float64)
