"""The value communication graph (VCG): the frozen value that every later stage reads.

Paper Section 4.2.1. A *vertex* is a home: a memory location (all versions that live there one after the
other, the paper's graph compression) or a register value that was named (``register``). A *row* is one
distinct value-flow chain (Definition 4.1): a sink vertex, the sources its new version was computed from,
and how often exactly this happened. The sources of a row are grouped into *terms*: where the sink is
``t1 op t2 op ...`` with an associative and commutative ``op`` (``row_fold``), a remote part may combine its
terms and send one word; where it is not, the row has one term.

    row r   sink row_sink[r], happened row_count[r] times, created by site row_site[r]
            terms    term_ptr[r] .. term_ptr[r+1]
    term t  sources  source_ptr[t] .. source_ptr[t+1]  ->  source[], source_role[]

All arrays are read-only after construction.

Array helpers for compressed sparse rows: gather ranges, group pairs.

Pairs of indices are packed into 64-bit keys and sorted, which is both faster and smaller than a dense V x p
array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commanalyzer.foundation.errors import GraphInvariantError
from commanalyzer.foundation.flows import Fold, SourceRole
from commanalyzer.foundation.work import Operations

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
UInt8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
Array = NDArray[Any]  # a column whose type its name says


class HomeKind(IntEnum):
    """What kind of place a home object is."""

    UNKNOWN = 0
    GLOBAL = 1
    HEAP = 2
    STACK = 3
    REGISTER = 4


@dataclass(frozen=True, slots=True)
class HomeObject:
    """A named piece of memory that homes live in: one global, one allocation site, one local array."""

    kind: HomeKind
    name: str  # variable name where known, otherwise a description such as ``malloc#3``
    function: str = ""  # function that allocates or declares it; empty for globals
    file: str = ""  # source file; empty when unknown
    line: int = 0  # source line, 0 when unknown
    size_bytes: int = 0  # size of the object (largest seen for an allocation site)
    key: str = ""  # stable identification: ``@u``, ``@main/%call`` (allocating instruction or local array)
    depth: int = 0  # recursion depth of a local array, 0 for the outermost activation
    # bytes from each plane, then row to the next, where these are declared or are blocks of equal size that
    # were allocated one by one
    strides: tuple[int, ...] = ()
    record_bytes: int = 0  # bytes of the structures that it is an array of, 0 for other arrays

    @property
    def is_named(self) -> bool:
        """Whether its name says which one it is, by a variable of the program."""
        return not self.name.startswith("temporary") or self.name.startswith("temporary of ")

    @property
    def is_temporary_scalar(self) -> bool:
        """No variable of the program: an argument that is passed by its address (``call step(0.1d0)``)."""
        return self.kind == HomeKind.STACK and self.name == "temporary" and self.size_bytes <= 8


class LoopPlace(NamedTuple):
    """Where a loop of the source begins; empty and 0 for what is in none, or where it is not known."""

    function: str = ""
    file: str = ""
    line: int = 0


NO_LOOP = LoopPlace()


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program that creates values (a store, an intrinsic, a register that was named)."""

    function: str  # function name as in the IR
    file: str  # source file; empty when unknown
    line: int  # source line, 0 when unknown
    # ``store``, ``copy`` (store of an unchanged value), ``register``, ``fill``, ``input``, ``exit``
    kind: str
    width_bytes: int  # width of the value created here
    fold: Fold = Fold.NONE  # operation that combines its terms
    flops: int = 0  # floating-point operations attributed to this site in the analysed region
    integer_ops: int = 0  # integer operations, likewise
    memory_ops: int = 0  # loads and stores, likewise
    loop: LoopPlace = NO_LOOP  # innermost loop that it is in

    @property
    def operations(self) -> Operations:
        """What was done for the values of this site."""
        return Operations(self.flops, self.integer_ops, self.memory_ops)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a column may hold."""

    least: int  # its least entry
    # what all entries are less than: a number, or how many ``objects``, ``sites`` or ``vertices`` there are
    below: int | str


_OFFSETS = 1 << 44  # bytes: addresses of the recorder's shadow have as many at most
_FINITE = 0x7FF << 52  # bits of infinity; those of finite numbers that are not negative lie below
_TIMES = 1 << 62
LIMITS = {
    "home_object": Limits(0, "objects"),
    "home_offset": Limits(-_OFFSETS, _OFFSETS),
    "width_bytes": Limits(1, 256),
    "versions": Limits(0, _TIMES),
    "is_temporary": Limits(0, 2),
    "is_input": Limits(0, 2),
    "producer_site": Limits(-1, "sites"),
    "work_flops": Limits(0, _FINITE),
    "row_sink": Limits(0, "vertices"),
    "row_count": Limits(1, _TIMES),
    "row_site": Limits(0, "sites"),
    "row_fold": Limits(0, len(Fold)),
    "row_accumulates": Limits(0, 2),
    "source": Limits(0, "vertices"),
    "source_role": Limits(0, len(SourceRole)),
}
"""Limits of every column of :class:`ValueGraph`, of floating-point numbers those of their bits.

