"""Value-flow chains of a native recording in the interpreter's terms, for comparison.

Slow and direct on purpose: named registers are dissolved until nothing changes, one Python object per source.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from commanalyzer.recording.interpreter.values import EXIT_HOME, Chain, Home

_KINDS = {HomeKind.GLOBAL: "global", HomeKind.HEAP: "heap", HomeKind.STACK: "stack"}
_HEAP_HEADER_BYTES = 16
Sources = frozenset[tuple[Home, SourceRole]]


@dataclass(frozen=True)
class PlainChain:
    """A chain with the sink's own previous version as a flag (its role is not compared)."""

    sink: Home
    sources: Sources
    reads_itself: bool


def native_chains(graph: ValueGraph) -> Counter[PlainChain]:
    """Chains of the memory homes of ``graph``, named registers replaced by their sources."""
    reader = _GraphReader(graph)
    result: Counter[PlainChain] = Counter()
    for row in range(graph.num_rows):
        sink = int(graph.rows.row_sink[row])
        home = reader.home(sink)
        if home is None:
            continue
        sources = dict(reader.sources(row))
        own = sources.pop(home, None) is not None or bool(graph.rows.row_accumulates[row])
        result[PlainChain(home, frozenset(sources.items()), own)] += int(graph.rows.row_count[row])
    return result


def register_homes(graph: ValueGraph) -> dict[str, str]:
    """Registers that are values with a version per assignment, by the object that each is: no others are."""
    keys = [o.key for o in graph.objects if "/%ca.home." in o.key]
    return {key: "%" + key.partition("/%ca.home.")[2] for key in keys}


def oracle_chains(chains: Mapping[Chain, int], graph: ValueGraph) -> Counter[PlainChain]:
    """The interpreter's chains with the same conventions.

    The second word of a wide value is named by its first, and constants written to words that nobody ever
    uses (fills) are left out, as in the graph.
    """
    reader = _GraphReader(graph)
    known = {h: int(graph.width_bytes[v]) for v in range(graph.num_vertices) if (h := reader.home(v))}
    result: Counter[PlainChain] = Counter()
    temporaries = {chain.sink: chain.sources for chain in chains if chain.sink.kind == "temporary"}
    dissolved: dict[Home, dict[Home, SourceRole]] = {}
    for chain, count in _without_temporaries(chains, temporaries, dissolved).items():
        if not chain.sources and chain.sink not in known:
            continue  # part of a fill
        sink = _first_word(chain.sink, known)
        roles: dict[Home, SourceRole] = {}
        for home, role in chain.sources:
            first = _first_word(home, known)
            roles[first] = min(role, roles.get(first, role))
        own = roles.pop(sink, None) is not None
        result[PlainChain(sink, frozenset(roles.items()), own)] += count
    return result


def _without_temporaries(
    chains: Mapping[Chain, int], temporaries: Mapping[Home, Sources], done: dict[Home, dict[Home, SourceRole]]
) -> Counter[Chain]:
    """Chains of homes, versions in workspaces replaced by what they were computed from."""
    for home in temporaries:  # in the order of their creation: sources come first
        done[home] = _dissolve(temporaries[home], done)
    result: Counter[Chain] = Counter()
    for chain, count in chains.items():
        if chain.sink.kind != "temporary":
            result[Chain(chain.sink, frozenset(_dissolve(chain.sources, done).items()))] += count
    return result


def _dissolve(sources: Sources, done: Mapping[Home, dict[Home, SourceRole]]) -> dict[Home, SourceRole]:
    found: dict[Home, SourceRole] = {}
    for home, role in sources:
        inner = done.get(home, {}) if home.kind == "temporary" else {home: SourceRole.DATA}
        for base, own in inner.items():
            strongest = role if role is not SourceRole.DATA else own
            found[base] = min(strongest, found.get(base, strongest))
    return found


def _first_word(home: Home, known: Mapping[Home, int]) -> Home:
    if home in known:
        return home
    for distance in range(1, 16):
        base = home._replace(offset_bytes=home.offset_bytes - distance)
        if known.get(base, 0) > distance:
            return base
    return home


class _GraphReader:
    def __init__(self, graph: ValueGraph) -> None:
        self._graph = graph
        # an updated vertex has a row for each of its versions
        self._rows_of_register: dict[int, list[int]] = {}
        for row, sink in enumerate(graph.rows.row_sink):
            if graph.is_register[int(sink)] or graph.is_temporary[int(sink)]:
                self._rows_of_register.setdefault(int(sink), []).append(row)

    def home(self, vertex: int) -> Home | None:
        graph = self._graph
        item = graph.objects[int(graph.home_object[vertex])]
        if graph.is_temporary[vertex]:
            return None
        if item.kind is HomeKind.REGISTER:
            return EXIT_HOME if item.name == "return" else None
        kind = _KINDS.get(item.kind, "unknown")
        offset = int(graph.home_offset[vertex])
        key = item.key
        key, _, start = key.partition("+")
        offset += int(start or (_HEAP_HEADER_BYTES if item.kind is HomeKind.HEAP else 0))
        return Home(kind, key, item.depth, offset)

    def sources(self, row: int) -> dict[Home, SourceRole]:
        """Memory sources of a row with their strongest roles."""
        graph = self._graph
        first, last = graph.rows.source_ptr[graph.rows.term_ptr[row : row + 2]]
        found: dict[Home, SourceRole] = {}
        for index in range(int(first), int(last)):
            role = SourceRole(int(graph.rows.source_role[index]))
            for home, inner in self._of_value(int(graph.rows.source[index])).items():
                strongest = role if role is not SourceRole.DATA else inner
                found[home] = min(strongest, found.get(home, strongest))
        return found

    def _of_value(self, vertex: int) -> dict[Home, SourceRole]:
        home = self.home(vertex)
        if home is not None:
            return {home: SourceRole.DATA}
        return self._dissolved.get(vertex, {})

    @cached_property
    def _dissolved(self) -> dict[int, dict[Home, SourceRole]]:
        """What vertices without a home are made of; updates of several of them may read each other."""
        found: dict[int, dict[Home, SourceRole]] = {vertex: {} for vertex in self._rows_of_register}
        self._dissolved = found
        is_changed = True
        while is_changed:
            is_changed = False
            for vertex, rows in self._rows_of_register.items():
                merged: dict[Home, SourceRole] = {}
                for row in rows:
                    for home, role in self.sources(row).items():
                        merged[home] = min(role, merged.get(home, role))
                is_changed |= merged != found[vertex]
                found[vertex] = merged
        return found


def home_of(graph: ValueGraph, vertex: int) -> Home | None:
    """Home of a memory vertex, ``None`` for register values and temporaries."""
    return _GraphReader(graph).home(vertex)


def describe_difference(native: Counter[PlainChain], oracle: Counter[PlainChain]) -> str:
    """The first chains that only one side has, for the message of a failing test."""
    lines = []
    for title, chains in (("only native", native - oracle), ("only interpreter", oracle - native)):
        for chain, count in list(chains.items())[:6]:
            text = ", ".join(f"{h}:{r.name}" for h, r in sorted(chain.sources, key=str))
            lines.append(f"{title}: {chain.sink} <- {{{text}}} self={chain.reads_itself} x{count}")
    return "\n".join(lines)
