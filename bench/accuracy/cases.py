"""Validation cases: the data file -> workloads with their sizes, process grids, owners and excesses.

The file (``workloads/validation.toml``) describes its own keys.

Whole-number formulas of the data file of validation cases: ``8 * (p - 1)`` with named values.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from commanalyzer.foundation.documents import Fields, parse_toml, reading, typed
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.graph.value_graph import Bool, HomeKind, Int32, Int64, ValueGraph, sink_of_source

CASES_FILE = Path(__file__).resolve().parents[2] / "workloads" / "validation.toml"

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}


def evaluate(formula: str | int, values: Mapping[str, int]) -> int:
    """Value of ``formula`` (+ - * // % **, min, max); a :class:`ConfigError` if it is none or names more."""
    try:
        return _value(ast.parse(str(formula), mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError) as error:
        known = ", ".join(sorted(values))
        raise ConfigError(
            f"expected a formula of whole numbers and [{known}], found {formula!r} ({error})"
        ) from error


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))
    raise TypeError(f"no {type(node).__name__} here")


Side = Literal["counted", "predicted"]
Tasks = Literal["", "most", "highest"]


@dataclass(frozen=True, slots=True)
class ArrayBlocks:
    """Owners of the elements of all arrays with so many elements, as the MPI program divides them."""

    # formulas, elements per dimension, the slowest first; their product finds the arrays
    shape: tuple[str, ...]
    # formulas, points that the process grid divides, per divided dimension (the first ones of ``shape``).
    # With no formula, all elements belong to rank 0
    points: tuple[str, ...]
    # index of the first point; what lies before it or behind the last one belongs to its neighbour
    shift: int = 0
    leads: bool = False  # tasks go where these arrays are, if they use any of them


@dataclass(frozen=True, slots=True)
class Excess:
    """Bytes that one side has and the other has not, for a reason that is known."""

    name: str
    # ``counted``: the MPI program sends them without need. ``predicted``: the model charges what the program
    # has already received before its main loop, or what is no communication
    side: Side
    bytes: str  # formula; empty if ``counts`` has the numbers
    # bytes by ``ARGUMENTS on P``, where they depend on the data
    counts: Mapping[str, int] = field(hash=False)
    why: str  # a sentence