Compiled loops rely on them: they hold for graphs that were built and are checked for graphs that were read.
"""


class Rows(NamedTuple):
    """Consecutive rows of a value graph: what every compiled loop over rows takes, as one argument.

    Attributes:
        row_sink: int32[R], vertex.
        row_count: int64[R], how often the chain happened (> 0).
        row_site: int32[R], index into the sites of the graph.
        row_fold: uint8[R], :class:`Fold`; ``NONE`` means that the row has at most one term.
        row_accumulates: bool[R], the sink's own previous version is one of the operands of ``row_fold``
            (``x += term``): successive rows of the sink belong to the same round. For rows with
            ``row_fold == NONE`` it says that the row reads its own previous version (a self-source).
        term_ptr: int64[R + 1], begins with 0.
        source_ptr: int64[T + 1], begins with 0.
        source: int32[S], vertex; never the sink itself (self-sources are in ``row_accumulates``).
        source_role: uint8[S], :class:`SourceRole`.
    """

    row_sink: Int32
    row_count: Int64
    row_site: Int32
    row_fold: UInt8
    row_accumulates: Bool
    term_ptr: Int64
    source_ptr: Int64
    source: Int32
    source_role: UInt8

    def closed(self) -> Rows:
        """Return the same rows, which nobody can change any more: loops are compiled for such arrays only."""
        for column in self:
            column.setflags(write=False)
        return self

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_sink)

    @property
    def num_flows(self) -> int:
        """Number of (row, source) pairs."""
        return len(self.source)

    @property
    def row_ptr(self) -> Int64:
        """int64[R + 1], where the sources of each row begin."""
        return self.source_ptr[self.term_ptr]

    def flows_of(self, row: int) -> int:
        """Number of sources of one row."""
        return int(np.diff(self.source_ptr[self.term_ptr[row : row + 2]])[0])

    def row_of_source(self) -> Int64:
        """int64[S], the row, counted from the first of these, that each source entry belongs to."""
        return np.repeat(np.arange(self.num_rows, dtype=np.int64), np.diff(self.row_ptr))


OF_ROWS = Rows._fields[: Rows._fields.index("term_ptr")]
"""Columns with an entry for every row."""
OF_VERTICES: dict[str, type[np.generic]] = {
    "home_object": np.int32,
    "home_offset": np.int64,
    "width_bytes": np.uint8,
    "versions": np.int64,
    "is_temporary": np.bool_,
    "is_input": np.bool_,
    "producer_site": np.int32,
    "work_flops": np.float64,
}
"""Columns with an entry for every vertex, with their types."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ValueGraph:
    """Value communication graph in compressed sparse row form.

    Attributes:
        home_object: int32[V], index into ``objects``.
        home_offset: int64[V], bytes from the start of the object.
        width_bytes: uint8[V], width of the values that live there (communication is counted with it).
        versions: int64[V], versions that were created there (the input version included).
        is_temporary: bool[V], one lifetime of a word of a workspace: several vertices share its home.
        is_input: bool[V], a version existed before the first recorded store (or outside the region).
        producer_site: int32[V], index into ``sites`` of the first site that stored there, -1 for none.
        work_flops: float64[V], work of computing its versions: floating-point operations, and others by
            their weights (:class:`~commanalyzer.foundation.work.WorkWeights`).
        rows: All rows.
        objects: Home objects.
        sites: Sites.

    Raises:
        GraphInvariantError: If lengths, ranges or pointers contradict each other.

    Reference: paper Section 4.2.1, Definition 4.1; terms and folds are this project's extension.
    """

    home_object: Int32
    home_offset: Int64
    width_bytes: UInt8
    versions: Int64
    is_temporary: Bool
    is_input: Bool
    producer_site: Int32
    work_flops: Float64
    rows: Rows
    objects: tuple[HomeObject, ...] = ()
    sites: tuple[Site, ...] = ()

    def __post_init__(self) -> None:
        _check(self)
        for column in self._columns():
            column.setflags(write=False)

    @property
    def num_vertices(self) -> int:
        """Number of homes."""
        return len(self.home_object)

    @property
    def num_rows(self) -> int:
        """Number of distinct value-flow chains."""
        return self.rows.num_rows

    @property
    def num_flows(self) -> int:
        """Number of distinct (row, source) pairs."""
        return self.rows.num_flows

    @property
    def is_register(self) -> Bool:
        """bool[V], the vertex is a named register value, not a memory location."""
        kinds = np.array([int(o.kind) for o in self.objects] or [0], dtype=np.int64)
        return np.asarray(kinds[self.home_object] == int(HomeKind.REGISTER))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(column.nbytes for column in self._columns())

    def _columns(self) -> Iterator[Array]:
        yield from self.rows
        yield from (getattr(self, name) for name in OF_VERTICES)

    def __repr__(self) -> str:
        return (
            f"ValueGraph({self.num_vertices:,} vertices, {self.num_rows:,} rows, "
            f"{self.num_flows:,} flows, {self.nbytes / 1e6:.1f} MB)"
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise GraphInvariantError(f"value graph is inconsistent: {message}")


def _check(g: ValueGraph) -> None:
    """Raise unless lengths, pointers and limits of ``g`` agree."""
    v = len(g.home_object)
    counts = {"objects": len(g.objects), "sites": len(g.sites), "vertices": v}
    for name in OF_VERTICES:
        _require(len(getattr(g, name)) == v, f"{name} has {len(getattr(g, name))} entries, expected {v}")
        _check_entries(name, getattr(g, name), counts)
    check_rows(g.rows, v, len(g.sites))


def check_rows(g: Rows, num_vertices: int, num_sites: int) -> None:
    """Raise a :class:`GraphInvariantError` unless lengths, pointers and index ranges of some rows agree."""
    r = len(g.row_sink)
    for name in OF_ROWS:
        _require(len(getattr(g, name)) == r, f"{name} has {len(getattr(g, name))} entries, expected {r}")
    _require(len(g.term_ptr) == r + 1, "term_ptr needs one entry per row and one more")
    _check_pointer(g.term_ptr, len(g.source_ptr) - 1, "term_ptr")
    _check_pointer(g.source_ptr, len(g.source), "source_ptr")
    _require(len(g.source_role) == len(g.source), "source_role and source differ in length")
    counts = {"sites": num_sites, "vertices": num_vertices}
    for name in (*OF_ROWS, "source", "source_role"):
        _check_entries(name, getattr(g, name), counts)


def check_limits(name: str, least: int, most: int, counts: Mapping[str, int]) -> None:
    """Raise a :class:`GraphInvariantError` unless a column with such entries is within its :data:`LIMITS`."""
    limits = LIMITS[name]
    below = limits.below if isinstance(limits.below, int) else counts[limits.below]
    _require(
        limits.least <= least and most < below,
        f"{name} must lie in [{limits.least}, {below}), found {least} to {most}",
    )


def _check_pointer(pointer: Int64, end: int, name: str) -> None:
    _require(len(pointer) > 0 and pointer[0] == 0 and pointer[-1] == end, f"{name} must run from 0 to {end}")
    _require(bool(np.all(np.diff(pointer) >= 0)), f"{name} must not decrease")


def _check_entries(name: str, values: Array, counts: Mapping[str, int]) -> None:
    if len(values):
        bits = values.view(np.int64) if values.dtype.kind == "f" else values
        check_limits(name, int(bits.min()), int(bits.max()), counts)


def expand_ranges(start: Int64, length: Int64) -> Int64:
    """Return the concatenation of ``arange(start[i], start[i] + length[i])`` over all i."""
    total = int(length.sum())
    ends = np.cumsum(length)
    return np.asarray(np.arange(total, dtype=np.int64) + np.repeat(start - (ends - length), length))


def pointer_from_counts(counts: Int64 | Bool) -> Int64:
    """Return int64[n + 1], the row pointer of ``n`` rows with the given numbers of entries."""
    pointer = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=pointer[1:])
    return pointer