@dataclass(frozen=True, slots=True)
class CaseProgram:
    """A sequential program, its MPI counterpart and the runs to compare."""

    name: str  # name; several entries of one name are variants of one workload
    sources: tuple[Path, ...]  # files of the sequential program
    mpi_sources: tuple[Path, ...]  # files of the MPI program
    flags: tuple[str, ...]  # compiler flags of both
    region: str  # function that holds the sequential main loop
    counted_region: str  # marked region of the MPI program; empty if ``MPI_Pcontrol`` encloses its main loop
    # names of the leading whole-number arguments, empty for those that formulas cannot use
    parameters: tuple[str, ...]
    sizes: tuple[tuple[str, ...], ...]  # arguments of the runs, the smallest first
    mpi_arguments: int  # what of the arguments the MPI program takes (their number), -1 for all
    # process grid by number of processes, as the MPI program takes it; empty text if it takes none
    grids: Mapping[int, str] = field(hash=False)
    # (argument, replacement) to analyse the same problem in an order that blocks describe
    own_replaces: tuple[tuple[str, str], ...]
    arrays: tuple[ArrayBlocks, ...]  # owners in the MPI program
    # how connected values outside these arrays (the work on one element) are placed: where ``most`` of the
    # values are that they use, at the ``highest`` rank of them; empty: one by one
    tasks: Tasks
    excesses: tuple[Excess, ...]  # known differences at the MPI program's own decomposition
    note: str  # sentences about what the table shows

    def values(self, arguments: Sequence[str], nodes: int) -> dict[str, int]:
        """What formulas may name: parameters, p, extents g0, g1, g2 of the process grid."""
        grid = self.extents(nodes)
        named = zip(self.parameters, arguments, strict=False)
        return {
            **{name: int(text) for name, text in named if name},
            "p": nodes,
            **{f"g{d}": extent for d, extent in enumerate(grid)},
        }

    def extents(self, nodes: int) -> tuple[int, ...]:
        """Process grid, the slowest dimension first."""
        return tuple(map(int, self.grids[nodes].lstrip("=").split("x")))

    def mpi_words(self, arguments: Sequence[str], nodes: int) -> tuple[str, ...]:
        """Arguments of the MPI program; a grid that begins with ``=`` is not one of them."""
        taken = tuple(arguments if self.mpi_arguments < 0 else arguments[: self.mpi_arguments])
        grid = self.grids[nodes]
        return taken if grid.startswith("=") else (*taken, grid)

    def own_arguments(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Arguments of the sequential run that is counted at the MPI program's decomposition."""
        replaced = dict(self.own_replaces)
        return tuple(replaced.get(word, word) for word in arguments)

    def excess_bytes(self, arguments: Sequence[str], nodes: int) -> dict[Excess, int]:
        """Known differences of a run, bytes; a :class:`ConfigError` for a wrong formula or no count."""
        return {item: self._excess(item, arguments, nodes) for item in self.excesses}

    def _excess(self, item: Excess, arguments: Sequence[str], nodes: int) -> int:
        if item.bytes:
            return evaluate(item.bytes, self.values(arguments, nodes))
        run = f"{' '.join(arguments)} on {nodes}"
        if run not in item.counts:
            raise ConfigError(f"expected a count of {run!r}, found none", where=f"{self.name}: {item.name}")
        return item.counts[run]


def read_cases(path: Path) -> tuple[CaseProgram, ...]:
    """Workloads in ``path``, whose folder has their files; a :class:`ConfigError` if it is no such file."""
    hint = "run in a checkout of the tool, or name the file with --cases"
    with reading(path, "a file of validation cases", hint=hint, error=ConfigError):
        document = parse_toml(path.read_text(encoding="utf-8"))
        found = tuple(_workload(path.parent, entry) for entry in document["workload"])
    if not found:
        raise ConfigError("expected at least one workload, found none", where=str(path))
    return found


def _workload(folder: Path, entry: Fields) -> CaseProgram:
    """The workload of a table of the file, whose keys may be missing or have other names."""
    optional = {"flags": [], "counted_region": "", "parameters": [], "mpi_arguments": -1, "tasks": ""}
    grids = sorted((int(nodes), grid) for nodes, grid in entry["grids"].items())
    content = {
        **optional,
        **entry,
        "mpi_sources": entry["mpi"],
        "sizes": [text.split() for text in entry["sizes"]],
        "grids": dict(grids),
        "own_replaces": list(entry.get("own_replaces", {}).items()),
        "arrays": entry.get("array", []),
        "excesses": list(map(_excess, entry.get("excess", []))),
        "note": _one_line(entry.get("note", "")),
    }
    return typed(content, CaseProgram, {Path: folder.joinpath})


def _excess(item: Fields) -> Fields:
    counts = item.get("counts", {})
    return {**item, "bytes": "" if counts else item["bytes"], "counts": counts, "why": _one_line(item["why"])}


def _one_line(text: str) -> str:
    return " ".join(text.split())


_MALLOC_BYTES = 16  # heap blocks are rounded up to this, which is also the size of a header
_MOST_BLOCKS = 4  # of one allocation site; more would take larger arrays for many small ones
_WIDTHS = (4, 8)  # bytes of an element


def owners_by_blocks(
    graph: ValueGraph, hubs: Bool, workload: CaseProgram, grid: Sequence[int], values: Mapping[str, int]
) -> Int32:
    """Return int32[V], owners where the arrays of ``workload`` are divided among the ranks of ``grid``.

    Values elsewhere (matrix entries, workspaces, registers) follow what they are computed with; hubs
    (parameters, centroids) have no say. A :class:`ConfigError` if no array of the program has as many
    elements as one of the workload's.
    """
    part = np.full(graph.num_vertices, -1, dtype=np.int64)
    leads = np.zeros(graph.num_vertices, dtype=np.bool_)
    for blocks in workload.arrays:  # one step per kind of array
        owner = element_owners(blocks, grid, values)
        mine, element = elements_of(graph, len(owner))
        if not len(mine):
            raise ConfigError(
                f"expected an array of {len(owner)} elements ({' x '.join(blocks.shape)}), found none"
            )
        part[mine] = owner[element]
        leads[mine] = blocks.leads
    parts = math.prod(grid)
    if workload.tasks:
        part = place_tasks(graph, hubs, part, leads, workload.tasks, parts)
    return spread(graph, hubs, part, parts)


def elements_of(graph: ValueGraph, count: int) -> tuple[Int64, Int64]:
    """Return the vertices of all arrays with ``count`` elements, and their element numbers.

    An object of several arrays of one allocation has them one behind the other, each with its header.
    """
    size = np.array([item.size_bytes for item in graph.objects], dtype=np.int64)
    is_memory = np.array([item.kind is not HomeKind.REGISTER for item in graph.objects], dtype=np.bool_)
    width = np.zeros(len(graph.objects), dtype=np.int64)
    stride = np.ones(len(graph.objects), dtype=np.int64)
    for bytes_each in _WIDTHS:
        rounded = -(-count * bytes_each // _MALLOC_BYTES) * _MALLOC_BYTES
        blocks, rest = np.divmod(size + _MALLOC_BYTES, rounded + _MALLOC_BYTES)
        several = (rest == 0) & (blocks > 0) & (blocks <= _MOST_BLOCKS)
        fits = is_memory & ((size == count * bytes_each) | several)
        width[fits], stride[fits] = bytes_each, rounded + _MALLOC_BYTES
    home = graph.home_object
    # Half as many elements of twice the width have the same size: their values tell.
    mine = np.flatnonzero((width[home] == graph.width_bytes) & ~graph.is_temporary)
    element = graph.home_offset[mine] % stride[home[mine]] // width[home[mine]]
    inside = element < count
    return mine[inside], element[inside]


def element_owners(blocks: ArrayBlocks, grid: Sequence[int], values: Mapping[str, int]) -> Int64:
    """Return int64[elements], rank that owns each element; ranks are numbered the last dimension fastest."""
    shape = [evaluate(formula, values) for formula in blocks.shape]
    owner = np.zeros(shape, dtype=np.int64)
    for axis, (formula, parts) in enumerate(zip(blocks.points, grid, strict=False)):
        points = evaluate(formula, values)
        index = np.clip(np.arange(shape[axis]) - blocks.shift, 0, points - 1)
        along = [1] * len(shape)
        along[axis] = shape[axis]
        owner = owner * parts + block_of(index, points, parts).reshape(along)
    return owner.ravel()


def block_of(index: NDArray[np.int64], points: int, parts: int) -> Int64:
    """Return the part of each index where part k owns [points k / parts, points (k + 1) / parts)."""
    begin = points * np.arange(1, parts + 1, dtype=np.int64) // parts
    return np.searchsorted(begin, index, side="right").astype(np.int64)


def place_tasks(graph: ValueGraph, hubs: Bool, part: Int64, leads: Bool, tasks: Tasks, parts: int) -> Int64:
    """Return ``part`` with connected values without owner placed together, by the owned values they touch.

    Where most of the leading ones are, if there are any; else where ``tasks`` says.
    """
    one, other = _neighbours(graph, hubs)
    kind = np.array([int(item.kind) for item in graph.objects])[graph.home_object]
    # A variable that keeps its place (a time step) is no part of the work on one element.
    is_variable = ((kind == int(HomeKind.GLOBAL)) | (kind == int(HomeKind.STACK))) & ~graph.is_temporary
    free = (part < 0) & ~is_variable
    inner = free[one] & free[other]
    shape = (len(part), len(part))
    links = scipy.sparse.coo_array((np.ones(int(inner.sum())), (one[inner], other[inner])), shape=shape)
    task = scipy.sparse.csgraph.connected_components(links, directed=False)[1].astype(np.int64)
    votes = free[one] & (part[other] >= 0)
    voter, rank, led = task[one[votes]], part[other[votes]], leads[other[votes]]
    chosen = np.full(len(part), -1, dtype=np.int64)
    if tasks == "highest":
        np.maximum.at(chosen, voter, rank)
    else:
        of, best = _most_votes(voter, rank, parts)
        chosen[of] = best
    of, best = _most_votes(voter[led], rank[led], parts)
    chosen[of] = best
    return np.where(free, chosen[task], part)


def spread(graph: ValueGraph, hubs: Bool, part: Int64, parts: int) -> Int32:
    """Return int32[V] where values without owner (-1) are with what they belong to; 0 without anything.

    Where all of their readers are, if these agree: an intermediate result is computed for its reader. Else
    where most of their neighbours are.
    """
    part = part.copy()
    one, other = _neighbours(graph, hubs)
    half = len(one) // 2
    reader, value = one[:half], other[:half]
    while True:  # one step per distance from the arrays
        wanted = np.flatnonzero((part[value] < 0) & (part[reader] >= 0))
        least, most = np.full(len(part), parts), np.full(len(part), -1)
        np.minimum.at(least, value[wanted], part[reader[wanted]])
        np.maximum.at(most, value[wanted], part[reader[wanted]])
        agreed = np.flatnonzero(least == most)
        if len(agreed):
            part[agreed] = most[agreed]
            continue
        votes = np.flatnonzero((part[one] < 0) & (part[other] >= 0))
        if not len(votes):
            return np.maximum(part, 0).astype(np.int32)
        voter, best = _most_votes(one[votes], part[other[votes]], parts)
        part[voter] = best


def _neighbours(graph: ValueGraph, hubs: Bool) -> tuple[Int64, Int64]:
    """Return both ends of every flow between values that are no hubs, in both directions."""
    sink, source = sink_of_source(graph.rows).astype(np.int64), graph.rows.source.astype(np.int64)
    kept = ~hubs[sink] & ~hubs[source]
    sink, source = sink[kept], source[kept]
    return np.concatenate((sink, source)), np.concatenate((source, sink))


def _most_votes(voter: Int64, rank: Int64, parts: int) -> tuple[Int64, Int64]:
    """Return the distinct voters and the rank that each names most often, the lowest among equals."""
    pair, count = np.unique(voter * parts + rank, return_counts=True)
    order = np.lexsort((pair % parts, -count, pair // parts))
    value, first = np.unique(pair[order] // parts, return_index=True)
    return value, pair[order][first] % parts