def sorted_unique(keys: Int64) -> Int64:
    """Return the distinct values of ``keys``, ascending; ``keys`` is changed. Faster than hashing them."""
    keys.sort()
    return keys[group_starts(keys)]


def group_starts(sorted_keys: Int32 | Int64) -> Int64:
    """Return int64[G], where each run of equal values in ``sorted_keys`` begins."""
    if len(sorted_keys) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1]))).astype(np.int64)


def order_by(key: Int32 | Int64, size: int) -> tuple[Int64, Int32 | Int64]:
    """Return where the entries of each key in [0, size) begin, and their indices: int64[size + 1], int[N]."""
    from scipy.sparse import csr_array

    n = len(key)
    by_key = csr_array((np.ones(n, np.int8), key, np.arange(n + 1)), shape=(n, size)).tocsc()
    return by_key.indptr.astype(np.int64), by_key.indices


def row_of_term(rows: Rows) -> Int64:
    """Return int64[T], the row that each term belongs to."""
    return np.repeat(np.arange(rows.num_rows, dtype=np.int64), np.diff(rows.term_ptr))


def sink_of_source(rows: Rows) -> Int32:
    """Return int32[S], the sink that each source entry flows to."""
    return np.repeat(rows.row_sink, np.diff(rows.row_ptr))


def count_of_source(rows: Rows) -> Int64:
    """Return int64[S], how often the row of each source entry happened."""
    return np.repeat(rows.row_count, np.diff(rows.row_ptr))
